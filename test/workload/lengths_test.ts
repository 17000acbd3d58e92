import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import { Histogram, JointHistogram } from "../../src/workload/histogram.ts";
import { inputGenerator } from "../../src/workload/inputs.ts";
import {
  clippedLengths,
  CORPORA,
  fixedLengths,
  lengthSampler,
  TASKS,
} from "../../src/workload/lengths.ts";
import { dataFolder } from "./data_folder.ts";
import {
  CORPUS_FILES,
  lengthFacts,
  readPairs,
  readTaskTokens,
  TASK_FILES,
} from "./derive_histograms.ts";

const SIDES = ["source", "target"] as const;

function expand(counts: string, side: 0 | 1): number[] {
  const lengths: number[] = [];
  for (const entry of new JointHistogram(counts).entries()) {
    for (let i = 0; i < entry[2]; i++) lengths.push(entry[side]);
  }
  return lengths;
}

Deno.test("the embedded corpora have the published number of pairs, means and percentiles", () => {
  // Figures of the data sets' description: pairs, then mean / p99 / max of source and target.
  const published: Record<string, number[]> = {
    "europarl-v7.de-en": [4189, 24.27, 64, 80, 26.51, 70, 80],
    "wmt15.en-de": [9999, 22.51, 48, 50, 21.4, 47, 50],
    "multi30k.en-de": [30014, 13.02, 25, 40, 12.45, 25, 44],
    "wmt21-mt.en-de": [14938, 18.05, 48, 134, 18.4, 50, 138],
  };
  deepEqual(Object.keys(CORPORA), Object.keys(published));
  for (const [name, corpus] of Object.entries(CORPORA)) {
    const facts = SIDES.map((_, side) =>
      lengthFacts(expand(corpus.counts, side as 0 | 1))
    );
    deepEqual(
      [
        new JointHistogram(corpus.counts).total,
        ...facts.flatMap(Object.values),
      ],
      published[name],
      name,
    );
    deepEqual([corpus.pairs, corpus.source, corpus.target], [
      published[name][0],
      ...facts,
    ], name);
  }
});

Deno.test("lengthSampler() draws each corpus's lengths: mean within 2 %, p99 within 3 tokens", () => {
  for (const [name, corpus] of Object.entries(CORPORA)) {
    const prng = new Prng(11);
    const sampler = lengthSampler(name);
    const drawn = Array.from({ length: 20_000 }, () => sampler.sample(prng));
    for (const side of SIDES) {
      const lengths = ascending(drawn.map((pair) => pair[side]));
      ok(
        Math.abs(mean(lengths) / corpus[side].mean - 1) < 0.02,
        `${name} ${side}: mean ${mean(lengths)}`,
      );
      const p99 = percentile(lengths, 0.99);
      ok(Math.abs(p99 - corpus[side].p99) <= 3, `${name} ${side}: p99 ${p99}`);
    }
  }
});

Deno.test("lengthSampler() keeps source and target of a pair together", () => {
  for (const name of Object.keys(CORPORA)) {
    const prng = new Prng(3);
    const sampler = lengthSampler(name);
    const pairs = Array.from({ length: 5000 }, () => sampler.sample(prng));
    const [a, b] = SIDES.map((side) =>
      mean(pairs.map((pair) => pair[side]))
    ) as [number, number];
    const covariance = mean(
      pairs.map((pair) => (pair.source - a) * (pair.target - b)),
    );
    const deviation = (side: "source" | "target", m: number) =>
      Math.sqrt(mean(pairs.map((pair) => (pair[side] - m) ** 2)));
    const correlation = covariance /
      (deviation("source", a) * deviation("target", b));
    ok(correlation > 0.75, `${name}: correlation ${correlation}`);
  }
});

Deno.test("the embedded tasks have the published number of examples, means and percentiles", () => {
  // Figures of the data set's description: examples, then mean / p99 / max of BERT's input tokens.
  const published: Record<string, number[]> = {
    "glue.rte": [2490, 70.2, 197, 289],
    "glue.sst-2": [60614, 13.31, 44, 66],
    "glue.mrpc": [3668, 53.24, 83, 103],
    "glue.cola": [8551, 11.33, 25, 47],
  };
  deepEqual(Object.keys(TASKS), Object.keys(published));
  for (const [name, { examples, tokens, counts }] of Object.entries(TASKS)) {
    const all = [...new Histogram(counts).entries()].flatMap((
      [length, count],
    ) => new Array<number>(count).fill(length));
    const facts = lengthFacts(all);
    deepEqual([all.length, ...Object.values(facts)], published[name], name);
    deepEqual([examples, tokens], [all.length, facts], name);
    const prng = new Prng(7);
    const sampler = lengthSampler(name);
    const drawn = Array.from(
      { length: 20_000 },
      () => sampler.sample(prng).source,
    );
    ok(Math.abs(mean(drawn) / tokens.mean - 1) < 0.03, name);
    const short = clippedLengths(name, 64);
    ok(short.alone && short.sample(prng).source <= 64);
  }
});

Deno.test("texts without a translation are no workload of pairs", () => {
  const options = { vocabulary: 9, lengths: "glue.rte" };
  const { input } = inputGenerator({ kind: "tokens", ...options })
    .next(new Prng(1));
  ok((input as { tokens: number[] }).tokens.length > 0);
  throws(
    () => inputGenerator({ kind: "seq2seq", ...options }),
    /Lengths "glue.rte" are of texts without a translation/,
  );
});

Deno.test("fixedLengths() has no variance", () => {
  deepEqual(fixedLengths(24).sample(new Prng(1)), { source: 24, target: 24 });
  deepEqual(lengthSampler({ fixed: 24 }).sample(new Prng(1)), {
    source: 24,
    target: 24,
  });
});

Deno.test("clippedLengths() leaves longer pairs out and changes nothing else", () => {
  const clipped = clippedLengths("europarl-v7.de-en", 50);
  const kept = expandPairs("europarl-v7.de-en").filter(([source, target]) =>
    source <= 50 && target <= 50
  );
  const prng = new Prng(2);
  const drawn = Array.from({ length: 20_000 }, () => clipped.sample(prng));
  ok(drawn.every(({ source, target }) => source <= 50 && target <= 50));
  const expected = mean(kept.map(([, target]) => target));
  ok(Math.abs(mean(drawn.map(({ target }) => target)) / expected - 1) < 0.02);
  const atMax = drawn.filter(({ target }) => target === 50).length /
    drawn.length;
  ok(atMax < 0.02, `${atMax} of the sentences are at the maximum`);
});

function expandPairs(name: string): [number, number][] {
  const pairs: [number, number][] = [];
  for (
    const [a, b, count] of new JointHistogram(CORPORA[name].counts).entries()
  ) {
    for (let i = 0; i < count; i++) pairs.push([a, b]);
  }
  return pairs;
}

Deno.test("lengthSampler() names what a configuration got wrong", () => {
  throws(
    () => lengthSampler("europarl"),
    /No corpus "europarl"; there are europarl-v7.de-en/,
  );
  throws(() => lengthSampler("toString"), /No corpus "toString"/);
  throws(
    () => lengthSampler({ fixed: 0 }),
    /positive integer of tokens up to 65536, got 0/,
  );
  throws(
    () => lengthSampler({ corpus: "multi30k.en-de", max: 1 }),
    /no pair of at most 1/,
  );
  throws(
    () => lengthSampler({ corpus: "multi30k.en-de", maximum: 9 } as never),
    /keys corpus, maximum/,
  );
  throws(() => lengthSampler(24 as never), /got 24/);
});

Deno.test("the embedded corpora are what the data sets count", () => {
  const data = dataFolder("corpora against their data sets");
  if (data === undefined) return;
  for (const { csv, meta } of CORPUS_FILES) {
    const corpus = CORPORA[meta.name];
    equal(
      corpus.counts.trim(),
      JointHistogram.encode(readPairs(data, csv)),
      meta.name,
    );
    equal(corpus.origin, meta.origin);
  }
  for (const { csv, meta } of TASK_FILES) {
    const { counts, origin } = TASKS[meta.name];
    const counted = new Map(new Histogram(counts).entries());
    const expected = new Map<number, number>();
    for (const n of readTaskTokens(data, csv)) {
      expected.set(n, (expected.get(n) ?? 0) + 1);
    }
    deepEqual(counted, new Map([...expected].sort(([a], [b]) => a - b)));
    equal(origin, meta.origin);
  }
});
