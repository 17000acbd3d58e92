/**
 * What the default size of cells rests on (src/onnx/operator_time.ts): how fast kernels of each kind are on one row,
 * and what a cell more adds to a request.
 *
 * Run: deno task bench:cuts PATH... [--json]
 */
import { cpus } from "node:os";
import process from "node:process";
import { batchCurves, profileTable } from "../../src/cli/batch_curve.ts";
import { BenchRun, withExecutor } from "../../src/cli/bench_run.ts";
import { benchSettings } from "../../src/cli/bench_settings.ts";
import { builtFile } from "../../src/cli/onnx_built.ts";
import { taskSettings } from "../../src/cli/options.ts";
import { EXIT, print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { estimatedNs, workKind } from "../../src/onnx/operator_time.ts";
import type { OnnxCellModel } from "../../src/onnx/model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { Prng } from "../../src/base/prng.ts";
import { percentile } from "../../src/base/statistics.ts";
import { renderTable } from "../../src/report/table.ts";
import { filesOf } from "./files.ts";
import { timePerRequest } from "./timing.ts";

const NAME = "bench:cuts";
const WARM_ROUNDS = 8;
const ROUNDS = 8;
const ROUND_MS = 80;
const SLOT_BYTES = 2 ** 28;
/** Cells below it are left out of rates: half of their time is the task's. */
const NS_MIN = 5000;

const { paths, json } = taskSettings({
  name: NAME,
  help: `${NAME} PATH... [options]

Times of the cells of ONNX files on one row, each layer a cell of its own, beside what src/onnx/operator_time.ts takes
them for; and of requests one by one, the whole file a cell against each layer, on a worker thread.

  PATH              a file; a folder is searched for *.onnx
  --json            the figures as JSON
`,
  positionalsMax: 1000,
  options: { json: { type: "boolean", default: false } },
}, ({ values, positionals }) => ({
  json: values.json,
  paths: filesOf(positionals),
}));

const settings = {
  ...benchSettings(["--seed=1", "--workers", "1"])!,
  requests: 3,
};

interface Timed {
  kind: string;
  measuredNs: number;
  estimatedNs: number;
}

/** Cells of a file with their times; the kind is that of the operator that takes most. */
async function timedCells(path: string): Promise<Timed[]> {
  const built = await builtFile(NAME, path, { cells: "layer" }, 1);
  const curves = await withExecutor(built, settings, async (executor) => {
    const run = new BenchRun(built, executor, settings);
    for (let i = 0; i < WARM_ROUNDS; i++) await run.peak("serial");
    return batchCurves(built.model, executor, built.inputs, [1], 1);
  });
  const table = profileTable(curves);
  return built.model.cells.flatMap((cell: Cell) => {
    const measuredNs = table[cell.name]?.[0]?.[1];
    if (measuredNs === undefined) return [];
    const timed = cell.operators.map((operator) => ({
      kind: workKind(operator),
      ns: estimatedNs(operator),
    }));
    const most = timed.reduce((a, b) => b.ns > a.ns ? b : a);
    const total = timed.reduce((sum, { ns }) => sum + ns, 0);
    return [{ kind: most.kind, measuredNs, estimatedNs: total }];
  });
}

/** Microseconds that a cell more adds to a request that is alone; undefined where a layer is all. */
async function launchUs(path: string): Promise<number | undefined> {
  const sides = await Promise.all(
    (["layer", "model"] as const).map(async (cells) => {
      const { model, inputs } = await builtFile(NAME, path, { cells }, 1);
      const { input } = inputs.next(new Prng(1));
      const engine = await ServingEngine.create({
        models: [model],
        policy: cellular(),
        workers: 1,
        slotBytes: SLOT_BYTES,
      });
      return { model: model as OnnxCellModel, engine, input, timesMs: [0] };
    }),
  );
  try {
    for (const side of sides) side.timesMs = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const { engine, model, input, timesMs } of sides) {
        timesMs.push(
          await timePerRequest(
            () => engine.run(model, input as never),
            { lanes: 1, leastMs: ROUND_MS },
          ),
        );
      }
    }
  } finally {
    for (const { engine } of sides) await engine.close();
  }
  const [layers, whole] = sides;
  const more = layers.model.cells.length - whole.model.cells.length;
  const best = (timesMs: number[]) => Math.min(...timesMs.slice(1));
  return more === 0
    ? undefined
    : (best(layers.timesMs) - best(whole.timesMs)) * 1000 / more;
}

const files = [];
for (const { name, path } of paths) {
  progress(name);
  const cells = await timedCells(path);
  files.push({ name, cells, launchUs: await launchUs(path) });
}

const kinds = Map.groupBy(
  files.flatMap(({ cells }) => cells),
  ({ kind }) => kind,
);
const about = [...kinds].map(([kind, cells]) => {
  const ratios = cells.filter(({ measuredNs }) => measuredNs >= NS_MIN)
    .map(({ measuredNs, estimatedNs }) => measuredNs / estimatedNs)
    .sort((a, b) => a - b);
  const quantile = (share: number) =>
    ratios.length === 0 ? undefined : percentile(ratios, share);
  return {
    ...{ kind, cells: cells.length, timed: ratios.length },
    ...{ low: quantile(0.1), median: quantile(0.5), high: quantile(0.9) },
  };
});
const sum = (
  cells: readonly Timed[],
  of: "measuredNs" | "estimatedNs",
) => cells.reduce((total, cell) => total + cell[of], 0);
const whole = files.map(({ name, cells, launchUs }) => ({
  ...{ name, cells: cells.length, launchUs },
  measuredUs: sum(cells, "measuredNs") / 1000,
  estimatedUs: sum(cells, "estimatedNs") / 1000,
}));
if (json) print(JSON.stringify({ kinds: about, files: whole }, null, 2));
else {
  const number = (value: number | undefined, digits = 2) => ({
    text: value === undefined ? "-" : value.toFixed(digits),
  });
  const right = (title: string) => ({ title, align: "right" as const });
  print(
    `${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores; Deno ${
      process.versions["deno"]
    }; one row at a time\n`,
  );
  print(renderTable({
    columns: [
      { title: "kind" },
      ...["cells", "timed", "over estimate p10", "median", "p90"].map(right),
    ],
    rows: about.map(({ kind, cells, timed, low, median, high }) => [
      { text: kind },
      ...[number(cells, 0), number(timed, 0)],
      ...[low, median, high].map((value) => number(value)),
    ]),
  }, { color: stdoutColor() }));
  print(renderTable({
    columns: [
      { title: "file" },
      ...["layers", "us", "estimated us", "a cell more, us"].map(right),
    ],
    rows: whole.map(({ name, cells, measuredUs, estimatedUs, launchUs }) => [
      { text: name },
      ...[number(cells, 0), number(measuredUs, 0), number(estimatedUs, 0)],
      number(launchUs, 1),
    ]),
  }, { color: stdoutColor() }));
}
process.exit(EXIT.success);
