import { NODE, type NodeOutput } from "../../graph/cell_graph.ts";
import type { ResultRows } from "../../graph/result_rows.ts";
import type { Port } from "../../graph/cell.ts";
import type { Result } from "../../graph/result.ts";
import { axesOf, rowBytes } from "../../graph/row_layout.ts";
import type { LinearMemory } from "./linear_memory.ts";
import {
  type Dtype,
  elements,
  type Tensor,
  type TensorData,
} from "../../tensor/tensor.ts";

/**
 * Copies results of a request, of rows that are done, out of its slot.
 * @param results by name; rows that are not done are left out
 */
export function resultOf(
  results: ReadonlyMap<string, ResultRows<NodeOutput>>,
  slot: number,
  memory: LinearMemory,
): Result {
  const result: Record<string, Tensor<TensorData>> = {};
  for (const [name, rows] of results) {
    result[name] = copied(rows, slot, memory);
  }
  // Of what type each is the model says: see checkDeclared.
  return result as Result;
}

function copied(
  { port, collected, axis, sources }: ResultRows<NodeOutput>,
  slot: number,
  { bytes: memory, floats }: LinearMemory,
): Tensor<TensorData> {
  const [{ node, port: from, token }] = sources;
  if (
    !collected && token === undefined && port.dtype === "f32" &&
    node.cell.tokensMax === undefined && node.state === NODE.done
  ) {
    const at = (slot + node.offsets[from]) >>> 2;
    return { shape: sizesOf(port), data: floats.slice(at, at + port.width) };
  }
  const done = sources.filter(({ node }) => node.state === NODE.done);
  const rows = done.reduce((sum, source) => sum + rowsFrom(source), 0);
  // Quantised rows are no results: see checkResult.
  const data = elements(port.dtype as Dtype, rows * port.width);
  const to = new Uint8Array(data.buffer);
  const bytes = port.width * data.BYTES_PER_ELEMENT;
  let copied = 0;
  for (const source of done) {
    const { node, token = 0 } = source;
    const at = slot + node.offsets[source.port] + token * rowBytes(port);
    // Several tokens have no padding between them: see checkTokens in cell_builder.ts.
    const count = rowsFrom(source) * bytes;
    to.set(memory.subarray(at, at + count), copied);
    copied += count;
  }
  const isList = collected || isRagged(sources[0]);
  const sizes = sizesOf(port);
  const shape = !isList
    ? sizes
    : axis === undefined
    ? [rows, ...sizes]
    : sizes.with(axis, rows);
  return { shape, data };
}

/** All tokens of a ragged node, or one row. */
function rowsFrom({ node, token }: NodeOutput): number {
  return token === undefined ? node.length : 1;
}

function isRagged({ node, token }: NodeOutput): boolean {
  return token === undefined && node.cell.tokensMax !== undefined;
}

/** An i32 such as a token id is a scalar. */
function sizesOf(port: Port): number[] {
  const { dtype, width, shape } = port;
  if (shape === undefined && dtype === "i32" && width === 1) return [];
  return [...axesOf(port)];
}
