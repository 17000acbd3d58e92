/** LazyBatching's experiments: worked examples to the digit, data that is what it says, points as data. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Verdict } from "../../../bench/reproduce/claim.ts";
import { verdictOf } from "../../../bench/reproduce/claim.ts";
import type {
  Context,
  Experiment,
  Json,
} from "../../../bench/reproduce/experiment.ts";
import { CLAIMS } from "../../../bench/reproduce/lazybatching/claims.ts";
import { gainsOf } from "../../../bench/reproduce/lazybatching/evaluation.ts";
import { EXPERIMENTS } from "../../../bench/reproduce/lazybatching/experiments.ts";
import {
  graphB,
  LAZYB,
} from "../../../bench/reproduce/lazybatching/policies.ts";
import {
  type Run,
  runsOf,
} from "../../../bench/reproduce/lazybatching/runs.ts";
import { WORD_LENGTHS } from "../../../bench/reproduce/lazybatching/word_lengths.ts";
import { canonical } from "../../../bench/reproduce/run/point_cache.ts";
import { outcomeProblems } from "../../../bench/reproduce/run/judge.ts";
import { Histogram } from "../../../src/workload/histogram.ts";
import { dataFolder } from "../../workload/data_folder.ts";

/** Computes every point, and keeps the keys. */
function contextOf(): Context & { readonly keys: string[] } {
  const keys: string[] = [];
  return {
    seed: 1,
    runs: 1,
    quick: true,
    full: false,
    keys,
    async point<T extends Json>(
      key: Readonly<Record<string, Json>>,
      compute: () => T | Promise<T>,
    ) {
      keys.push(canonical(key));
      const value = await compute();
      canonical(value);
      return value;
    },
  };
}

function experiment(id: string): Experiment {
  const found = EXPERIMENTS.find((one) => one.id === `lazybatching.${id}`);
  ok(found, id);
  return found;
}

/** Verdicts of an experiment's claims; nothing may be wrong with what it found. */
async function verdicts(id: string): Promise<Record<string, Verdict>> {
  const one = experiment(id);
  const outcome = await one.run(contextOf());
  deepEqual(outcomeProblems(one, outcome, CLAIMS), []);
  return Object.fromEntries(
    outcome.findings.map((finding) => [
      finding.claim,
      verdictOf(CLAIMS.find(({ id }) => id === finding.claim)!, finding),
    ]),
  );
}

for (const id of ["fig4", "fig6", "fig7", "fig8", "fig10"]) {
  Deno.test(`LazyBatching's ${id} comes out to the digit`, async () => {
    const found = Object.values(await verdicts(id));
    ok(found.length > 0);
    for (const verdict of found) equal(verdict, "to the digit");
  });
}

Deno.test("a decision of LazyBatching executes as many blocks, whatever runs", async () => {
  deepEqual(await verdicts("decisions"), { "LB-26": "to the digit" });
});

Deno.test("lengths of words are those of the published size", async () => {
  deepEqual(await verdicts("fig11"), {
    "LB-11": "same direction and size",
    "LB-12": "same direction and size",
  });
});

Deno.test("histograms of words are those of the data", () => {
  const data = dataFolder("words of sentences");
  if (data === undefined) return;
  for (const { csv, english, german } of Object.values(WORD_LENGTHS)) {
    const lines = readFileSync(`${data}/sentence-lengths/${csv}`, "utf8")
      .trim().split("\n").slice(1).map((line) => line.split(",").map(Number));
    for (const [column, text] of [[1, english], [3, german]] as const) {
      const counts = new Map<number, number>();
      for (const { [column]: words } of lines) {
        if (words > 0) counts.set(words, (counts.get(words) ?? 0) + 1);
      }
      equal(
        new Histogram(text).total,
        [...counts.values()].reduce((a, b) => a + b),
      );
      equal(text.trim().split(/\s+/).join(" "), Histogram.encode(counts));
    }
  }
});

Deno.test("a run's key tells policies, rates, devices and targets apart", async () => {
  const context = contextOf();
  const spec = {
    network: "resnet50",
    device: { kind: "npu" },
    policy: LAZYB,
    ratePerS: 100,
  } as const;
  const [run] = await runsOf(context, spec);
  const others = [
    { ...spec, policy: graphB(5) },
    { ...spec, ratePerS: 200 },
    { ...spec, device: { kind: "npu", slower: 2 } },
    { ...spec, slaMs: 20 },
    { ...spec, policy: { kind: "lazy", options: { nestedPreemption: false } } },
  ] as const;
  for (const other of others) await runsOf(context, other);
  equal(new Set(context.keys).size, 1 + others.length);
  // The same key gives the same value.
  deepEqual((await runsOf(context, spec))[0], run);
});

Deno.test("gains are over the window that is best over all rates", () => {
  const run = (meanMs: number, perS: number) =>
    [{ meanMs, perS } as Run] as const;
  const gains = gainsOf(
    {
      network: "resnet50",
      device: { kind: "npu" },
      rates: [1, 2],
      byPolicy: new Map([
        ["LazyB", [run(1, 10), run(2, 20)]],
        ["GraphB(5)", [run(4, 10), run(4, 20)]],
        ["GraphB(25)", [run(2, 5), run(8, 20)]],
      ]),
    },
    "latency",
    ["GraphB(5)", "GraphB(25)"],
  );
  deepEqual(gains, {
    byWindow: [3, 3],
    best: 3,
    bestWindow: "GraphB(5)",
    bestOfEach: 2,
    byRate: [2, 2],
    average: 3,
  });
});
