/**
 * Kernels against onnxruntime-web in one process, one thread, interleaved, beside the
 * register-only probes; results are compared before anything is timed.
 *
 * Run: deno task bench:kernels [--json] [--rounds=9] [--runs=3] [--only=<text>] [--plot=file.html]
 *
 * A run times every contestant once a round and takes the best; the figure is the median of
 * the runs' ratios.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { fnv1a } from "../../src/base/hash.ts";
import { Prng } from "../../src/base/prng.ts";
import { supports } from "../../src/kernels/module.ts";
import { encodeLayer } from "./encoder.ts";
import { convolution, DEPTHWISE, RESNET50 } from "./images.ts";
import { matmul, q8 } from "./matrices.ts";
import { encodeModel } from "./onnx_model.ts";
import { createSession, loadOrtWeb, ORT_WEB_VERSION } from "./ort_web.ts";
import { Own } from "./own.ts";
import { measurePeaks } from "./probes.ts";
import { roofline } from "./roofline.ts";
import { elementwise } from "./rows.ts";
import { bestTimesNs } from "./timing.ts";
import type { Workload } from "./workload.ts";

const SEED = 1;
const MEGABYTES = 192;
const ROUND_NS = 1e7;

function workloads(prng: Prng): Workload[] {
  const list: Workload[] = [];
  for (const [n, k] of [[512, 512], [4096, 2048]] as const) {
    for (const m of [1, 4, 16, 64, 512]) list.push(matmul(prng, [m, n, k]));
  }
  for (const m of [1, 4, 16, 64, 256]) list.push(q8(prng, [m, 768, 3072]));
  for (const layer of [...RESNET50, ...DEPTHWISE]) {
    list.push(convolution(prng, layer));
  }
  for (const tokens of [32, 128]) {
    for (const batch of [1, 8]) list.push(encodeLayer(prng, tokens, batch));
  }
  for (const op of ["Exp", "Sigmoid", "Tanh"] as const) {
    list.push(elementwise(prng, op, [16, 4096]));
  }
  list.push(elementwise(prng, "Softmax", [64, 512]));
  return list;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

const { values: args } = parseArgs({
  args: process.argv.slice(2),
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "9" },
    runs: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    plot: { type: "string" },
  },
});
const [rounds, runs] = [Number(args.rounds), Number(args.runs)];
const relaxed = supports("relaxed-simd");
const ort = await loadOrtWeb();
const peaks = await measurePeaks(relaxed);
const builds = ["shoal.wasm", ...relaxed ? ["shoal.relaxed.wasm"] : []]
  .map((file) => new Own(file, MEGABYTES));

const chosen = workloads(new Prng(SEED)).filter(({ area, shape }) =>
  `${area} ${shape}`.includes(args.only)
);
/** One line of the table. */
interface Result {
  area: string;
  shape: string;
  unit: Workload["unit"];
  /** Operations per byte that has to move. */
  intensity: number;
  rates: Record<string, number>;
  /** Ours to the peer, medians of the runs. */
  ratios: Record<string, number>;
  /** FNV-1a of each build's result bits. */
  hashes: Record<string, string>;
}

const results: Result[] = [];
for (const workload of chosen) {
  const { area, shape, operations, unit, bytes } = workload;
  process.stderr.write(`${area}: ${shape}\n`);
  const session = await createSession(ort, encodeModel(workload.peer));
  const feeds = Object.fromEntries(
    Object.entries(workload.feeds).map(([name, { shape, data }]) => [
      name,
      new ort.Tensor("float32", data, shape),
    ]),
  );
  const expected = (await session.run(feeds))[workload.output]!.data;
  const own = builds.map((build) => {
    build.reset();
    return workload.own(build);
  });
  const hashes = own.map(({ run, result }, i) => {
    run();
    const got = result();
    for (let j = 0; j < expected.length; ++j) {
      if (!(Math.abs(got[j]! - expected[j]!) <= workload.tolerance)) {
        throw new Error(
          `${shape}: ${builds[i]!.name} gives ${got[j]} at ${j}, the peer ${
            expected[j]
          }`,
        );
      }
    }
    return fnv1a(Float32Array.from(got)).toString(16).padStart(8, "0");
  });
  const contestants = [
    ...own.map(({ run }) => run),
    async () => void await session.run(feeds),
  ];
  const [probeNs] = await bestTimesNs([own[0]!.run], { rounds: 3 });
  const calls = Math.max(1, Math.round(ROUND_NS / probeNs!));
  const times: number[][] = [];
  for (let run = 0; run < runs; ++run) {
    times.push(await bestTimesNs(contestants, { rounds, calls }));
  }
  const best = contestants.map((_, i) => Math.min(...times.map((t) => t[i]!)));
  const ratios = builds.map((_, i) =>
    median(times.map((t) => t[builds.length]! / t[i]!))
  );
  await session.release();
  results.push({
    area,
    shape,
    unit,
    intensity: operations / bytes,
    rates: Object.fromEntries([
      ...builds.map(({ name }, i) => [name, operations / best[i]!]),
      ["onnxruntime-web", operations / best[builds.length]!],
    ]),
    ratios: Object.fromEntries(
      builds.map(({ name }, i) => [name, ratios[i]!]),
    ),
    hashes: Object.fromEntries(
      builds.map(({ name }, i) => [name, hashes[i]!]),
    ),
  });
}

/** Geometric means of the ratios of each area. */
const means = [...new Set(results.map(({ area }) => area))].map((area) => ({
  area,
  ratios: Object.fromEntries(builds.map(({ name }) => {
    const logs = results.filter((r) => r.area === area)
      .map(({ ratios }) => Math.log(ratios[name]!));
    return [name, Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length)];
  })),
}));
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  runtime: `${navigator.userAgent}, V8 ${process.versions.v8}`,
  peer: `onnxruntime-web ${ORT_WEB_VERSION}`,
  threads: 1,
  ...peaks,
};
if (args.plot !== undefined) writeFileSync(args.plot, roofline(results, peaks));
if (args.json) {
  console.log(
    JSON.stringify(
      { seed: SEED, rounds, runs, machine, results, means },
      null,
      2,
    ),
  );
} else {
  console.log(
    `${machine.cpu}; ${machine.runtime}; ${machine.peer}; one thread; seed ${SEED}; ` +
      `medians of ${runs} runs, best of ${rounds} rounds each`,
  );
  console.log(
    `probes: ${
      Object.entries(peaks).map(([name, rate]) => `${name} ${rate.toFixed(1)}`)
        .join(", ")
    }\n`,
  );
  for (const { area, shape, unit, rates, ratios, hashes } of results) {
    const columns = Object.entries(rates)
      .map(([name, rate]) =>
        `${name} ${rate.toFixed(unit === "G elements/s" ? 2 : 1)}` +
        (name in ratios ? ` (${ratios[name]!.toFixed(2)}x)` : "")
      );
    console.log(
      `${area.padEnd(23)} ${shape.padEnd(26)} ${columns.join("  ")} ${unit}  ${
        hashes["deterministic"]
      }`,
    );
  }
  console.log("\ngeometric means of the ratios to the peer");
  for (const { area, ratios } of means) {
    console.log(
      `${area.padEnd(23)} ${
        Object.entries(ratios).map(([name, r]) => `${name} ${r.toFixed(2)}x`)
          .join("  ")
      }`,
    );
  }
}
