/**
 * Diagrams as SVG files: boxes in rows, each below all that lead to it, arrows from the bottom of one to the top of
 * another. An arrow that passes rows, or leads back, goes round them on the right; one from a box to itself is a loop
 * there.
 */
import {
  BOX_COLORS,
  type Diagram,
  type DiagramArrow,
  type DiagramBox,
  plainLine,
} from "./diagram.ts";
import { escapeHtml } from "./svg_chart.ts";

const FONT = 12;
const LINE = 16;
/** Width of a letter, in em, of the wider ones of common sans-serif faces. */
const LETTER = 0.6;
const PADDING = 10;
const GAP = 24;
/** Least height between two rows, for arrows. */
const ROW_GAP = 28;
/** Between two arrows that go round. */
const LANE = 18;

interface Placed {
  readonly box: DiagramBox;
  readonly row: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A diagram as an SVG file. */
export function svgOf(diagram: Diagram): string {
  const { boxes, arrows, title } = diagram;
  const rows = rowsOf(diagram);
  const { placed, width, height } = place(diagram, rows);
  const round = arrows.filter((arrow) => goesRound(arrow, rows));
  const drawn = arrows.map((arrow, i) => {
    const lane = round.indexOf(arrow);
    return drawnArrow(arrow, placed, {
      ...(lane >= 0 && { lane: width + LANE * (lane + 1) }),
      twin: arrows.slice(0, i).some(({ from, to }) =>
        from === arrow.from && to === arrow.to
      ),
    });
  });
  const right = Math.max(
    width + (round.length + 1) * LANE,
    ...drawn.map(({ right }) => right + PADDING),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${height}" width="${right}" height="${height}" ` +
    `font-family="Helvetica, Arial, sans-serif" font-size="${FONT}" role="img">`,
    `<title>${textOf(title)}</title>`,
    `<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">` +
    `<path d="M0 0L8 4L0 8Z" fill="#5b6470"/></marker></defs>`,
    `<rect width="${right}" height="${height}" fill="#ffffff"/>`,
    `<text x="${PADDING}" y="${PADDING + FONT}" font-weight="bold">${
      textOf(title)
    }</text>`,
    ...drawn.map(({ svg }) => svg),
    ...boxes.map((_, i) => drawnBox(placed[i])),
    "</svg>",
    "",
  ].join("\n");
}

/** The row of every box: one below the lowest that leads to it from further up. */
function rowsOf({ boxes, arrows }: Diagram): readonly number[] {
  const rows = boxes.map(() => 0);
  const forward = arrows.filter(({ from, to }) => from < to)
    .toSorted((a, b) => a.to - b.to);
  // By the box that they lead to: rows of all before are known by then.
  for (const { from, to } of forward) {
    rows[to] = Math.max(rows[to], rows[from] + 1);
  }
  return rows;
}

const goesRound = ({ from, to }: DiagramArrow, rows: readonly number[]) =>
  from !== to && rows[to] !== rows[from] + 1;

/** Labels beside a box, of arrows to itself. */
function loopWidth({ arrows }: Diagram, box: number): number {
  const loops = arrows.filter(({ from, to }) => from === box && to === box);
  return loops.length === 0
    ? 0
    : LANE + Math.max(...loops.map(({ lines }) => widest(lines)));
}

function place(
  diagram: Diagram,
  rows: readonly number[],
): { placed: Placed[]; width: number; height: number } {
  const { boxes, arrows, title } = diagram;
  const count = Math.max(0, ...rows) + 1;
  const inRow = Array.from(
    { length: count },
    (_, row) => boxes.map((_, i) => i).filter((i) => rows[i] === row),
  );
  const size = boxes.map(({ lines }, i) => {
    const width = widest(lines) + 2 * PADDING;
    // A loop's label beside the box takes room on both sides, so that rows stay centred.
    return {
      width,
      taken: width + 2 * loopWidth(diagram, i),
      height: lines.length * LINE + PADDING,
    };
  });
  const widths = inRow.map((places) =>
    places.reduce((sum, i) => sum + size[i].taken + GAP, -GAP)
  );
  const width = Math.max(widest([title]), ...widths) + 2 * PADDING;
  const placed: Placed[] = [];
  let y = LINE + 2 * PADDING;
  inRow.forEach((places, row) => {
    let x = (width - widths[row]) / 2;
    for (const i of places) {
      const { width, taken, height } = size[i];
      placed[i] = {
        ...{ box: boxes[i], row, y, width, height },
        x: x + (taken - width) / 2,
      };
      x += taken + GAP;
    }
    const labels = arrows.filter((arrow) =>
      rows[arrow.from] === row && arrow.from !== arrow.to &&
      !goesRound(arrow, rows)
    ).map(({ lines }) => lines.length * LINE);
    y += Math.max(...places.map((i) => size[i].height)) + ROW_GAP +
      Math.max(0, ...labels);
  });
  return { placed, width, height: y - ROW_GAP + PADDING };
}

function drawnBox({ box, x, y, width, height }: Placed): string {
  const { fill, line } = BOX_COLORS[box.kind];
  const middle = x + width / 2;
  const stroke = `stroke="${line}" stroke-width="${
    box.kind === "step" ? 2 : 1
  }"`;
  const outline = (by: number) =>
    `<rect x="${x - by}" y="${y - by}" width="${width + 2 * by}" height="${
      height + 2 * by
    }" rx="${box.kind === "end" ? 0 : 6}" fill="${
      by ? "none" : fill
    }" ${stroke}/>`;
  return [
    "<g>",
    ...(box.kind === "positions" ? [outline(3)] : []),
    outline(0),
    ...box.lines.map((text, i) =>
      `<text x="${middle}" y="${
        y + FONT + PADDING / 2 + i * LINE
      }" text-anchor="middle"${i === 0 ? ' font-weight="bold"' : ""}>${
        textOf(text)
      }</text>`
    ),
    "</g>",
  ].join("");
}

/**
 * @param lane where an arrow that goes round runs
 * @param twin whether there is another one of the same two boxes, beside which it is drawn
 * @returns its text, and how far it reaches
 */
function drawnArrow(
  { from, to, lines, dashed }: DiagramArrow,
  placed: readonly Placed[],
  { lane, twin }: { lane?: number; twin: boolean },
): { svg: string; right: number } {
  const [a, b] = [placed[from], placed[to]];
  const drawn = (path: string, x: number, y: number) => {
    const top = y + 4 - (lines.length - 1) * LINE / 2;
    const label = lines.map((text, i) =>
      `<text x="${x}" y="${top + i * LINE}" font-size="${
        FONT - 2
      }" fill="#3b424b">${textOf(text)}</text>`
    );
    return {
      svg: [
        `<path d="${path}" fill="none" stroke="#5b6470"${
          dashed ? ' stroke-dasharray="5 3"' : ""
        } marker-end="url(#head)"/>`,
        ...label,
      ].join(""),
      right: x + widest(lines),
    };
  };
  const edge = (box: Placed) => box.x + box.width;
  if (from === to) {
    const [x, y] = [edge(a), a.y + a.height * (twin ? 0.8 : 0.4)];
    const out = x + LANE;
    return drawn(
      `M${x} ${y - 6}C${out} ${y - 14} ${out} ${y + 14} ${x} ${y + 6}`,
      out,
      y,
    );
  }
  if (lane !== undefined) {
    const [start, end] = [a.y + a.height - 6, b.y + 6];
    const middle = (start + end) / 2;
    return drawn(
      `M${
        edge(a)
      } ${start}C${lane} ${start} ${lane} ${start} ${lane} ${middle}` +
        `S${lane} ${end} ${edge(b)} ${end}`,
      lane + 4,
      middle,
    );
  }
  const shift = twin ? -LANE : 0;
  const [x1, y1] = [a.x + a.width / 2 + shift, a.y + a.height];
  const [x2, y2] = [b.x + b.width / 2 + shift, b.y];
  const middle = (y1 + y2) / 2;
  // The label of a twin is above the other's.
  return drawn(
    `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
    (x1 + x2) / 2 + 6,
    twin ? y1 + LINE / 2 : middle,
  );
}

function widest(lines: readonly string[]): number {
  return Math.max(0, ...lines.map((line) => [...line].length)) * FONT * LETTER;
}

function textOf(text: string): string {
  return escapeHtml(plainLine(text));
}
