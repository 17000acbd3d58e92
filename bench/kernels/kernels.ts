/**
 * Every kernel of the registry against its peers in one process, one thread, interleaved,
 * beside the register-only probes; results are compared before anything is timed. Peers:
 * onnxruntime-web and tfjs-wasm, in Node onnxruntime-node too.
 *
 * Run: deno task bench:kernels [--json] [--quick] [--only=<text>] [--size=<text>]
 *        [--peers=<names>] [--rounds=9] [--runs=3] [--plot=file.html]
 *      deno task bench:kernels --curve [--batches=1,2,4] [--weights=512,8192] [--threads=2]
 *      deno task bench:kernels:node, with the same options, in Node
 *
 * A run times every contestant once a round and takes the best; the figure is the median of
 * the runs' ratios. --only takes what has the text in its area or kernel, --size in its size
 * ("m=1 n=512"). --curve measures rates over the rows of a batch instead, beside their bound.
 */
import { cpus } from "node:os";
import process from "node:process";
import { checkWritable, writeText } from "../../src/cli/files.ts";
import { ROUNDS_MAX } from "../../src/cli/limits.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { renderTable } from "../../src/report/table.ts";
import { chooseBuild, supports } from "../../src/kernels/module/features.ts";
import { describe } from "../../src/base/describe.ts";
import { contest, type Result } from "./contest.ts";
import { type Curve, type CurveBuild, measureCurves } from "./curve/measure.ts";
import { type CurveOptions, curveOptions } from "./curve/options.ts";
import { curveHead, curveSummary, curveTable } from "./curve/table.ts";
import { Own } from "./own.ts";
import { ortNode, ortWeb } from "./peers/ort.ts";
import type { Peer } from "./peers/peer.ts";
import { tfjsWasm } from "./peers/tfjs.ts";
import { plotPage } from "./plot_page.ts";
import { geometricMeans, meanLines, resultLine } from "./print.ts";
import { measurePeaks } from "./probes.ts";
import { candidates } from "./task.ts";
import { SETTLE_MS, startTeamBuild } from "./team_build.ts";
import { tellOnInterrupt } from "../tell_on_interrupt.ts";

const SEED = 1;
const MEGABYTES = 192;
const ROUND_NS = 1e7;
const QUICK_ROUND_NS = 2e6;

const HELP = `bench:kernels [options]

Every kernel against its peers in one process, one thread, interleaved.

  --quick           shorter rounds, 3 of them
  --only TEXT       what has the text in its area or kernel
  --size TEXT       what has the text in its size, e.g. "m=1 n=512"
  --peers NAMES     comma-separated (default all there are); "" for none
  --rounds N        rounds of a run, of which the best counts (default 9)
  --runs N          runs, of which the median counts (default 3)
  --plot FILE.html  roofline, and curves
  --json            the figures as JSON

Rates over the rows of a batch, with their bound:

  --curve           instead of the registry's sizes; peer: onnxruntime-web
  --batches ROWS    comma-separated (default 1 to 64)
  --weights KIB     sizes of the weights, comma-separated (default 512,8192,32768)
  --threads N       on one thread and on N (default 1), onnxruntime-web on N
`;

const runtime = "deno" in process.versions
  ? `Deno ${process.versions["deno"]}`
  : "bun" in process.versions
  ? `Bun ${process.versions["bun"]}`
  : `Node ${process.versions.node}`;
const AVAILABLE: Record<string, (threads: number) => Peer | Promise<Peer>> = {
  "onnxruntime-web": ortWeb,
  "tfjs-wasm": tfjsWasm,
  ...(runtime.startsWith("Node") && { "onnxruntime-node": ortNode }),
};
/** Peers of curves. */
const CURVE_PEERS = ["onnxruntime-web"];

const { args, effort, chosenPeers, curve } = taskSettings({
  name: "bench:kernels",
  help: HELP,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    runs: { type: "string" },
    only: { type: "string", default: "" },
    size: { type: "string", default: "" },
    peers: { type: "string" },
    plot: { type: "string" },
    curve: { type: "boolean", default: false },
    batches: { type: "string" },
    weights: { type: "string" },
    threads: { type: "string" },
  },
}, ({ values }) => {
  const range = { min: 1, max: ROUNDS_MAX };
  const curve = curveOptions(values);
  if (curve !== undefined && curve.threads > 1 && !runtime.startsWith("Deno")) {
    throw new UsageError("More threads than one are measured in Deno");
  }
  const known = Object.keys(AVAILABLE).filter((name) =>
    curve === undefined || CURVE_PEERS.includes(name)
  );
  const chosenPeers = values.peers?.split(",").filter((name) => name !== "") ??
    known;
  for (const name of chosenPeers) {
    if (!known.includes(name)) {
      throw new UsageError(
        `No peer ${describe(name)} in ${runtime}; there are ${
          known.join(", ")
        }`,
      );
    }
  }
  if (values.plot !== undefined) checkWritable(values.plot);
  return {
    args: values,
    curve,
    effort: {
      runs: integerOption("runs", values.runs, 3, range),
      rounds: integerOption(
        "rounds",
        values.rounds,
        values.quick ? 3 : 9,
        range,
      ),
      // Between rounds other threads settle, and ours fall asleep.
      roundNs: values.quick && !(curve && curve.threads > 1)
        ? QUICK_ROUND_NS
        : ROUND_NS,
    },
    chosenPeers,
  };
});
const threads = curve?.threads ?? 1;
const peers: Peer[] = [];
for (const name of chosenPeers) peers.push(await AVAILABLE[name](threads));
const relaxed = supports("relaxed-simd");
const peaks = await measurePeaks(relaxed);
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  runtime: `${runtime}, V8 ${process.versions.v8}`,
  peers: peers.map(({ name, version }) => `${name} ${version}`),
  threads,
  ...peaks,
};
const results: Result[] = [];
const curves: Curve[] = [];
/** Of the builds that take part. */
let variants: Record<string, number> = {};
tellOnInterrupt(tell);
if (curve === undefined) await timeRegistry();
else await timeCurves(curve);
await tell();
process.exit(0);

/** Prints, and writes, what was measured until now. */
async function tell(): Promise<void> {
  if (args.plot !== undefined) {
    const { cpu, runtime } = machine;
    const facts = { cpu, runtime, peers: machine.peers.join(", "), threads };
    const page = { machine: facts, peaks, results, curves };
    writeText(args.plot, await plotPage(page));
  }
  if (args.json) {
    const measured = curve === undefined
      ? { results, means: geometricMeans(results) }
      : { curves };
    const setting = {
      ...{ seed: SEED, ...effort },
      machine: { ...machine, variants },
    };
    console.log(JSON.stringify({ ...setting, ...measured }, null, 2));
    return;
  }
  printHead();
  if (curve === undefined) printRegistry();
  else printCurves();
}

async function timeRegistry(): Promise<void> {
  const builds = [
    chooseBuild().file,
    ...relaxed ? [chooseBuild({ relaxed }).file] : [],
  ]
    .map((file) => Own.load(file, MEGABYTES));
  variants = variantsOf(builds);
  const all = candidates(SEED);
  for (const [i, { area, name, make }] of all.entries()) {
    if (!`${area} ${name}`.includes(args.only)) continue;
    const task = make();
    if (!task.label.includes(args.size)) continue;
    process.stderr.write(`${i + 1}/${all.length} ${area}: ${task.label}\n`);
    results.push(await contest(task, builds, peers, effort));
  }
  if (results.length === 0) {
    throw new UsageError(
      `Nothing to time has ${describe(args.only)} in its name and ${
        describe(args.size)
      } in its size`,
    );
  }
}

async function timeCurves(
  { kinds, rows, weights, threads }: CurveOptions,
): Promise<void> {
  const name = "deterministic";
  const team = threads > 1
    ? await startTeamBuild(chooseBuild({ threads: true }).file, {
      ...{ name, threads, megabytes: MEGABYTES },
    })
    : undefined;
  const builds: CurveBuild[] = team === undefined
    ? [{ own: Own.load(chooseBuild().file, MEGABYTES), threads }]
    : [{ own: team.one, threads: 1 }, { own: team.many, threads }];
  variants = variantsOf(builds.map(({ own }) => own));
  for (const kind of kinds) {
    curves.push(
      ...await measureCurves(kind, {
        ...{ builds, peers, rows, weights, peaks },
        seed: SEED,
        effort: { ...effort, ...(threads > 1 && { settleMs: SETTLE_MS }) },
        onPoint: (label) => process.stderr.write(`${label}\n`),
      }),
    );
  }
  await team?.team.close();
}

function variantsOf(builds: readonly Own[]): Record<string, number> {
  return Object.fromEntries(
    builds.map(({ name, variants }) => [name, variants]),
  );
}

function printHead(): void {
  console.log(
    `${machine.cpu}; ${machine.runtime}; ${
      machine.peers.map((peer) => `${peer}; `).join("")
    }${threads === 1 ? "one thread" : `${threads} threads`}; variants ${
      Object.entries(variants).map(([name, bits]) => `${name} ${bits}`)
        .join(", ")
    }; seed ${SEED}; ` +
      `medians of ${effort.runs} runs, best of ${effort.rounds} rounds each`,
  );
}

/** A line of the machine's probes. */
function probeLine(): string {
  const probes = Object.entries(peaks)
    .map(([name, rate]) => `${name} ${rate.toFixed(1)}`);
  return `probes: ${probes.join(", ")}`;
}

function printRegistry(): void {
  console.log(probeLine());
  if (peers.length > 0) {
    console.log(
      `in brackets: our rate over ${machine.peers.join("'s, over ")}'s`,
    );
  }
  console.log("");
  for (const result of results) console.log(resultLine(result));
  if (peers.length === 0) return;
  console.log("\ngeometric means of our rates over a peer's");
  for (const line of meanLines(results)) console.log(line);
}

function printCurves(): void {
  console.log(
    "bound: the weights read once and the arithmetic at the kernel's own best rate, or at the probe's, one after the other",
  );
  for (const curve of curves) {
    console.log(`\n${curveHead(curve).join("\n")}\n  ${probeLine()}\n`);
    console.log(renderTable(curveTable(curve), { color: false }));
    for (const line of curveSummary(curve)) console.log(line);
  }
}
