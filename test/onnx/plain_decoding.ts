/** Greedy decoding by a step's file as it stands, every node in plain TypeScript: the reference of decoders. */
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import {
  plainOf,
  type PlainTensor,
  zerosOf,
} from "../../src/tensor/plain_tensor.ts";

/** Ids of the best token of every step, and how far it is ahead of the next one. */
export interface Decoded {
  readonly ids: number[];
  readonly gaps: number[];
}

/**
 * @param states which output each state comes out as
 * @param initial states to begin with; zeros, of no positions, by default
 * @param others inputs that are the same in every step
 */
export function decodePlain(
  { graph }: OnnxModel,
  states: Readonly<Record<string, string>>,
  { tokens, steps, stop = [], initial = new Map(), others = new Map() }: {
    tokens: readonly number[];
    steps: number;
    stop?: readonly number[];
    initial?: ReadonlyMap<string, PlainTensor>;
    others?: ReadonlyMap<string, PlainTensor>;
  },
): Decoded {
  const values = new Map(
    graph.inputs.flatMap(({ name, type, dims }) =>
      Object.hasOwn(states, name)
        ? [
          [
            name,
            initial.get(name) ?? zerosOf(
              type!,
              dims!.map((size) =>
                typeof size === "number"
                  ? size
                  : size?.startsWith("past")
                  ? 0
                  : 1
              ),
            ),
          ] as const,
        ]
        : []
    ),
  );
  const [ids, gaps]: [number[], number[]] = [[], []];
  let token = tokens[0];
  for (let at = 0; ids.length < steps; at++) {
    for (const { name, type, dims } of graph.inputs) {
      if (Object.hasOwn(states, name)) continue;
      const other = others.get(name);
      if (other) {
        values.set(name, other);
        continue;
      }
      const ones = (dims ?? []).map(() => 1);
      values.set(
        name,
        name === "attention_mask"
          ? plainOf("int64", [1, at + 1], Array(at + 1).fill(1))
          : plainOf(type!, ones, [name === "position_ids" ? at : token]),
      );
    }
    const made = runPlainGraph(graph, values);
    for (const [input, output] of Object.entries(states)) {
      values.set(input, made.get(output)!);
    }
    if (at + 1 < tokens.length) {
      token = tokens[at + 1];
      continue;
    }
    const scores = [...made.get("logits")!.data].map(Number);
    token = scores.indexOf(Math.max(...scores));
    const [first, second] = scores.toSorted((a, b) => b - a);
    ids.push(token);
    gaps.push(first - second);
    if (stop.includes(token)) break;
  }
  return { ids, gaps };
}
