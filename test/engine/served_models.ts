/**
 * The models, inputs and right answers of the tests that drive a serving engine at random. Their callbacks do
 * on top what a request's tricks say.
 */
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { runRequests } from "../run_requests.ts";
import { fragileChain, fragileRow } from "./fragile_model.ts";

/** Room for slots that engines under test are made with: any request that is not "too large" fits, some just. */
export const SLOT_BYTES = { min: 4096, max: 8192 } as const;

/** Callbacks of a model that one may have a trick in. */
export const CALLBACKS = ["check", "unfold", "brings", "grow"] as const;
export type Callback = (typeof CALLBACKS)[number];

/** What a request carries: an input, and what else the model's callbacks do. */
export interface Played {
  readonly input: unknown;
  readonly trick?: { readonly at: Callback; play(): unknown };
}

/** How a request ends that nobody interferes with. */
export type Fate =
  | "done"
  /** Its input is refused. */
  | "bad input"
  /** One of its rows fails. */
  | "cell failed"
  /** No slot is ever large enough. */
  | "too large";

interface Case {
  readonly input: unknown;
  readonly fate: Fate;
  /** What serial execution answers. */
  readonly answer?: Result;
}

export interface ServedModel {
  readonly model: Model<Played>;
  readonly cases: readonly Case[];
  /** Whether requests may be given a number of steps. */
  readonly grows: boolean;
}

const VOCABULARY = 11;

/** Token ids that look arbitrary. */
function tokens(count: number, seed = 0): number[] {
  return Array.from(
    { length: count },
    (_, t) => (7 * t + 3 * seed) % VOCABULARY,
  );
}

function served<Input>(
  model: Model<Input>,
  inputs: { good: Input[]; bad: unknown[]; fails?: Input[]; large?: Input[] },
): ServedModel {
  const { good, bad, fails = [], large = [] } = inputs;
  const answers = runRequests(model, good);
  const named = (fate: Fate) => (input: unknown): Case => ({ input, fate });
  return {
    model: withTricks(model),
    grows: model.grow !== undefined,
    cases: [
      ...good.map((input, i): Case => ({
        input,
        fate: "done",
        answer: answers[i],
      })),
      ...fails.map(named("cell failed")),
      ...large.map(named("too large")),
      ...bad.map(named("bad input")),
    ],
  };
}

/** The same model, whose callbacks play the tricks of a request besides. */
function withTricks<Input>(model: Model<Input>): Model<Played> {
  const played = new WeakMap<CellGraph, Played>();
  const play = ({ trick }: Played, at: Callback): unknown =>
    trick?.at === at ? trick.play() : undefined;
  const { brings, ...rest } = model;
  return {
    ...rest,
    ...brings && {
      brings(request: Played) {
        const played = play(request, "brings");
        return played === undefined
          ? brings(request.input as Input)
          : played as [];
      },
    },
    check(request: unknown): asserts request is Played {
      const check: (input: unknown) => void = model.check;
      check.call(model, (request as Played).input);
      return play(request as Played, "check") as void;
    },
    unfold(request, graph) {
      played.set(graph, request);
      model.unfold(request.input as Input, graph);
      return play(request, "unfold") as void;
    },
    ...model.grow && {
      grow(node, graph) {
        model.grow!(node, graph);
        return play(played.get(graph)!, "grow") as void;
      },
    },
  };
}

/** Large weights, so that answers vary; with this seed two of those below end by themselves. */
const weights = seededWeights(98);
const translation = seq2seq({
  rnn: "gru",
  hidden: 5,
  sourceVocabulary: VOCABULARY,
  weights: (name, shape, fanIn) => weights(name, shape, fanIn / 64),
});

export const SERVED: Readonly<Record<string, ServedModel>> = {
  lstm: served(
    lstm({ hidden: 5, vocabulary: VOCABULARY, head: "classifier" }),
    {
      good: [
        ...[1, 2, 3, 5, 8].map((count) => ({ tokens: tokens(count, count) })),
        // Under way for a while, and in need of much room.
        { tokens: tokens(300) },
      ],
      large: [{ tokens: tokens(SLOT_BYTES.max / 4) }],
      bad: [{ tokens: [] }, { tokens: [VOCABULARY] }, null],
    },
  ),
  seq2seq: served(translation, {
    good: [
      ...[1, 2, 3, 5].flatMap((count) => [
        { tokens: tokens(count, count), maxSteps: 1 },
        { tokens: tokens(count), maxSteps: 2 * count },
        { tokens: tokens(count, 1), maxSteps: 20 },
      ]),
      { tokens: tokens(4), maxSteps: 200 },
    ],
    large: [{ tokens: [1], maxSteps: SLOT_BYTES.max / 4 }],
    bad: [{ tokens: [1], maxSteps: 0 }, {}],
  }),
  fragile: served(fragileChain, {
    good: [1, 2, 4].map((count) => rows(count, -1)),
    fails: [rows(1, 0), rows(4, 2)],
    bad: [],
  }),
  fixed: served(
    {
      ...fragileChain,
      name: "fixed",
      brings: (rows) => [Float32Array.from(rows.flat())],
    },
    {
      good: [0, 1, 2, 3].map((from) => rows(3, -1, from)),
      fails: [rows(3, 0), rows(3, 2)],
      bad: [],
    },
  ),
  treelstm: served(treeLstm({ hidden: 4, vocabulary: VOCABULARY }), {
    good: [{ tree: 1 }, { tree: [[1, 2], [3, [4, 5]]] }, {
      tree: [[[6, 7], 8], [9, [10, [1, 2]]]],
    }],
    bad: [{ tree: [1] }],
  }),
};

/** Rows of which one fails, or none. */
function rows(count: number, failing: number, from = 0): number[][] {
  return Array.from(
    { length: count },
    (_, t) => fragileRow(t === failing, from + t),
  );
}

/** What a request answers that the workload ends after so many steps. */
export function cutShort({ tokens }: Result, steps: number): Result {
  const data = tokens.data.slice(0, steps);
  return { tokens: tensor([data.length], data) };
}

/** A request that the workload ends after some steps. */
interface ShortRequest {
  readonly model: Model<Played>;
  readonly input: Played;
  readonly stepsFixed: number;
  readonly answer: Result;
}

/** A quick request that needs all of an engine's slots: as long as anybody has one, it is refused. */
export function fillingRequest(slotBytes: number): ShortRequest {
  const bytesOf = (maxSteps: number) => {
    const graph = new CellGraph(translation);
    translation.unfold({ tokens: [1], maxSteps }, graph);
    return new SlotPlan(graph).bytes;
  };
  const stepBytes = bytesOf(2) - bytesOf(1);
  const steps = 1 + Math.floor((slotBytes - bytesOf(1)) / stepBytes);
  const input = { tokens: [1], maxSteps: steps };
  return {
    model: SERVED["seq2seq"].model,
    input: { input },
    stepsFixed: 1,
    answer: runRequests(translation, [{ ...input, maxSteps: 1 }])[0],
  };
}
