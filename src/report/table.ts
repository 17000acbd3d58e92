/** A table as data, and its rendering as text. */
export interface Table {
  readonly columns: readonly {
    readonly title: string;
    readonly align?: "left" | "right";
  }[];
  /** One cell per column; null is a line between groups. */
  readonly rows: readonly (readonly TableCell[] | null)[];
}

export interface TableCell {
  readonly text: string;
  /** Against a baseline: clearly better, clearly worse, or neither. */
  readonly tone?: "better" | "worse";
}

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

/** Text with aligned columns; ends in a newline. */
export function renderTable(
  { columns, rows }: Table,
  options: { color: boolean },
): string {
  const style = (name: keyof typeof STYLE | undefined, text: string) =>
    options.color && name !== undefined
      ? `${STYLE[name]}${text}${STYLE.off}`
      : text;
  const widths = columns.map(({ title }, i) =>
    Math.max(
      title.length,
      ...rows.map((row) => row === null ? 0 : row[i]!.text.length),
    )
  );
  const pad = (text: string, i: number) =>
    columns[i]!.align === "left"
      ? text.padEnd(widths[i]!)
      : text.padStart(widths[i]!);
  const line = (cells: readonly string[]) => cells.join("  ").trimEnd();
  const rule = style(
    "dim",
    widths.map((width) => "─".repeat(width)).join("──"),
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
