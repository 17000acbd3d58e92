/**
 * How long the kernels take from nothing to full speed. Every line is measured in processes of its own:
 * compiling and instantiating the module, the first call, and how long after its beginning a call
 * begins that has nine tenths of the speed they end with; as they come, and after `warmUp`.
 *
 * Run: deno task bench:startup [--processes=5] [--json]
 */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ROUNDS_MAX } from "../../src/cli/limits.ts";
import { integerOption, taskSettings } from "../../src/cli/options.ts";
import { warmUp } from "../../src/engine/wall/warm_up.ts";
import { fixMemory } from "../../src/kernels/module/fixed_memory.ts";
import { createMemory, PAGE_BYTES } from "../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import type { KernelName } from "../../src/kernels/spec/signature.ts";
import { median } from "../median.ts";
import { Own } from "./own.ts";
import { ROOT } from "./root.ts";
import { candidates, type Task } from "./task.ts";

const SEED = 1;
const FILE = "shoal.wasm";
const MEGABYTES = 64;
/** Long enough for the slowest compiler to be through. */
const WATCH_MS = 400;
const FULL_SPEED = 0.9;

/** What is started: a kernel and the beginning of a size it is timed at. */
const SUBJECTS: readonly { kernel: KernelName; label: string }[] = [
  { kernel: "gemm_f32", label: "m=1 n=512" },
  { kernel: "gemm_f32", label: "m=16 n=512" },
  { kernel: "gemm_f32", label: "m=64 n=512" },
  { kernel: "lstm_step_f32", label: "m=4 " },
  { kernel: "conv_f32", label: "m=1 14x14x256-256 3x3" },
  { kernel: "softmax_rows_f32", label: "m=64" },
];

/** Milliseconds of one start. */
interface Start {
  label: string;
  warmUp: number;
  compile: number;
  instantiate: number;
  firstCall: number;
  steadyCall: number;
  fullSpeed: number;
}

/** Measures one start in this process, which has done nothing else. */
async function measureStart(subject: number, warm: boolean): Promise<Start> {
  const { kernel, label } = SUBJECTS[subject];
  const bytes = new Uint8Array(readFileSync(new URL(`build/${FILE}`, ROOT)));
  const task = taskOf(kernel, label);
  const memoryBytes = MEGABYTES * 2 ** 20;
  const beforeMs = performance.now();
  if (warm) {
    await warmUp(bytes, { shared: false, memoryBytes, kernels: [kernel] });
  }
  const startMs = performance.now();
  const module = new WebAssembly.Module(
    fixMemory(bytes, memoryBytes / PAGE_BYTES),
  );
  const compiledMs = performance.now();
  const memory = createMemory({ bytes: memoryBytes });
  const kernels = instantiateKernels(module, { memory });
  const instantiatedMs = performance.now();
  const scratch = kernels.shoal_static_end();
  kernels.shoal_use_scratch(scratch, 0);
  const base = scratch + kernels.shoal_scratch_bytes(0);
  const { run } = task.own(new Own(FILE, memory, kernels, base));
  const calls: { fromMs: number; ms: number }[] = [];
  const firstMs = performance.now();
  for (let nowMs = firstMs; nowMs - firstMs < WATCH_MS;) {
    run();
    const endMs = performance.now();
    calls.push({ fromMs: nowMs - firstMs, ms: endMs - nowMs });
    nowMs = endMs;
  }
  const steadyCall = median(
    calls.slice(calls.length >> 1).map(({ ms }) => ms),
  );
  const full = calls.find(({ ms }) => ms * FULL_SPEED <= steadyCall);
  return {
    label: task.label,
    warmUp: startMs - beforeMs,
    compile: compiledMs - startMs,
    instantiate: instantiatedMs - compiledMs,
    firstCall: calls[0].ms,
    steadyCall,
    fullSpeed: full?.fromMs ?? Infinity,
  };
}

function taskOf(kernel: KernelName, label: string): Task {
  for (const { name, make } of candidates(SEED)) {
    if (name !== kernel) continue;
    const task = make();
    if (task.label.startsWith(`${kernel} ${label}`)) return task;
  }
  throw new Error(`Nothing is timed at ${kernel} ${label}`);
}

/** The same in a process of its own. */
function startElsewhere(subject: number, warm: boolean): Start {
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    "run",
    "-A",
    fileURLToPath(import.meta.url),
    `--subject=${subject}`,
    ...warm ? ["--warm"] : [],
  ], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Start;
}

const HELP = `bench:startup [options]

How long the kernels take from nothing to full speed, in processes of their own.

  --processes N     processes per figure, of which the median counts (default 5)
  --json            the figures as JSON
`;

const { processes, subject, ...args } = taskSettings({
  name: "bench:startup",
  help: HELP,
  options: {
    processes: { type: "string" },
    json: { type: "boolean", default: false },
    subject: { type: "string" },
    warm: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  ...values,
  processes: integerOption("processes", values.processes, 5, {
    min: 1,
    max: ROUNDS_MAX,
  }),
  /** What the processes of this one measure. */
  subject: integerOption("subject", values.subject, -1, {
    max: SUBJECTS.length - 1,
  }),
}));
if (subject >= 0) {
  const start = await measureStart(subject, args.warm);
  console.log(JSON.stringify(start));
  process.exit(0);
}
const results = SUBJECTS.flatMap((_, subject) =>
  [false, true].map((warm) => {
    const starts = Array.from({ length: processes }, (_, i) => {
      process.stderr.write(
        `${SUBJECTS[subject].kernel} ${SUBJECTS[subject].label}${
          warm ? " after warm-up" : ""
        }: ${i + 1}/${processes}\r`,
      );
      return startElsewhere(subject, warm);
    });
    process.stderr.write("\n");
    const of = (name: Exclude<keyof Start, "label">) =>
      median(starts.map((start) => start[name]));
    return {
      label: starts[0].label,
      warm,
      warmUp: of("warmUp"),
      compile: of("compile"),
      instantiate: of("instantiate"),
      firstCall: of("firstCall"),
      steadyCall: of("steadyCall"),
      fullSpeed: of("fullSpeed"),
    };
  })
);
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  runtime: `Deno ${process.versions["deno"]}, V8 ${process.versions.v8}`,
  bytes: statSync(new URL(`build/${FILE}`, ROOT)).size,
};
if (args.json) {
  console.log(
    JSON.stringify({ seed: SEED, processes, machine, results }, null, 2),
  );
} else {
  console.log(
    `${machine.cpu}; ${machine.runtime}; ${FILE}, ${machine.bytes} bytes; medians of ${processes} processes; ms`,
  );
  for (const { label, warm, ...ms } of results) {
    console.log(`\n${label}${warm ? ", after warm-up" : ""}`);
    for (const [name, value] of Object.entries(ms)) {
      if (value > 0 || name === "fullSpeed") {
        console.log(`  ${name.padEnd(12)} ${value.toFixed(2)}`);
      }
    }
  }
}
