/** Finds operands of a call that overlap where they must not. */

/** Bytes [from, to) of an operand. */
export interface Span {
  /** Argument's name. */
  operand: string;
  /** Row of a table. */
  row?: number;
  from: number;
  to: number;
  access: "in" | "out";
  /** Inputs whose same row may be this output row. */
  over?: readonly string[];
  /** The same bytes may be named again by another row of this output. */
  repeats?: true;
}

function name({ operand, row }: Span): string {
  return row === undefined ? operand : `row ${row} of ${operand}`;
}

/** Whether two spans, one of them written, may share their bytes. */
function mayShare(a: Span, b: Span): boolean {
  if (a.from !== b.from) return false;
  if (a.operand === b.operand) return a.repeats === true;
  return a.to === b.to && a.row === b.row &&
    (a.over?.includes(b.operand) === true ||
      b.over?.includes(a.operand) === true);
}

/**
 * @throws {RangeError} naming the first two operands that overlap although one is written
 */
export function checkOverlaps(kernel: string, spans: readonly Span[]): void {
  const sorted = spans.filter(({ from, to }) => to > from)
    .toSorted((a, b) => a.from - b.from || a.to - b.to);
  // Spans that reach beyond the current one's start: few, unless operands overlap.
  let open: Span[] = [];
  for (const span of sorted) {
    open = open.filter(({ to }) => to > span.from);
    for (const other of open) {
      const written = span.access === "out" || other.access === "out";
      if (!written || mayShare(span, other)) continue;
      const [result, input] = span.access === "out"
        ? [span, other]
        : [other, span];
      throw new RangeError(
        `${kernel}: ${
          name(result)
        } (bytes ${result.from} to ${result.to}) overlaps ${
          name(input)
        } (bytes ${input.from} to ${input.to}); place results apart`,
      );
    }
    open.push(span);
  }
}
