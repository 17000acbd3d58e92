/** Tables as data, and their rendering as text. */
import { LINE_MAX, wrap } from "./wrap.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** What it says and in which unit, for the legend. */
  readonly meaning?: string;
  /** What the legend calls it, where one line stands for several columns; default: its title. */
  readonly kind?: string;
  /** It is of no use without the column before it. */
  readonly joined?: boolean;
}

export interface Table {
  readonly columns: readonly Column[];
  /** Columns that say what a row is about, from the left; default 1. */
  readonly keys?: number;
  /** One cell per column; null is a line between groups. */
  readonly rows: readonly (readonly TableCell[] | null)[];
}

export interface TableCell {
  readonly text: string;
  /** Against a baseline: clearly better, clearly worse, or neither. */
  readonly tone?: "better" | "worse";
  /** A file beside the report. */
  readonly href?: string;
}

/** Longest text of a cell on a terminal. */
const CELL_MAX = 32;
const GAP = "  ";

const STYLE = {
  bold: "\x1b[1m",
  dim: "\x1b[2m",
  better: "\x1b[32m",
  worse: "\x1b[31m",
  off: "\x1b[0m",
} as const;

/**
 * Whether to write colours: on a terminal, unless NO_COLOR is set and not empty (no-color.org).
 * @param env the environment's variables
 */
export function wantsColor(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  return isTerminal && !env["NO_COLOR"];
}

/**
 * Text with aligned columns, in lines of at most LINE_MAX characters: columns for which there is no room
 * follow below, behind the keys again. Ends in a newline.
 */
export function renderTable(
  table: Table,
  options: { color: boolean },
): string {
  return blocks(clipped(table)).map((block) => rendered(block, options.color))
    .join("\n");
}

/** A line for every column of the tables that has a meaning, each kind once. */
export function renderLegend(tables: readonly Table[]): string {
  const meanings = legend(tables);
  const width = Math.max(0, ...[...meanings.keys()].map((kind) => kind.length));
  const indent = " ".repeat(width) + GAP;
  return [...meanings].map(([kind, meaning]) =>
    `${wrap(kind.padEnd(width) + GAP + meaning, indent)}\n`
  ).join("");
}

/** Meanings by kind of column, in the order in which they first appear. */
export function legend(tables: readonly Table[]): Map<string, string> {
  const meanings = new Map<string, string>();
  for (const { title, kind = title, meaning } of tables.flatMap(columnsOf)) {
    if (meaning !== undefined && !meanings.has(kind)) {
      meanings.set(kind, meaning);
    }
  }
  return meanings;
}

function columnsOf({ columns }: Table): readonly Column[] {
  return columns;
}

function clipped({ columns, rows, ...rest }: Table): Table {
  const clip = (text: string) =>
    text.length > CELL_MAX ? `${text.slice(0, CELL_MAX - 1)}…` : text;
  return {
    ...rest,
    columns: columns.map((column) => ({
      ...column,
      title: clip(column.title),
    })),
    rows: rows.map((row) =>
      row && row.map((cell) => ({ ...cell, text: clip(cell.text) }))
    ),
  };
}

/** The table, or where it is too wide, tables of some of its columns each, all with the keys. */
function blocks(table: Table): Table[] {
  const { columns, rows, keys = 1 } = table;
  const widths = widthsOf(table);
  const widthOf = (places: readonly number[]) =>
    places.reduce((sum, i) => sum + widths[i] + GAP.length, -GAP.length);
  const keyPlaces = columns.slice(0, keys).map((_, i) => i);
  const groups: number[][] = [];
  for (let i = keys; i < columns.length; i++) {
    if (columns[i].joined && groups.length > 0) {
      groups[groups.length - 1].push(i);
    } else groups.push([i]);
  }
  const fitting = groups.flatMap((group) =>
    widthOf([...keyPlaces, ...group]) <= LINE_MAX
      ? [group]
      : group.map((i) => [i])
  );
  const chosen: number[][] = [[...keyPlaces]];
  for (const group of fitting) {
    const last = chosen[chosen.length - 1];
    if (
      last.length === keys || widthOf([...last, ...group]) <= LINE_MAX
    ) last.push(...group);
    else chosen.push([...keyPlaces, ...group]);
  }
  return chosen.map((places) => ({
    keys,
    columns: places.map((i) => columns[i]),
    rows: rows.map((row) => row && places.map((i) => row[i])),
  }));
}

function widthsOf({ columns, rows }: Table): number[] {
  return columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => row?.[i].text.length ?? 0))
  );
}

function rendered(table: Table, color: boolean): string {
  const { columns, rows } = table;
  const style = (name: keyof typeof STYLE | undefined, text: string) =>
    color && name !== undefined ? `${STYLE[name]}${text}${STYLE.off}` : text;
  const widths = widthsOf(table);
  const pad = (text: string, i: number) =>
    columns[i].align === "left"
      ? text.padEnd(widths[i])
      : text.padStart(widths[i]);
  const line = (cells: readonly string[]) => cells.join(GAP).trimEnd();
  const rule = style(
    "dim",
    widths.map((width) => "─".repeat(width)).join("─".repeat(GAP.length)),
  );
  return [
    line(columns.map(({ title }, i) => style("bold", pad(title, i)))),
    rule,
    ...rows.map((row) =>
      row === null
        ? rule
        : line(row.map(({ text, tone }, i) => style(tone, pad(text, i))))
    ),
  ].join("\n") + "\n";
}
