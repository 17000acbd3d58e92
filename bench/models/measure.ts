/** Times one network on both sides, round by round in turns, results compared first. */
import { Prng } from "../../src/base/prng.ts";
import type { Model } from "../../src/graph/model.ts";
import type { OrtTensor } from "../kernels/peers/ort.ts";
import { SETTLE_MS } from "../kernels/team_build.ts";
import { greatestDifference, numbersOf } from "./compare.ts";
import type { AttentionForm } from "./export/operators.ts";
import type { Network } from "./networks.ts";
import {
  type PreparedNetwork,
  prepareNetwork,
  type Runtime,
} from "./request_graphs.ts";
import { serve, type Served } from "./served.ts";

/** How networks are measured. */
export interface MeasureSettings {
  threads: number;
  rounds: number;
  seed: number;
  attention: AttentionForm;
  runtime: Runtime<OrtTensor>;
  onBatch(label: string): void;
}

/** Figures of one network and one size of batch. */
export interface NetworkResult {
  name: string;
  request: string;
  batch: number;
  /** Steps that a time is of: times are of one. */
  steps: number;
  /** Best milliseconds of a batch, or of a step of it, by contestant. */
  bestMs: Record<string, number>;
  /** Milliseconds of every round, by contestant. */
  roundsMs: Record<string, number[]>;
  /** Peer's time over ours, on as many threads, median of the rounds. */
  ratio: number;
  /** Ours on one thread over ours on all, median of the rounds; absent on one thread. */
  scaling?: number;
  /** Largest difference between results, relative to the greatest of them. */
  difference: number;
}

/** Names of contestants. */
export const PEER = "onnxruntime-web";
export const ours = (threads: number) =>
  threads === 1 ? "1 thread" : `${threads} threads`;

const WARM_ROUNDS = 2;
/** Sums are taken in other orders through up to fifty layers. */
const TOLERANCE = 1e-4;

/** All batches of a network. */
export async function measureNetwork(
  network: Network,
  model: Model,
  settings: MeasureSettings,
): Promise<NetworkResult[]> {
  const results: NetworkResult[] = [];
  for (const batch of network.batches) {
    settings.onBatch(`${network.name}, batch ${batch}`);
    const prng = new Prng(settings.seed).fork(`${network.name}/${batch}`);
    const inputs = Array.from({ length: batch }, () => network.input(prng));
    const prepared = await prepareNetwork(settings.runtime, {
      ...{ model, inputs, steps: network.steps },
      attention: settings.attention,
    });
    const counts = settings.threads === 1 ? [1] : [1, settings.threads];
    const engines: { name: string; served: Served }[] = [];
    try {
      for (const threads of counts) {
        const served = await serve(model, inputs, threads);
        engines.push({ name: ours(threads), served });
      }
      results.push(
        await timed(network, { batch, prepared, engines, settings }),
      );
    } finally {
      for (const { served } of engines) await served.close();
      await prepared.release();
    }
  }
  return results;
}

interface Contest {
  batch: number;
  prepared: PreparedNetwork<OrtTensor>;
  engines: readonly { name: string; served: Served }[];
  settings: MeasureSettings;
}

async function timed(
  { name, request, steps }: Network,
  { batch, prepared, engines, settings: { threads, rounds } }: Contest,
): Promise<NetworkResult> {
  const runPeer = async () => {
    const startMs = performance.now();
    await prepared.run();
    const ms = performance.now() - startMs;
    if (threads > 1) await new Promise((go) => setTimeout(go, SETTLE_MS));
    return ms;
  };
  const roundsMs: Record<string, number[]> = Object.fromEntries(
    [...engines.map(({ name }) => name), PEER].map((name) => [name, []]),
  );
  const each = Math.max(1, steps);
  let difference = 0;
  for (let round = -WARM_ROUNDS; round < rounds; round++) {
    const ms: [name: string, ms: number][] = [];
    for (const { name, served } of engines) ms.push([name, await served.run()]);
    ms.push([PEER, await runPeer()]);
    if (round === -WARM_ROUNDS) {
      for (const engine of engines) {
        const what = `${name}, batch ${batch}, ${engine.name}`;
        const apart = compared(what, engine.served, prepared);
        difference = Math.max(difference, apart);
      }
    }
    if (round < 0) continue;
    for (const [name, one] of ms) roundsMs[name].push(one / each);
  }
  const own = roundsMs[ours(threads)];
  return {
    ...{ name, request, batch, steps: each, roundsMs, difference },
    bestMs: Object.fromEntries(
      Object.entries(roundsMs).map(([name, ms]) => [name, Math.min(...ms)]),
    ),
    ratio: medianRatio(roundsMs[PEER], own),
    ...(threads > 1 && { scaling: medianRatio(roundsMs[ours(1)], own) }),
  };
}

/** The largest difference of any result. */
function compared(
  what: string,
  served: Served,
  prepared: PreparedNetwork<OrtTensor>,
): number {
  const theirs = prepared.results();
  const all = served.results().flatMap((outputs, i) =>
    Object.entries(outputs).map(([output, { data }]) =>
      greatestDifference(`${what}: ${output}`, {
        got: data,
        expected: numbersOf(theirs[output], i),
        tolerance: TOLERANCE,
      })
    )
  );
  return Math.max(...all);
}

/** Median over the rounds of one side's time over the other's. */
export function medianRatio(
  theirs: readonly number[],
  own: readonly number[],
): number {
  const ratios = theirs.map((ms, round) => ms / own[round])
    .sort((a, b) => a - b);
  const middle = ratios.length >> 1;
  return ratios.length % 2 === 1
    ? ratios[middle]
    : Math.sqrt(ratios[middle - 1] * ratios[middle]);
}
