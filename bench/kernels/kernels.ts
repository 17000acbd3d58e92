/**
 * Every kernel of the registry against its peers in one process, one thread, interleaved,
 * beside the register-only probes; results are compared before anything is timed. Peers:
 * onnxruntime-web and tfjs-wasm, in Node onnxruntime-node too.
 *
 * Run: deno task bench:kernels [--json] [--quick] [--only=<text>] [--size=<text>]
 *        [--peers=<names>] [--rounds=9] [--runs=3] [--plot=file.html]
 *      deno task bench:kernels:node, with the same options, in Node
 *
 * A run times every contestant once a round and takes the best; the figure is the median of
 * the runs' ratios. --only takes what has the text in its area or kernel, --size in its size
 * ("m=1 n=512").
 */
import { cpus } from "node:os";
import process from "node:process";
import { checkWritable, writeText } from "../../src/cli/files.ts";
import { ROUNDS_MAX } from "../../src/cli/limits.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { chooseBuild, supports } from "../../src/kernels/module/features.ts";
import { describe } from "../../src/base/describe.ts";
import { contest, type Result } from "./contest.ts";
import { Own } from "./own.ts";
import { ortNode, ortWeb } from "./peers/ort.ts";
import type { Peer } from "./peers/peer.ts";
import { tfjsWasm } from "./peers/tfjs.ts";
import { geometricMeans, meanLines, resultLine } from "./print.ts";
import { measurePeaks } from "./probes.ts";
import { roofline } from "./roofline.ts";
import { candidates } from "./task.ts";

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
  --plot FILE.html  roofline
  --json            the figures as JSON
`;

const runtime = "deno" in process.versions
  ? `Deno ${process.versions["deno"]}`
  : "bun" in process.versions
  ? `Bun ${process.versions["bun"]}`
  : `Node ${process.versions.node}`;
const AVAILABLE: Record<string, () => Peer | Promise<Peer>> = {
  "onnxruntime-web": () => ortWeb(),
  "tfjs-wasm": tfjsWasm,
  ...(runtime.startsWith("Node") && { "onnxruntime-node": ortNode }),
};

const { args, effort, chosenPeers } = taskSettings({
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
  },
}, ({ values }) => {
  const range = { min: 1, max: ROUNDS_MAX };
  const chosenPeers = values.peers?.split(",").filter((name) => name !== "") ??
    Object.keys(AVAILABLE);
  for (const name of chosenPeers) {
    if (!Object.hasOwn(AVAILABLE, name)) {
      throw new UsageError(
        `No peer ${describe(name)} in ${runtime}; there are ${
          Object.keys(AVAILABLE).join(", ")
        }`,
      );
    }
  }
  if (values.plot !== undefined) checkWritable(values.plot);
  return {
    args: values,
    effort: {
      runs: integerOption("runs", values.runs, 3, range),
      rounds: integerOption(
        "rounds",
        values.rounds,
        values.quick ? 3 : 9,
        range,
      ),
      roundNs: values.quick ? QUICK_ROUND_NS : ROUND_NS,
    },
    chosenPeers,
  };
});
const peers: Peer[] = [];
for (const name of chosenPeers) peers.push(await AVAILABLE[name]());
const relaxed = supports("relaxed-simd");
const peaks = await measurePeaks(relaxed);
const builds = [
  chooseBuild().file,
  ...relaxed ? [chooseBuild({ relaxed }).file] : [],
]
  .map((file) => Own.load(file, MEGABYTES));

const results: Result[] = [];
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
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  runtime: `${runtime}, V8 ${process.versions.v8}`,
  peers: peers.map(({ name, version }) => `${name} ${version}`),
  threads: 1,
  variants: Object.fromEntries(
    builds.map(({ name, variants }) => [name, variants]),
  ),
  ...peaks,
};
if (args.plot !== undefined) writeText(args.plot, roofline(results, peaks));
if (args.json) {
  const means = geometricMeans(results);
  console.log(
    JSON.stringify({ seed: SEED, ...effort, machine, results, means }, null, 2),
  );
} else {
  const probes = Object.entries(peaks)
    .map(([name, rate]) => `${name} ${rate.toFixed(1)}`);
  console.log(
    `${machine.cpu}; ${machine.runtime}; ${
      machine.peers.join(", ")
    }; one thread; variants ${
      builds.map(({ name, variants }) => `${name} ${variants}`).join(", ")
    }; seed ${SEED}; ` +
      `medians of ${effort.runs} runs, best of ${effort.rounds} rounds each`,
  );
  console.log(`probes: ${probes.join(", ")}`);
  console.log(
    `in brackets: our rate over ${machine.peers.join("'s, over ")}'s\n`,
  );
  for (const result of results) console.log(resultLine(result));
  console.log("\ngeometric means of our rates over a peer's");
  for (const line of meanLines(results)) console.log(line);
}
process.exit(0);
