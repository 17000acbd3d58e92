import {
  type CellGraph,
  NODE,
  type NodeOutput,
} from "../../graph/cell_graph.ts";
import type { ResultRows } from "../../graph/result_rows.ts";
import type { Port } from "../../graph/cell.ts";
import type { Result } from "../../graph/result.ts";
import { BYTES_PER_ELEMENT, type Tensor } from "../../tensor/tensor.ts";

/** Linear memory, as elements of each type. */
export interface Elements {
  readonly i32: Int32Array;
  readonly f32: Float32Array;
}

/** Copies the results of a request that is done out of its slot. */
export function resultOf(
  graph: CellGraph,
  slot: number,
  memory: Elements,
): Result {
  const result: Record<string, Result[string]> = {};
  for (const [name, rows] of graph.results) {
    result[name] = copied(rows, slot, memory);
  }
  return result;
}

function copied(
  { port, collected, sources }: ResultRows<NodeOutput>,
  slot: number,
  memory: Elements,
): Tensor<Float32Array | Int32Array> {
  const done = sources.filter(({ node }) => node.state === NODE.done);
  const from = memory[port.dtype];
  const { width } = port;
  const rows = done.reduce((sum, source) => sum + rowsFrom(source), 0);
  const data = new (port.dtype === "i32" ? Int32Array : Float32Array)(
    rows * width,
  );
  let to = 0;
  for (const source of done) {
    const { node, token = 0 } = source;
    const at = (slot + node.offsets[source.port]) / BYTES_PER_ELEMENT +
      token * width;
    const count = rowsFrom(source) * width;
    data.set(from.subarray(at, at + count), to);
    to += count;
  }
  const isList = collected || isRagged(sources[0]);
  return { shape: isList ? [rows, ...sizesOf(port)] : sizesOf(port), data };
}

/** All tokens of a ragged node, or one row. */
function rowsFrom({ node, token }: NodeOutput): number {
  return token === undefined ? node.length : 1;
}

function isRagged({ node, token }: NodeOutput): boolean {
  return token === undefined && node.cell.tokensMax !== undefined;
}

/** An i32 such as a token id is a scalar. */
function sizesOf({ dtype, width, image }: Port): number[] {
  if (image) return [image.height, image.width, image.channels];
  return dtype === "i32" && width === 1 ? [] : [width];
}
