/** What a bench comes to, in a sentence, computed from its points. */
import type { BenchPoint, ModelResult } from "./bench_result.ts";
import { loadsOf, p90OfPartsNs } from "./bench_result.ts";
import { formatMs, formatNumber, formatRatio } from "./format.ts";

/** What two runs of the same policy may differ by. */
const NOISE = 0.1;

/** A run of fewer requests says nothing about what is chance. */
const REQUESTS_LEAST = 100;

/** What "beyond noise" means, for whoever reads it. */
export const NOISE_RULE =
  "beyond noise: lower in each round, or in each of the five consecutive fifths of a single one (the same requests " +
  `under every policy), by more than ${
    100 * NOISE
  } % overall, in a run of at least ${REQUESTS_LEAST} requests`;

/** Who is first at something, by how much, and whether that is more than chance. */
export interface Winner {
  readonly policy: string;
  readonly value: number;
  /** The runner-up and how many times worse it is; undefined when there is nobody else. */
  readonly next?: {
    readonly policy: string;
    readonly ratio: number;
    readonly verdict: Verdict;
  };
}

/** Whether a difference is more than chance; unknown where too few requests were done to tell. */
type Verdict = "beyond noise" | "within noise" | "too few requests to tell";

/** The policy with the lowest p90 at each load that has a figure. */
export function lowestP90(
  model: ModelResult,
): { load: string; winner: Winner }[] {
  return loadsOf(model).flatMap((load) => {
    const [first, second] = model.points
      .filter(({ loadName, metrics }) =>
        loadName === load && Number.isFinite(metrics.latency.p90Ns)
      )
      .sort((a, b) => a.metrics.latency.p90Ns - b.metrics.latency.p90Ns);
    if (first === undefined) return [];
    const value = first.metrics.latency.p90Ns;
    return [{
      load,
      winner: {
        policy: first.policy,
        value,
        ...(second && {
          next: {
            policy: second.policy,
            ratio: second.metrics.latency.p90Ns / value,
            verdict: verdict([first, second], isBeyondNoise(first, second)),
          },
        }),
      },
    }];
  });
}

/** The policy with the highest peak, in requests per second. */
export function highestPeak(
  { peaksPerS, points }: ModelResult,
): Winner | undefined {
  const [first, second] = Object.entries(peaksPerS)
    .filter(([, perS]) => Number.isFinite(perS))
    .sort(([, a], [, b]) => b - a);
  if (first === undefined) return undefined;
  const [policy, value] = first;
  if (second === undefined) return { policy, value };
  const ratio = value / second[1];
  // Peaks are of as many requests as points.
  return {
    policy,
    value,
    next: {
      ...{ policy: second[0], ratio },
      verdict: verdict(points, ratio > 1 + NOISE),
    },
  };
}

function isBeyondNoise(better: BenchPoint, worse: BenchPoint): boolean {
  const [a, b] = [better, worse].map(p90OfPartsNs);
  return a.every((ns, k) => ns < b[k]) &&
    worse.metrics.latency.p90Ns > (1 + NOISE) * better.metrics.latency.p90Ns;
}

function verdict(
  points: readonly BenchPoint[],
  isBeyond: boolean,
): Verdict {
  if (!points.every(hasEnough)) return "too few requests to tell";
  return isBeyond ? "beyond noise" : "within noise";
}

function hasEnough({ metrics }: BenchPoint): boolean {
  return metrics.requests.done >= REQUESTS_LEAST;
}

/** The model's winners in one sentence. */
export function modelConclusion(model: ModelResult): string {
  const winners = lowestP90(model);
  const peak = highestPeak(model);
  const parts = [
    winners.length === 0
      ? "No request was answered"
      : `Lowest p90: ${
        inWords(winners.map(({ load, winner }) =>
          `${winner.policy} at ${load} load (${
            against(`${formatMs(winner.value)} ms`, winner)
          })`
        ))
      }`,
    ...(peak === undefined ? [] : [
      `highest peak: ${peak.policy} (${
        against(`${formatNumber(peak.value)} requests/s`, peak)
      })`,
    ]),
  ];
  return `${parts.join("; ")}.`;
}

/** The winners over all models in one sentence. */
export function overallConclusion(models: readonly ModelResult[]): string {
  if (models.length === 1) return modelConclusion(models[0]);
  const byLoad = new Map<string, Winner[]>();
  for (const { load, winner } of models.flatMap(lowestP90)) {
    byLoad.set(load, [...byLoad.get(load) ?? [], winner]);
  }
  const peaks = models.flatMap((model) => highestPeak(model) ?? []);
  const parts = [
    byLoad.size === 0
      ? "No request was answered"
      : `Over ${models.length} models, the lowest p90 at ${
        inWords(
          [...byLoad].map(([load, winners]) =>
            `${load} load is ${tally(winners)}`
          ),
        )
      }`,
    ...(peaks.length === 0 ? [] : [`the highest peak is ${tally(peaks)}`]),
  ];
  return `${parts.join("; ")}.`;
}

/** How often each policy won, how often beyond noise, and by how much. */
function tally(winners: readonly Winner[]): string {
  const byPolicy = new Map<string, Winner[]>();
  for (const winner of winners) {
    byPolicy.set(winner.policy, [
      ...byPolicy.get(winner.policy) ?? [],
      winner,
    ]);
  }
  const sorted = [...byPolicy].sort(([, a], [, b]) => b.length - a.length);
  return inWords(sorted.map(([policy, won]) => {
    const ratios = won.flatMap(({ next }) => next?.ratio ?? []);
    const beyond = won.filter(({ next }) =>
      next?.verdict === "beyond noise"
    ).length;
    const margin = ratios.length === 0
      ? ""
      : ` (the next ${range(ratios)} behind, beyond noise on ${beyond})`;
    return `${policy}'s on ${won.length}${margin}`;
  }));
}

function against(figure: string, { next }: Winner): string {
  if (next === undefined) return `${figure}, alone`;
  const { policy, ratio, verdict } = next;
  return `${figure}, ${formatRatio(ratio)} ahead of ${policy}, ${verdict}`;
}

function range(ratios: readonly number[]): string {
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(
    formatRatio,
  );
  return least === most ? least : `${least} to ${most}`;
}

function inWords(parts: readonly string[]): string {
  return parts.length < 2
    ? parts.join()
    : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
}
