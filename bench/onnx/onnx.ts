/**
 * Files beside onnxruntime-web: the same file, the same inputs, in one process, in turns, one thread each.
 *
 * Run: deno task bench:onnx PATH... [--policy cellular] [--in-flight 64] [--quick] [--json]
 *
 * Our side is a `ServingEngine` with one worker, a request at a time and many in flight. The peer's is a session run
 * request by request, and by whole batches where the file's batch axis is free.
 */
import { cpus } from "node:os";
import process from "node:process";
import { taskSettings } from "../../src/cli/options.ts";
import { EXIT, print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { renderLegend, renderTable } from "../../src/report/table.ts";
import { loadOrtWeb, ORT_VERSION } from "../kernels/peers/ort.ts";
import { type FileResult, measureFile } from "./measure.ts";
import { onnxSettings } from "./settings.ts";
import { filesTable, refusals } from "./table.ts";

const PATHS_MAX = 1000;

const HELP = `bench:onnx PATH... [options]

ONNX files, as loadOnnx cuts and the engine batches them, beside onnxruntime-web (which is installed when it is missing)
on the same inputs: seeded, of the shapes that the files declare. Results are compared first. Exit code 1 when a file
has no figures: one side refuses it, or they disagree.

  PATH              a file; a folder is searched for *.onnx
  --policy NAME     ${Object.keys(POLICIES).join(", ")}
                    (default cellular)
  --in-flight N     requests at once (default 64)
  --batch N         requests of a batch at most (default as in flight)
  --size NAME=N     of an axis that files leave open; a batch axis in front is 1; again for further ones
  --max-id N        inputs of integers are below it (default 100)
  --rounds N        rounds, in each of which everybody runs once (default 5)
  --quick           2 shorter rounds
  --seed N          of the inputs (default 1)
  --json            the figures as JSON
`;

const { json, ...settings } = taskSettings({
  name: "bench:onnx",
  help: HELP,
  positionalsMax: PATHS_MAX,
  options: {
    policy: { type: "string" },
    "in-flight": { type: "string" },
    batch: { type: "string" },
    size: { type: "string", multiple: true },
    "max-id": { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
  },
}, ({ values, positionals }) => ({
  json: values.json,
  ...onnxSettings(values, positionals),
}));

const ort = await loadOrtWeb();
const results: FileResult[] = [];
for (const file of settings.files) {
  progress(file.name);
  const result = await measureFile(file, settings, ort);
  if ("refused" in result) progress(`${file.path}: ${result.refused}`);
  results.push(result);
}

const { policy, inFlight, batchMax, rounds, seed } = settings;
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  runtime: `Deno ${process.versions["deno"]}, V8 ${process.versions.v8}`,
  peer: `onnxruntime-web ${ORT_VERSION}`,
};
if (json) {
  const setting = { policy, inFlight, batchMax, rounds, seed, machine };
  print(JSON.stringify({ ...setting, results }, null, 2));
} else {
  const table = filesTable(results, inFlight);
  print(
    `${machine.cpu}, ${machine.cores} cores; ${machine.runtime}; ${machine.peer}; one thread each, ${policy}, batches of ${batchMax}, ${rounds} rounds, seed ${seed}\n`,
  );
  print(renderTable(table, { color: stdoutColor() }));
  print(renderLegend([table]));
  for (const line of refusals(results)) print(line);
}
process.exit(refusals(results).length > 0 ? EXIT.failure : EXIT.success);
