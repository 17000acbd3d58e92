/** Fig. 21: what DVABatch adds when one query comes after the other. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { Prng } from "../../../src/base/prng.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import { buildModel } from "../../../src/cli/bench_models.ts";
import { ServingEngine } from "../../../src/engine/wall/serving.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { dvabatch } from "../../../src/policy/dvabatch/dvabatch.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { Context, Experiment } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { bufferBytes } from "./buffers.ts";
import { network, NETWORKS } from "./networks.ts";
import {
  costOf,
  dva,
  policyOf,
  SETUP,
  streamsOf,
  type System,
} from "./serving.ts";

/** Registered models in small sizes, with the paper's policy and stages for their kind. */
const REAL = [
  { model: "unet", policy: "II+III", stages: 4 },
  { model: "linknet", policy: "II+III", stages: 4 },
  { model: "bert", policy: "I", stages: 2 },
  { model: "vgg19", policy: "III", stages: 4 },
  { model: "resnet152", policy: "III", stages: 4 },
] as const;

const PAIRS = 2;
/** Rounds that do not count. */
const WARM = 3;
const MB = 1e6;

/** Mean latency of queries that come when the one before has left, on virtual time, ms. */
export function closedLoopMs(system: System, name: string): number {
  const { request } = network(name);
  const prng = new Prng(1).fork(name);
  const latencies = Array.from({ length: 20 }, () =>
    // The device is empty and the policy has nothing to remember: each is a run of its own.
    simulate({
      policy: policyOf(system, name),
      cost: costOf(system, name),
      workers: streamsOf(system),
      arrivals: [{ ...request(prng), arrivalNs: 0 }],
    }).meanMs);
  return mean(latencies);
}

/** Latencies on this machine, one query after the other, the systems in turns. */
async function measured(
  { model: name, policy, stages }: typeof REAL[number],
  { seed, quick }: Context,
): Promise<{ zeroMs: number; dvaMs: number; moreMs: number }> {
  const { model, inputs } = buildModel(name, "small", seed);
  const { batchSizeMax } = SETUP;
  const engine = (policy: Policy) =>
    ServingEngine.create({ models: [model], policy, workers: 1 });
  const engines = [
    await engine(graph({ batchSizeMax, windowNs: 0 })),
    await engine(
      dvabatch({ policy, stages, windowNs: 0, batchSizeMax, pairs: PAIRS }),
    ),
  ];
  const prng = new Prng(seed).fork(name);
  const latencies: number[][] = [[], []];
  const rounds = quick ? 12 : 60;
  for (let round = 0; round < rounds; round++) {
    const { input } = inputs.next(prng);
    for (let turn = 0; turn < engines.length; turn++) {
      // Who goes first changes, as the second finds the input in the caches.
      const i = (turn + round) % engines.length;
      const startMs = performance.now();
      await engines[i].run(model, input as never);
      latencies[i].push(performance.now() - startMs);
    }
  }
  for (const one of engines) await one.close();
  const median = (values: number[]) => percentile(ascending(values), 0.5);
  const [zero, other] = latencies.map((values) => values.slice(WARM));
  return {
    zeroMs: median(zero),
    dvaMs: median(other),
    moreMs: median(other.map((ms, i) => ms - zero[i])),
  };
}

const TABLE = "This machine: one query after the other, median, ms";
const BUFFERS = "Modelled Titan RTX: one query after the other, and buffers";

export const fig21: Experiment = {
  id: "dvabatch.fig21",
  title: "Fig. 21: overhead in a closed loop",
  claims: ["DV-20"],
  conditions:
    `On this machine's workers: ${
      REAL.map(({ model }) => model).join(", ")
    } in their small sizes, one worker, DVABatch without window in as many stages as it has, both systems in turns. ` +
    "Beside it the modelled Titan RTX, on which deciding costs nothing.",
  exclusive: true,
  async run(context) {
    const rows: (string | number)[][] = [];
    const more: number[] = [];
    for (const one of REAL) {
      const { zeroMs, dvaMs, moreMs } = await context.point(
        { closedLoop: one.model, seed: context.seed, quick: context.quick },
        () => measured(one, context),
      );
      more.push(moreMs);
      rows.push([
        one.model,
        zeroMs.toFixed(2),
        dvaMs.toFixed(2),
        moreMs.toFixed(3),
      ]);
    }
    const modelled: (string | number)[][] = [];
    const buffers: number[] = [];
    for (const name of NETWORKS) {
      const zero = closedLoopMs({ baseline: "ZeroBatch" }, name);
      const other = closedLoopMs(dva(name, { windowNs: 0 }), name);
      const bytes = bufferBytes(name, PAIRS);
      buffers.push(bytes / MB);
      modelled.push([
        name,
        zero.toFixed(2),
        other.toFixed(2),
        Math.round((other - zero) * NS_PER_MS),
        (bytes / MB).toFixed(0),
      ]);
    }
    return {
      findings: [{
        claim: "DV-20",
        compared: [{
          name: "more than ZeroBatch, mean of networks, on this machine",
          as: "size",
          published: 0.29,
          ours: mean(more),
          unit: "ms",
        }, {
          name: "buffers between stages for 64 queries, f32, mean of networks",
          as: "size",
          published: 200,
          ours: mean(buffers),
          unit: "MB",
        }],
        note:
          "Buffers are computed from the networks' shapes: the engine itself has none, as rows stay in their request's " +
          "slot and a pair is a token. What the overhead is made of differs: there the launch of CUDA graphs and events, here " +
          "a task's row table and a thread that is woken for every stage.",
        cause: {
          text:
            "The buffers are for whole batches of 64 in f32, and what a skip connection hands from the encoder to the decoder " +
            "lies in every buffer between: U-Net and LinkNet take most of it. The paper gives neither format nor image sizes.",
          shownBy: BUFFERS,
        },
      }],
      charts: [],
      tables: [{
        title: TABLE,
        columns: ["model", "ZeroBatch", "DVABatch", "more"],
        rows,
      }, {
        title: BUFFERS,
        columns: [
          "network",
          "ZeroBatch, ms",
          "DVABatch, ms",
          "more, ns",
          "buffers, MB",
        ],
        rows: modelled,
      }],
    };
  },
};
