/**
 * How many live streams this machine carries with no frame late, in real time, beside ONNX Runtime on the same files.
 *
 * Run: deno task bench:streams [--dtln model_1.onnx --dtln model_2.onnx] [--silero FILE] [--policy cellular] [--json]
 */
import { cpus } from "node:os";
import process from "node:process";
import { makeFolder, writeText } from "../../src/cli/files.ts";
import { namesOption, taskSettings } from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { renderLegend, renderTable } from "../../src/report/table.ts";
import { ORT_VERSION } from "../kernels/peers/ort.ts";
import { tellOnInterrupt } from "../tell_on_interrupt.ts";
import { measureStreams, type ModelStreams } from "./measure.ts";
import { subjectMakers } from "./models.ts";
import { streamsPage } from "./page.ts";
import { streamPeers } from "./peers/runtimes.ts";
import { streamSettings } from "./settings.ts";
import {
  batchesTable,
  carriedTable,
  overheadTable,
  peersTable,
  simulatedTable,
  soakTable,
} from "./table.ts";

const HELP = `bench:streams [options]

Streams that this machine carries with 99.9 % of their frames within a period, found from an estimate by growing steps
and bisecting in trials of 2 s (99 % there) and lessened until a trial ten times as long carries them; CPU time of a
frame; loads on virtual time. Peers (onnxruntime-web and -node, installed when they are missing) run the files under the
same load, with a session for each stream and with one for all.

  --dtln FILE       model_1.onnx of the denoiser; given again, model_2.onnx
  --silero FILE     the detector of 16 kHz
  --int8            both with weights of int8 as well, quantised here, by the names dtln-int8 and silero-int8
  --model NAMES     comma-separated; dtln, silero, lstm-64, lstm-128, lstm-256, gru-64, gru-128, gru-256
                    (default: all that there are)
  --policy NAMES    ${Object.keys(POLICIES).join(", ")}
                    (default cellular; "all" for every one)
  --workers N,N     threads that compute besides the engine's own; 0: that one does (default 0,1)
  --batch N         frames of a batch at most (default 64)
  --quick           shorter trials, fewer streams on virtual time
  --simulated N,N   streams on virtual time (default 100,1000,10000,100000; 0: none)
  --soak MINUTES    run the first policy on the first number of workers at 0.8 of what it carries, watching memory
  --out DIR         write a report there
  --seed N          of frames and phases (default 1)
  --json            the figures as JSON
`;

const { json, ...settings } = taskSettings({
  name: "bench:streams",
  help: HELP,
  options: {
    dtln: { type: "string", multiple: true },
    silero: { type: "string" },
    model: { type: "string" },
    policy: { type: "string" },
    workers: { type: "string" },
    batch: { type: "string" },
    seed: { type: "string" },
    out: { type: "string" },
    simulated: { type: "string" },
    soak: { type: "string" },
    int8: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => {
  const settings = streamSettings(values);
  const makers = subjectMakers(settings.files, settings.seed);
  const names = namesOption("model", settings.models, Object.keys(makers));
  return { json: values.json, ...settings, makers, names };
});

const { makers, names, out } = settings;
const peers = await streamPeers();
const models: ModelStreams[] = [];
tellOnInterrupt(tell);
for (const name of names) {
  models.push(await measureStreams(await makers[name](), settings, peers));
}
await tell();
process.exit(0);

/** Prints, and writes, what was measured until now. */
async function tell(): Promise<void> {
  const { policies, workers, batchSizeMax, seconds, confirmSeconds, seed } =
    settings;
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    runtime: `Deno ${process.versions["deno"]}, V8 ${process.versions.v8}`,
    trial: `${seconds} s, the last ${confirmSeconds} s`,
    batch: batchSizeMax,
    peers: `onnxruntime ${ORT_VERSION}`,
    seed,
  };
  const tables = {
    "Streams carried": carriedTable(models),
    "ONNX Runtime": peersTable(models),
    "The engine's thread": overheadTable(models),
    "Batches and memory": batchesTable(models),
    ...(settings.simulated.length > 0 &&
      { "On virtual time": simulatedTable(models) }),
    ...(settings.soakMinutes > 0 && { "At 0.8": soakTable(models) }),
  };
  if (out !== undefined) {
    makeFolder(out);
    const path = `${out}/streams.html`;
    writeText(path, await streamsPage({ machine, models, tables }));
    progress(`report: ${path}`);
  }
  if (json) {
    print(JSON.stringify({ machine, policies, workers, models }, null, 2));
    return;
  }
  print(
    `${machine.cpu}, ${machine.cores} cores; ${machine.runtime}; trials of ${seconds} s, the last of ${confirmSeconds} s, batches of ${batchSizeMax}, seed ${seed}\n`,
  );
  const all = Object.values(tables);
  for (const table of all) print(renderTable(table, { color: stdoutColor() }));
  print(renderLegend(all));
}
