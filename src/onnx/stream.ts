/** A file's inputs and outputs as states of a stream, which the file itself does not tell apart. */
import { describe, listed } from "../base/describe.ts";
import type { OutputTypes } from "../graph/result.ts";
import type { RowShape } from "../graph/row_layout.ts";
import type { StateSpec, StreamSpec } from "../graph/stream_model.ts";
import { elementCount, type TensorData } from "../tensor/tensor.ts";
import type { InputSpec } from "./input_tensors.ts";
import { quoted } from "./place.ts";
import type { Specs } from "./unfolding.ts";

/** By name of an input the output that it is in the next frame; with what it is in the first one, unless zeros. */
export type StateNames = Readonly<
  Record<
    string,
    string | { readonly from: string; readonly initial?: TensorData }
  >
>;

/**
 * @throws TypeError on a name that the file does not have, RangeError when input and output are not of one type and
 * size
 */
export function streamOf(
  model: string,
  { inputs, results }: Specs,
  names: StateNames,
  frame: StreamSpec["frame"],
): StreamSpec {
  const states: Record<string, StateSpec> = {};
  const froms = new Set<string>();
  for (const [name, given] of Object.entries(names)) {
    const { from, initial } = stateGiven(name, given);
    const input = specOf(model, inputs, name, "input");
    const output = specOf(model, results, from, "output");
    const [row, written] = [rowOf(input), rowOf(output)];
    if (row.dtype !== written.dtype || row.width !== written.width) {
      throw new RangeError(
        `State ${quoted(name)} of ${quoted(model)} is ${
          textOf(input)
        }, output ${quoted(from)} is ${textOf(output)}`,
      );
    }
    froms.add(from);
    states[name] = { ...row, from, ...(initial && { initial }) };
  }
  const rows: Record<string, RowShape> = {};
  for (const input of inputs) {
    if (!Object.hasOwn(states, input.name)) rows[input.name] = rowOf(input);
  }
  const outputs: OutputTypes = Object.fromEntries(
    results.filter(({ name }) => !froms.has(name)).map((
      { name, dtype },
    ) => [name, dtype]),
  );
  return { inputs: rows, states, outputs, frame };
}

/** The output that a state is in the next step, and its first elements. @throws TypeError when that is not given */
export function stateGiven(
  name: string,
  given: StateNames[string],
): { readonly from: string; readonly initial?: TensorData } {
  if (typeof given === "string") return { from: given };
  if (typeof (given as typeof given | null)?.from === "string") return given;
  throw new TypeError(
    `State ${
      quoted(name)
    } is the name of an output, or { from, initial }, got ${describe(given)}`,
  );
}

function specOf(
  model: string,
  specs: readonly InputSpec[],
  name: unknown,
  what: string,
): InputSpec {
  const found = specs.find((spec) => spec.name === name);
  if (found) return found;
  throw new TypeError(
    `"states" name ${what} ${quoted(String(name))}, which ${
      quoted(model)
    } does not have; it has ${listed(specs.map(({ name }) => name))}`,
  );
}

function rowOf({ dtype, shape }: InputSpec): RowShape {
  return { dtype, width: elementCount(shape), shape };
}

function textOf({ dtype, shape }: InputSpec): string {
  return `${dtype}[${shape.join(" x ")}]`;
}
