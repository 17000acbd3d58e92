/**
 * Rotary positions (Su et al., arXiv 2104.09864), written out: pairs of a head's elements, turned by the angle of the
 * token's position. Rows of the tables are picked; everything else is products of floats.
 */
import type { Expand, Expansion } from "./expansion.ts";

/** What is turned, and how. */
export interface Turned {
  readonly x: string;
  /** Cosines and sines: tables by position, or what each token has where there are no positions. */
  readonly tables: readonly [cos: string, sin: string];
  /** [batch, tokens], or a shape that broadcasts to it. */
  readonly positions?: string;
  /** Heads where they are behind the tokens, [batch, tokens, heads size]; otherwise [batch, heads, tokens, size]. */
  readonly heads?: number;
  /** Elements of a head; the first `turned` of them are turned. */
  readonly size: number;
  readonly turned: number;
  /** Whether pairs are neighbours; otherwise halves. */
  readonly isInterleaved: boolean;
}

/** Writes it. @param to the result's name; default a new one */
export function turn(
  given: Expansion,
  { x, tables, positions, heads, size, turned, isInterleaved }: Turned,
  to?: string,
): string {
  const half = turned / 2;
  const isFlat = heads !== undefined;
  const apart = isFlat
    ? given.add("Reshape", [x, given.whole(0, 0, heads, size)])
    : x;
  const headAxis = given.whole(isFlat ? 2 : 1);
  const [cos, sin] = tables.map((table) => {
    const rows = positions === undefined
      ? table
      : given.add("Gather", [table, positions]);
    return given.add("Unsqueeze", [rows, headAxis]);
  });
  const part = (from: number, to: number, step = 1) =>
    given.add("Slice", [
      ...[apart, given.whole(from), given.whole(to), given.whole(3)],
      given.whole(step),
    ]);
  const [a, b] = isInterleaved
    ? [part(0, turned, 2), part(1, turned, 2)]
    : [part(0, half), part(half, turned)];
  const both = [
    given.add("Sub", [
      given.add("Mul", [a, cos]),
      given.add("Mul", [b, sin]),
    ]),
    given.add("Add", [
      given.add("Mul", [a, sin]),
      given.add("Mul", [b, cos]),
    ]),
  ];
  const last = given.whole(-1);
  const pairs = isInterleaved
    ? [given.add("Reshape", [
      given.add(
        "Concat",
        both.map((one) => given.add("Unsqueeze", [one, last])),
        { axis: -1 },
      ),
      given.whole(0, 0, 0, turned),
    ])]
    : both;
  const all = turned < size ? [...pairs, part(turned, size)] : pairs;
  if (!isFlat) return given.add("Concat", all, { axis: -1 }, to);
  const joined = given.add("Concat", all, { axis: -1 });
  return given.add("Reshape", [joined, given.whole(0, 0, -1)], {}, to);
}

/** Numbers from 0 on, as many as an axis of a value has elements. */
export function countOf(given: Expansion, x: string, axis: number): string {
  const sizes = given.add("Shape", [x]);
  const [from, step] = [0, 1].map((number) => given.wholeNumber(number));
  const end = given.add("Gather", [sizes, given.wholeNumber(axis)]);
  return given.add("Range", [from, end, step]);
}

/** What both operators have alike; undefined where sizes are not known or do not fit: checks of the operator say so. */
function turnedOf(given: Expansion, tables: readonly [number, number]) {
  const { dims } = given.value(0);
  const { dims: table } = given.value(tables[0]);
  const [width, half] = [dims?.at(-1), table?.at(-1)];
  if (typeof width !== "number" || typeof half !== "number") return undefined;
  const isFlat = dims!.length === 3;
  const asked = given.int("rotary_embedding_dim");
  const turned = asked || 2 * half;
  const heads = given.int("num_heads") || (asked ? 0 : width / turned);
  const size = isFlat ? width / heads : width;
  const fits = (isFlat || dims!.length === 4) && turned === 2 * half &&
    Number.isInteger(size) && turned <= size;
  if (!fits) return undefined;
  return {
    x: given.input(0),
    tables: [given.input(tables[0]), given.input(tables[1])] as const,
    size,
    turned,
    isInterleaved: given.int("interleaved") !== 0,
    ...(isFlat && { heads }),
  };
}

/** ONNX's own. */
export const rotary: Expand = (given) => {
  const found = turnedOf(given, [1, 2]);
  if (found === undefined) return;
  turn(given, {
    ...found,
    ...(given.has(3) && { positions: given.input(3) }),
  }, given.node.outputs[0]);
};

/** A position for each token, or the first one of all. */
export const contribRotary: Expand = (given) => {
  given.refuse(given.int("is_packed_batching") !== 0, "is_packed_batching");
  given.refuse(given.float("scale", 1) !== 1, "a scale");
  const found = turnedOf(given, [2, 3]);
  given.refuse(found === undefined, "this shape of tables and heads");
  let positions = given.input(1);
  if (given.dims(1).length === 1) {
    const steps = countOf(given, found!.x, found!.heads === undefined ? 2 : 1);
    const first = given.add("Reshape", [positions, given.whole(1, 1)]);
    positions = given.add("Add", [first, steps]);
  }
  turn(given, { ...found!, positions }, given.node.outputs[0]);
};
