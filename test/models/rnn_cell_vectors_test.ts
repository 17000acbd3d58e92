/** The LSTM and GRU vectors of the WebNN reference implementation, through cells and unfolding. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Cell } from "../../src/graph/cell.ts";
import type { NodeOutput, Source } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { dataFolder } from "../workload/data_folder.ts";
import {
  type ActivationName,
  gruCell,
  lstmCell,
  type RecurrentWeights,
} from "./recurrent_cell.ts";

interface Plain {
  shape: number[];
  data: number[];
}

interface Case {
  op: "lstm" | "lstmCell" | "gru" | "gruCell";
  name: string;
  args: {
    input: Plain;
    weight: Plain;
    recurrentWeight: Plain;
    hiddenState?: Plain;
    cellState?: Plain;
    steps?: number;
    hiddenSize: number;
  };
  options: {
    bias?: Plain;
    recurrentBias?: Plain;
    peepholeWeight?: Plain;
    initialHiddenState?: Plain;
    initialCellState?: Plain;
    direction?: "forward" | "backward" | "both";
    layout: "iofg" | "zrn" | "rzn";
    resetAfter?: boolean;
    activations: ActivationName[];
  };
  expected: (Plain | null)[];
}

/** The case in one form: sequences of one step for cells, all axes present. */
interface Network {
  readonly steps: number;
  readonly hidden: number;
  readonly inputSize: number;
  readonly backward: readonly boolean[];
  /** One per direction. */
  readonly cells: readonly Cell[];
  readonly state: readonly ("h" | "c")[];
}

/** What one request brings: its row of every step, its initial states [direction][hidden]. */
interface Sequence {
  readonly x: readonly number[];
  readonly h: readonly number[];
  readonly c: readonly number[];
}

function slab({ data }: Plain, index: number, count: number): number[] {
  const size = data.length / count;
  return data.slice(index * size, (index + 1) * size);
}

/** Weights of one direction, with the gates in ONNX order. */
function weightsOf(
  { args, options }: Case,
  direction: number,
  directions: number,
): RecurrentWeights {
  const hidden = args.hiddenSize;
  const gates = options.layout.length;
  const order = options.layout === "rzn" ? [1, 0, 2] : [...Array(gates).keys()];
  const read = (plain: Plain | undefined, width: number[]): Tensor => {
    const shape = [gates * hidden, ...width];
    if (!plain) return tensor(shape, new Float32Array(elementCount(shape)));
    const rows = slab(plain, direction, directions);
    const gate = rows.length / gates;
    return tensor(
      shape,
      Float32Array.from(
        order.flatMap((g) => rows.slice(g * gate, (g + 1) * gate)),
      ),
    );
  };
  return {
    w: read(args.weight, [args.weight.shape.at(-1)!]),
    r: read(args.recurrentWeight, [hidden]),
    wb: read(options.bias, []),
    rb: read(options.recurrentBias, []),
  };
}

function networkOf(given: Case): Network {
  const { op, args, options } = given;
  const backward = options.direction === "both"
    ? [false, true]
    : [options.direction === "backward"];
  const isLstm = op.startsWith("lstm");
  const { activations, peepholeWeight, resetAfter = true } = options;
  const cells = backward.map((_, direction) => {
    const weights = weightsOf(given, direction, backward.length);
    if (!isLstm) return gruCell({ weights, activations, resetAfter });
    return lstmCell({
      weights,
      activations,
      ...(peepholeWeight && {
        peepholes: tensor(
          [3 * args.hiddenSize],
          Float32Array.from(slab(peepholeWeight, direction, backward.length)),
        ),
      }),
    });
  });
  return {
    steps: args.steps ?? 1,
    hidden: args.hiddenSize,
    inputSize: args.input.shape.at(-1)!,
    backward,
    cells,
    state: isLstm ? ["h", "c"] : ["h"],
  };
}

/** Results: `h` (and `c`) [direction][hidden], `sequence` [step][direction][hidden]. */
function modelOf(network: Network): Model<Sequence> {
  const { steps, hidden, inputSize, backward, cells, state } = network;
  return {
    name: "recurrent",
    cells,
    shape: "dag",
    check() {},
    unfold(sequence, graph) {
      const x = graph.rows(sequence.x);
      const initial = { h: graph.rows(sequence.h), c: graph.rows(sequence.c) };
      const outputs: NodeOutput[][] = [];
      backward.forEach((isBackward, direction) => {
        let before: Record<string, Source> = Object.fromEntries(
          state.map((name) => [
            name,
            graph.row(initial[name], direction, hidden),
          ]),
        );
        for (let i = 0; i < steps; i++) {
          const t = isBackward ? steps - 1 - i : i;
          const node = graph.node(cells[direction], {
            x: graph.row(x, t, inputSize),
            ...before,
          });
          before = Object.fromEntries(
            state.map((name) => [name, graph.output(node, name)]),
          );
          (outputs[t] ??= [])[direction] = graph.output(node, "h");
        }
        for (const name of state) {
          graph.collect(name, before[name] as NodeOutput);
        }
      });
      for (const output of outputs.flat()) graph.collect("sequence", output);
    },
  };
}

/** The requests of a case: one per row of its batch. */
function sequencesOf({ args, options }: Case, network: Network): Sequence[] {
  const { steps, hidden, backward } = network;
  const batch = args.input.shape.at(-2)!;
  const rowsOf = (plain: Plain | undefined, outer: number, i: number) =>
    plain
      ? Array.from(
        { length: outer },
        (_, t) => slab(plain, t * batch + i, outer * batch),
      ).flat()
      : new Array<number>(outer * hidden).fill(0);
  return Array.from({ length: batch }, (_, i) => ({
    x: rowsOf(args.input, steps, i),
    h: rowsOf(
      args.hiddenState ?? options.initialHiddenState,
      backward.length,
      i,
    ),
    c: rowsOf(args.cellState ?? options.initialCellState, backward.length, i),
  }));
}

/** Gathers a result as [outer][batch][hidden]. */
function batched(results: readonly Result[], name: string, hidden: number) {
  const outer = results[0][name].data.length / hidden;
  return Array.from({ length: outer }, (_, t) =>
    results.flatMap((result) => [
      ...result[name].data.subarray(t * hidden, (t + 1) * hidden),
    ])).flat();
}

/** The published values are rounded in their sixth to eighth place. */
const TOLERANCE = 2e-6;

function assertClose(got: number[], expected: Plain, what: string): void {
  assert.equal(got.length, expected.data.length, what);
  expected.data.forEach((value, i) => {
    const allowed = TOLERANCE * Math.max(1, Math.abs(value));
    assert(
      Math.abs(got[i] - value) <= allowed,
      `${what}[${i}] is ${got[i]}, expected ${value}`,
    );
  });
}

const folder = dataFolder("recurrent cell vectors");
const cases: Case[] = folder === undefined
  ? []
  : readFileSync(`${folder}/rnn-cell-vectors/cases.ndjson`, "utf8").trimEnd()
    .split("\n").map((line) => JSON.parse(line));

Deno.test("there are 13 recurrent cell vectors, through fused and composed cells", () => {
  if (folder === undefined) return;
  const names = cases.map((given) => networkOf(given).cells[0].name);
  const count = (name: string) =>
    names.filter((other) => other === name).length;
  assert.deepEqual(
    ["lstm", "composed lstm", "gru", "composed gru"].map(count),
    [1, 2, 7, 3],
  );
});

for (const given of cases) {
  Deno.test(`recurrent cell vector: ${given.name}`, () => {
    const network = networkOf(given);
    const model = modelOf(network);
    const sequences = sequencesOf(given, network);
    const results = runRequests(model, sequences, { policy: cellular() });
    assert.deepStrictEqual(runRequests(model, sequences), results);
    const names = [...network.state, "sequence"];
    given.expected.forEach((expected, i) => {
      if (expected === null) return;
      assertClose(
        batched(results, names[i], network.hidden),
        expected,
        names[i],
      );
    });
  });
}
