/** Boxes and arrows between them: what DOT and SVG are written of. */

/** What a box stands for; says how it looks. */
export type BoxKind =
  /** What comes in or goes out. */
  | "end"
  /** A cell that a request executes as often as its graph says. */
  | "static"
  /** A cell whose rows are positions of requests. */
  | "positions"
  /** A cell that a graph grows by. */
  | "step";

/** A box. */
export interface DiagramBox {
  readonly kind: BoxKind;
  /** Its text; the first line is what it is called. */
  readonly lines: readonly string[];
}

/** An arrow between two boxes, or from one back to itself. */
export interface DiagramArrow {
  /** Place among the boxes. */
  readonly from: number;
  /** Place among the boxes. */
  readonly to: number;
  /** Its text; may have none. */
  readonly lines: readonly string[];
  /** Drawn dashed: what one leaves behind in a memory of the request that the other looks at. */
  readonly dashed?: boolean;
}

/** Boxes in the order in which they are passed through: an arrow to an earlier one leads back. */
export interface Diagram {
  readonly title: string;
  readonly boxes: readonly DiagramBox[];
  readonly arrows: readonly DiagramArrow[];
}

/** Fill and line of a box, in both forms: hues after Okabe and Ito, as in the charts, made light. */
export const BOX_COLORS: Readonly<
  Record<BoxKind, { readonly fill: string; readonly line: string }>
> = {
  end: { fill: "#f3f4f6", line: "#5b6470" },
  static: { fill: "#d9ecf8", line: "#0072b2" },
  positions: { fill: "#d5f0e6", line: "#00785a" },
  step: { fill: "#fbe8c8", line: "#8a5a00" },
};

/** Text of one line: control characters, which neither form has, are spaces. */
export function plainLine(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, " ");
}
