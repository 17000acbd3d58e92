/**
 * Kernels on several threads against the same kernels on one and onnxruntime-web on as many, in one
 * process, interleaved; results are compared before anything is timed, and their bits among our own.
 *
 * Run: deno task bench:threads [--threads=2] [--only=<text>] [--size=<text>] [--alone] [--json]
 *        [--rounds=9] [--runs=3]
 * --alone leaves the peer out.
 *
 * A run times every contestant once a round and takes the best; ratios are medians over the runs. Every
 * thread needs a core to itself: what else runs here comes off the figures. CPU says how many cores this
 * process had while our side and the peer ran.
 */
import { cpus } from "node:os";
import process from "node:process";
import { describe } from "../../src/base/describe.ts";
import { ROUNDS_MAX, threadsMax } from "../../src/cli/limits.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { UsageError } from "../../src/cli/terminal.ts";
import { chooseBuild, supports } from "../../src/kernels/module/features.ts";
import { median } from "../median.ts";
import { contest, type Result } from "./contest.ts";
import { ortWeb } from "./peers/ort.ts";
import type { Peer } from "./peers/peer.ts";
import { digits } from "./print.ts";
import { candidates } from "./task.ts";
import { SETTLE_MS, startTeamBuild, type TeamBuild } from "./team_build.ts";

const SEED = 1;
const MEGABYTES = 192;
const ROUND_NS = 1e7;
const CORES_MS = 100;

const HELP = `bench:threads [options]

Kernels on several threads against the same on one and onnxruntime-web on as many.

  --threads N       threads (default 2)
  --only TEXT       what has the text in its area or kernel (default gemm_f32)
  --size TEXT       what has the text in its size, e.g. "m=1 n=512"
  --alone           without the peer
  --rounds N        rounds of a run, of which the best counts (default 9)
  --runs N          runs, of which the median counts (default 3)
  --json            the figures as JSON
`;

const { threads, rounds, runs, ...args } = taskSettings({
  name: "bench:threads",
  help: HELP,
  options: {
    threads: { type: "string" },
    only: { type: "string", default: "gemm_f32" },
    size: { type: "string", default: "" },
    rounds: { type: "string" },
    runs: { type: "string" },
    alone: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => {
  const range = { min: 1, max: ROUNDS_MAX };
  return {
    ...values,
    threads: integerOption("threads", values.threads, 2, {
      min: 1,
      max: threadsMax(),
    }),
    rounds: integerOption("rounds", values.rounds, 9, range),
    runs: integerOption("runs", values.runs, 3, range),
  };
});

/** Cores that a contestant keeps busy, over a tenth of a second. */
async function coresOf(run: () => void | Promise<void>): Promise<number> {
  const startMs = performance.now();
  const before = process.cpuUsage();
  while (performance.now() - startMs < CORES_MS) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - startMs);
}

/** The peer; what it kept busy is measured when it is done with. */
function watched(peer: Peer, onCores: (cores: number) => void): Peer {
  return {
    ...peer,
    name: `${peer.name}, ${threads}`,
    async prepare(operation) {
      const run = await peer.prepare(operation);
      return run && {
        ...run,
        async release() {
          onCores(await coresOf(() => run.run()));
          await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
          await run.release();
        },
      };
    },
  };
}

const start = (file: string, name: string): Promise<TeamBuild> =>
  startTeamBuild(file, { name, threads, megabytes: MEGABYTES });
const builds = [
  await start(chooseBuild({ threads: true }).file, "deterministic"),
];
if (supports("relaxed-simd")) {
  builds.push(await start("shoal.relaxed-shared.wasm", "relaxed"));
}
let peerCores = 0;
const peers = args.alone
  ? []
  : [watched(await ortWeb(threads), (cores) => peerCores = cores)];

/** A task's figures on several threads. */
interface ThreadsResult extends Result {
  /** By build: its rate over that of its one thread, medians of the runs. */
  scaling: Record<string, number>;
  /** Cores kept busy. */
  cores: Record<string, number>;
}

const results: ThreadsResult[] = [];
for (const { area, name, make } of candidates(SEED)) {
  if (!`${area} ${name}`.includes(args.only)) continue;
  const task = make();
  if (!task.label.includes(args.size)) continue;
  process.stderr.write(`${area}: ${task.label}\n`);
  const own = builds.flatMap(({ one, many }) => [one, many]);
  const result = await contest(task, own, peers, {
    rounds,
    runs,
    roundNs: ROUND_NS,
    settleMs: SETTLE_MS,
  });
  const scaling: Record<string, number> = {};
  const cores: Record<string, number> = Object.fromEntries(
    peers.map(({ name }) => [name, peerCores]),
  );
  for (const { one, many } of builds) {
    if (result.hashes[one.name] !== result.hashes[many.name]) {
      throw new Error(`${task.label}: ${many.name} gives other bits`);
    }
    scaling[many.name] = median(
      result.timesNs[one.name].map((ns, run) =>
        ns / result.timesNs[many.name][run]
      ),
    );
    cores[many.name] = await coresOf(task.own(many).run);
  }
  results.push({ ...result, scaling, cores });
}
for (const { team } of builds) await team.close();
if (results.length === 0) {
  throw new UsageError(
    `Nothing to time has ${describe(args.only)} in its name and ${
      describe(args.size)
    } in its size`,
  );
}

const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  runtime: `Deno ${process.versions["deno"]}, V8 ${process.versions.v8}`,
  peers: peers.map(({ version }) => `onnxruntime-web ${version}`),
  threads,
};
if (args.json) {
  const effort = { seed: SEED, rounds, runs };
  console.log(JSON.stringify({ ...effort, machine, results }, null, 2));
} else {
  console.log(
    `${machine.cpu}, ${machine.cores} cores; ${
      [machine.runtime, ...machine.peers].join("; ")
    }; seed ${SEED}; ` +
      `medians of ${runs} runs, best of ${rounds} rounds each\n` +
      `rates; over one thread; ${
        args.alone ? "" : `over onnxruntime-web on ${threads}; `
      }cores kept busy`,
  );
  for (const { label, unit, rates, ratios, scaling, cores } of results) {
    console.log(`\n${label}, ${unit}`);
    for (const [name, rate] of Object.entries(rates)) {
      const figures = [rate.toFixed(digits(rate)).padStart(7)];
      if (name in scaling) {
        figures.push(
          `${scaling[name].toFixed(2)}x`,
          ...Object.values(ratios).map((by) => `${by[name].toFixed(2)}x`),
        );
      }
      if (name in cores) figures.push(`${cores[name].toFixed(2)} cores`);
      console.log(`  ${name.padEnd(20)} ${figures.join("  ")}`);
    }
  }
}
process.exit(0);
