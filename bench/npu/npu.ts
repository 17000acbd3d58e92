/**
 * Speed of the NPU model, one thread, beside SCALE-Sim's: `deno task bench:npu`.
 * SCALE-Sim v3.0.0 took 128 s and 729 MB for ResNet-50 at 128x128, ws (Python 3.11, 2-core VM).
 */
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { Bench } from "tinybench";
import { taskSettings } from "../../src/cli/options.ts";
import { closedForm } from "../../src/npu/closed_form.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import { preset } from "../../src/npu/presets.ts";
import { calcReport } from "../../src/npu/scalesim/report.ts";
import { parseTopology } from "../../src/npu/scalesim/topology_csv.ts";
import {
  type ArrayDtype,
  loadRegisterArray,
} from "../../src/npu/register/register_array.ts";
import { gemmInRowFolds, randomOperands } from "../../test/npu/gemm_oracle.ts";
import { csvRows, layerOf, machineOf } from "../../test/npu/reference.ts";
import { COMPUTE_ROWS } from "../../test/npu/scalesim_rows.ts";

taskSettings({
  name: "bench:npu",
  help: `bench:npu

Speed of the NPU model, one thread.
`,
  options: {},
}, () => undefined);

const SEED = 1;
const ARRAY = { rows: 128, cols: 128 };
const url = (path: string) => new URL(path, import.meta.url);
const topology = parseTopology(
  readFileSync(url("../../examples/npu/resnet50.csv"), "utf8"),
  "resnet50.csv",
);
const tables = url("../../../shared/reference/scalesim/compute.csv");
const rows = csvRows(
  existsSync(tables) ? readFileSync(tables, "utf8") : COMPUTE_ROWS,
);
const cases = rows.map((row) => ({
  layer: layerOf(row),
  machine: machineOf(row),
}));

console.log(
  `${
    os.cpus()[0].model
  }, ${os.cpus().length} cores; Deno ${Deno.version.deno}; seed ${SEED}`,
);

const bench = new Bench({ time: 1_000, warmupTime: 500 });
const layers = resnet50();
const cached = createNpu(preset("lazybatching"));
let sink = 0;
bench
  .add(
    `closed form, ${topology.length} layers of ResNet-50, memory ideal`,
    () => {
      for (const { gemm } of topology) {
        sink += closedForm(gemm, ARRAY, { dataflow: "ws", mode: "overlapped" })
          .totalCycles;
      }
    },
  )
  .add(
    `with memory and tiling search, ${layers.length} layers, nothing cached`,
    () => {
      sink += createNpu(preset("lazybatching")).network(layers).cycles;
    },
  )
  .add(`with memory, ${layers.length} layers, cached`, () => {
    sink += cached.network(layers).cycles;
  })
  .add(`SCALE-Sim's CALC report, ${cases.length} rows`, () => {
    for (const { layer, machine } of cases) {
      sink += calcReport(layer, machine).totalCycles;
    }
  });
await bench.run();
for (const task of bench.tasks) {
  const { result } = task;
  if ("latency" in result) {
    console.log(
      `${task.name}: median ${result.latency.p50.toFixed(3)} ms, best ${
        result.latency.min.toFixed(3)
      } ms`,
    );
  }
}

const array = loadRegisterArray(readFileSync(url("../../build/shoal.wasm")));
for (
  const [dataflow, mode, dtype] of [
    ["ws", "causal", "f32"],
    ["ws", "overlapped", "f32"],
    ["os", "causal", "f32"],
    ["ws", "causal", "int8"],
  ] as const
) runRegisterLevel({ dataflow, mode, dtype });
if (!Number.isFinite(sink)) throw new Error("no result");

/** All of ResNet-50 through the registers; the smallest layer is compared with GEMM in full. */
function runRegisterLevel(
  options: {
    dataflow: "ws" | "os";
    mode: "causal" | "overlapped";
    dtype: ArrayDtype;
  },
): void {
  let ms = 0;
  let cycles = 0;
  for (const { gemm, name } of topology) {
    const operands = randomOperands(gemm, options.dtype, SEED);
    const start = performance.now();
    const run = array.run(gemm, operands, ARRAY, options);
    ms += performance.now() - start;
    cycles += run.cycles;
    if (run.cycles !== closedForm(gemm, ARRAY, options).totalCycles) {
      throw new Error(
        `${name}: ${run.cycles} cycles differ from the closed form`,
      );
    }
    if (name === "fc") {
      const want = gemmInRowFolds(
        gemm,
        operands,
        options.dataflow === "os" ? gemm.k : ARRAY.rows,
      );
      if (run.values.some((value, i) => value !== want[i])) {
        throw new Error(`${name}: values differ`);
      }
    }
  }
  const rss = process.memoryUsage().rss / 1e6;
  console.log(
    `register level, ResNet-50, 128x128, ${options.dataflow} ${options.mode} ${options.dtype}: ` +
      `${(ms / 1000).toFixed(2)} s for ${cycles} cycles (${
        (cycles / ms).toFixed(0)
      }k cycles/s), ` +
      `${rss.toFixed(0)} MB resident`,
  );
}
