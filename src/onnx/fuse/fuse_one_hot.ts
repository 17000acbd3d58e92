/**
 * One-hot codes times a constant matrix are rows of the matrix: exporters write embeddings so. All of a sum but one
 * term are zeros, so that the row is the sum, to the bit; only -0 becomes 0, as in the sum. A code that is nowhere one
 * gives zeros.
 */
import {
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { FusedGraph } from "./fuse_quantized.ts";
import { Parts } from "./pattern.ts";

/** Integers, and which of the matrix's rows each means. */
interface Codes {
  readonly ids: string;
  readonly type: "int32" | "int64";
  /** The ids' dims: those of the codes without the last one, or with 1 in its place. */
  readonly dims: readonly number[];
  /** Row of the matrix by id, from 0 on; -1: no row. */
  readonly rowOf: readonly number[];
  readonly nodes: readonly OnnxNode[];
}

/** The table of an embedding has so many rows for each of the matrix's, at most. */
const SPARSE_MAX = 16;

/** The graph with a Gather in place of each such product. */
export function fuseOneHot(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
): FusedGraph {
  const parts = new Parts(graph, known);
  const all = new Map(known);
  const made = new Map<OnnxNode, readonly OnnxNode[]>();
  const gone = new Set<OnnxNode>();
  for (const product of graph.nodes) {
    if (product.op !== "MatMul" || product.domain !== "") continue;
    const weight = known.get(product.inputs[1])?.constant;
    const codes = codesOf(product, parts);
    if (!codes || !isMatrix(weight, codes)) continue;
    made.set(product, lookup(product, codes, weight, all));
    for (const node of codes.nodes) gone.add(node);
  }
  if (made.size === 0) return { graph, known };
  const nodes = graph.nodes.flatMap((node) =>
    made.get(node) ?? (gone.has(node) ? [] : [node])
  );
  return { graph: { ...graph, nodes }, known: all };
}

/** What the product multiplies, as codes: Equal with constants, then Cast. */
function codesOf(product: OnnxNode, parts: Parts): Codes | undefined {
  const cast = parts.maker(product.inputs[0], "Cast");
  const equal = cast && parts.maker(cast.inputs[0], "Equal");
  if (!cast || !equal) return undefined;
  const isOurs = parts.isOnlyFor(cast.outputs[0], [product]) &&
    parts.isOnlyFor(equal.outputs[0], [cast]) &&
    parts.known.get(cast.outputs[0])?.type === "float32";
  const place = equal.inputs.findIndex((name) =>
    parts.known.get(name)?.constant
  );
  if (!isOurs || place < 0) return undefined;
  const { constant } = parts.known.get(equal.inputs[place])!;
  const ids = equal.inputs[1 - place];
  const { type, dims, constant: fixed } = parts.known.get(ids)!;
  if (type !== "int32" && type !== "int64" || fixed) return undefined;
  const codes = parts.known.get(equal.outputs[0])!.dims;
  const rowOf = rowsOf(constant!, codes.at(-1));
  // Every code has an id of its own, whose place its last axis takes.
  const isEach = dims.length === codes.length && dims.at(-1) === 1 &&
    dims.slice(0, -1).every((size, axis) => size === codes[axis]);
  return rowOf && isEach
    ? { ids, type, dims, rowOf, nodes: [equal, cast] }
    : undefined;
}

/** The place of every value among constants along the last axis: different ones, none negative. */
function rowsOf(
  { dims, data }: PlainTensor,
  size: number | undefined,
): readonly number[] | undefined {
  if (data.length !== size || dims.at(-1) !== size) return undefined;
  const values = Array.from(data, Number);
  // Not as arguments of a call: vocabularies are larger than it may have.
  const most = values.reduce((most, value) => Math.max(most, value), 0);
  if (values.some((value) => value < 0) || most >= SPARSE_MAX * size) {
    return undefined;
  }
  const rowOf = new Array<number>(most + 1).fill(-1);
  for (const [row, value] of values.entries()) {
    if (rowOf[value] !== -1) return undefined;
    rowOf[value] = row;
  }
  return rowOf;
}

/** Zeros times what is not finite would be no zeros. */
function isMatrix(
  weight: PlainTensor | undefined,
  { rowOf }: Codes,
): weight is PlainTensor<"float32"> {
  return weight?.type === "float32" && weight.dims.length === 2 &&
    weight.dims[0] === rowOf.filter((row) => row >= 0).length &&
    weight.data.every(Number.isFinite);
}

/**
 * Clip, Gather, Squeeze: ids that have no row become those right before and behind the table's, which both mean its
 * last row, of zeros.
 */
function lookup(
  product: OnnxNode,
  { ids, type, dims, rowOf }: Codes,
  { dims: [, width], data }: PlainTensor<"float32">,
  known: Map<string, KnownValue>,
): readonly OnnxNode[] {
  const [result] = product.outputs;
  const rows = rowOf.length;
  const table = new Float32Array((rows + 1) * width);
  rowOf.forEach((row, id) => {
    if (row < 0) return;
    for (let i = 0; i < width; i++) {
      table[id * width + i] = 0 + data[row * width + i];
    }
  });
  const define = (
    what: string,
    type: PlainType,
    dims: readonly number[],
    constant?: PlainTensor,
  ) => {
    const name = `${result} ${what}`;
    known.set(name, { type, dims, ...(constant && { constant }) });
    return name;
  };
  const constant = (what: string, value: PlainTensor) =>
    define(what, value.type, value.dims, value);
  const step = (
    op: string,
    inputs: readonly string[],
    output: string,
    attributes: readonly (readonly [string, OnnxAttribute])[] = [],
  ): OnnxNode => ({
    ...{ name: product.name, op, domain: "", version: 13, inputs },
    ...{ outputs: [output], attributes: new Map(attributes) },
  });
  const clipped = define("ids", type, dims);
  const found = define("rows", "float32", [...dims, width]);
  return [
    step("Clip", [
      ids,
      constant("least id", plainOf(type, [], [-1])),
      constant("most id", plainOf(type, [], [rows])),
    ], clipped),
    step(
      "Gather",
      [
        constant("table", plainOf("float32", [rows + 1, width], table)),
        clipped,
      ],
      found,
      [["axis", { kind: "int", value: 0 }]],
    ),
    step("Squeeze", [
      found,
      constant("axis", plainOf("int64", [1], [dims.length - 1])),
    ], result),
  ];
}
