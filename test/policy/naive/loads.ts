/** Random loads for policies: graphs of any shape, chains, decoders, requests that are given up. */
import fc from "fast-check";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import { defineCell, f32 } from "../../../src/graph/cell_builder.ts";
import type { CellNode } from "../../../src/graph/cell_graph.ts";
import type { Model } from "../../../src/graph/model.ts";
import { gnmt } from "../../../src/models/gnmt.ts";
import { seq2seq } from "../../../src/models/seq2seq.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { staticChain } from "../static_chain.ts";
import type { ToldRequest } from "../told.ts";

/** A node follows up to two before it. */
interface DagInput {
  readonly nodes: readonly {
    readonly cell: number;
    readonly after: readonly number[];
  }[];
}

const weights = seededWeights(3);
const CELLS = [1, 0, 2, 1].map((priority, i) =>
  defineCell({
    name: `C${i}`,
    priority,
    recurrent: i % 2 === 0,
    phase: "static",
    inputs: { a: f32(1), b: f32(1) },
    body: (op, { a, b }) => ({
      y: op.Tanh(op.Add(a, op.Gemm(b, weights(`${i}`, [1, 1], 1)))),
    }),
  })
);

/** Cells in any order, recurring or not. */
const DAG: Model<DagInput> = {
  name: "dag",
  cells: CELLS,
  shape: "dag",
  check(_input): asserts _input is DagInput {},
  unfold({ nodes }, graph) {
    const made: CellNode[] = [];
    for (const { cell, after } of nodes) {
      const source = (i: number) =>
        i < after.length ? graph.output(made[after[i]], "y") : graph.zeros(1);
      made.push(graph.node(CELLS[cell], { a: source(0), b: source(1) }));
    }
    graph.result("y", graph.output(made[made.length - 1], "y"));
  },
};

const DECODERS = [
  seq2seq({ hidden: 1, sourceVocabulary: 3 }),
  gnmt({ hidden: 1, sourceVocabulary: 3, layers: 2 }),
];
const CHAINS = [
  staticChain({ cells: ["A", "B*", "C", "D"] }),
  staticChain({ cells: ["P", "Q", "R*", "S*"] }),
];

/** Models of shape "chain", two of them decoders. */
export const CHAIN_MODELS: readonly Model[] = [...CHAINS, ...DECODERS];
/** Models of any shape. */
export const ANY_MODELS: readonly Model[] = [DAG as Model, ...CHAIN_MODELS];

const dags: fc.Arbitrary<ToldRequest> = fc.array(
  fc.tuple(fc.nat(CELLS.length - 1), fc.nat(99), fc.nat(99), fc.nat(2)),
  { minLength: 1, maxLength: 14 },
).map((drawn) => ({
  arrivalNs: 0,
  model: DAG as Model,
  input: {
    nodes: drawn.map(([cell, a, b, count], i) => ({
      cell,
      after: i === 0 ? [] : [a % i, b % i].slice(0, count),
    })),
  },
}));

const count = fc.integer({ min: 1, max: 5 });

const decoders: fc.Arbitrary<ToldRequest> = fc.tuple(
  fc.constantFrom(...DECODERS),
  count,
  count,
).map(([model, tokens, stepsFixed]) => ({
  arrivalNs: 0,
  model,
  input: { tokens: new Array<number>(tokens).fill(1), maxSteps: 6 },
  stepsFixed,
}));

const chains: fc.Arbitrary<ToldRequest> = fc.tuple(
  fc.constantFrom(...CHAINS),
  count,
).map(([model, steps]) => ({ arrivalNs: 0, model, input: { steps } }));

/** 0: never. */
const limit = (ns: number[]) => fc.constantFrom(0, 0, 0, ...ns);

/** In order of arrival; some have deadlines, so that they are given up wherever they are. */
const arriving = (requests: fc.Arbitrary<ToldRequest>) =>
  fc.array(
    fc.tuple(
      requests,
      fc.oneof(fc.nat(8), fc.nat(60)),
      limit([10, 60]),
      limit([10, 40, 100]),
    ),
    { minLength: 1, maxLength: 14 },
  ).map((drawn) => {
    let arrivalNs = 0;
    return drawn.map(([request, gap, startNs, finishNs]): ToldRequest => ({
      ...request,
      arrivalNs: arrivalNs += gap,
      ...(startNs > 0 && { deadlineNs: arrivalNs + startNs }),
      ...(finishNs > 0 && { finishNs: arrivalNs + finishNs }),
    }));
  });

export const anyRequests = arriving(fc.oneof(dags, chains, decoders));
export const chainRequests = arriving(fc.oneof(chains, decoders));

/** A cell's time by its name, and by its rows. */
export const costs: fc.Arbitrary<CostModel> = fc.tuple(fc.nat(3), fc.nat(3))
  .map(([byName, byRow]) => ({
    latencyNs: ({ name }, rows) =>
      1 + byName * (name.length + name.charCodeAt(name.length - 1)) % 7 +
      byRow * (rows - 1),
  }));

export const workers = fc.integer({ min: 1, max: 3 });
/** Sizes of batches, tasks at once and the like. */
export const few = fc.integer({ min: 1, max: 5 });
