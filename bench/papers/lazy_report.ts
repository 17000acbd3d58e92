/** Prints what bench/papers/lazybatching.ts found, beside the published figures. */
import { mean } from "../../src/base/statistics.ts";
import type { Facts } from "./lazy_facts.ts";
import type { Network } from "./lazy_networks.ts";
import { percent, row } from "../reproduce/simulation.ts";

/** What a set of runs came to, averaged over them. */
export interface Point {
  readonly rate: number;
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly perS: number;
  readonly workUs: number;
  readonly utilisation: number;
  readonly rowsSeen: number;
  /** Share of requests at which slack refused to batch. */
  readonly refused: number;
}

export interface PolicyResult {
  readonly policy: string;
  readonly points: readonly Point[];
  /** Share of requests over the SLA at 1000/s, by SLA. */
  readonly violations: readonly { slaMs: number; share: number }[];
}

export interface VariantResult {
  readonly variant: string;
  readonly points: readonly Point[];
}

export interface NetworkResult {
  readonly facts: Facts;
  readonly policies: readonly PolicyResult[];
  readonly variants: readonly VariantResult[];
}

export function printNetwork(
  { name, workload, published, decTimesteps }: Network,
  { facts, policies, variants }: NetworkResult,
): void {
  console.log(
    `\n${name}${workload && `, ${workload}, dec_timesteps ${decTimesteps}`}: ${
      facts.aloneMs.toFixed(2)
    } ms alone (published ${published.aloneMs}), Algorithm 1 estimates ${
      facts.estimateMs.toFixed(2)
    } ms, so Eq. 2 allows ${facts.rowsBy100Ms} rows within 100 ms`,
  );
  const rates = policies[0].points.map(({ rate }) => `${rate}/s`);
  row("mean latency, ms", rates);
  for (const { policy, points } of policies) {
    row(policy, points.map(({ meanMs }) => meanMs.toFixed(2)));
  }
  row("99th percentile, ms", rates);
  for (const { policy, points } of policies) {
    row(policy, points.map(({ p99Ms }) => p99Ms.toFixed(1)));
  }
  row("throughput, requests/s", rates);
  for (const { policy, points } of policies) {
    row(policy, points.map(({ perS }) => perS.toFixed(0)));
  }
  printGains(policies, published);
  row("violations at 1000/s", [20, 40, 60, 80, 100].map((ms) => `${ms} ms`));
  for (const { policy, violations } of policies) {
    row(policy, violations.map(({ share }) => percent(share)));
  }
  console.log(`(published: LazyB has none down to ${published.slaMs} ms)`);
  printVariants(variants);
}

function printGains(
  policies: readonly PolicyResult[],
  { latency, throughput }: Network["published"],
): void {
  const lazyB = policies[0];
  const windows = policies.filter(({ policy }) => policy.startsWith("GraphB"));
  const gains = windows.map(({ points }) =>
    points.map(({ meanMs }, r) => meanMs / lazyB.points[r].meanMs)
  );
  const rates = lazyB.points.map((_, r) => r);
  const best = rates.map((r) => Math.min(...gains.map((gain) => gain[r])));
  const all = rates.map((r) => mean(gains.map((gain) => gain[r])));
  row("best window / LazyB", best.map((x) => `${x.toFixed(2)}x`));
  row("mean window / LazyB", all.map((x) => `${x.toFixed(1)}x`));
  const perS = rates.map((r) =>
    lazyB.points[r].perS /
    Math.max(...windows.map(({ points }) => points[r].perS))
  );
  row("LazyB / best window, req/s", perS.map((x) => `${x.toFixed(2)}x`));
  const overall = gains.map(mean);
  const most = overall.indexOf(Math.min(...overall));
  console.log(
    `over these rates: latency ${
      overall[most].toFixed(1)
    }x of LazyB's with the best window overall (${windows[most].policy}), ${
      mean(best).toFixed(1)
    }x with the best of each rate, ${
      mean(overall).toFixed(1)
    }x with the mean window (published ${latency}x against the best, 15x against the mean over three networks); throughput ${
      mean(perS).toFixed(2)
    }x (published ${throughput}x)`,
  );
}

function printVariants(variants: readonly VariantResult[]): void {
  row(
    "one rule at a time",
    variants[0].points.map(({ rate }) => `${rate}/s`),
    30,
  );
  for (const { variant, points } of variants) {
    row(
      variant,
      points.map(({ meanMs, workUs, rowsSeen, refused }) =>
        `${meanMs.toFixed(1)} ms ${workUs.toFixed(0)} us ${
          rowsSeen.toFixed(1)
        } ${percent(refused, 0)}`
      ),
      30,
    );
  }
  console.log(
    "(mean latency, device time per request, rows of the batch that a row is in, refusals per request)",
  );
}
