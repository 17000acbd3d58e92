/**
 * `shoal npu`: a network on the modelled NPU. Results go to standard output, everything else to
 * standard error; nothing is printed as a result if any input is bad.
 */
import { describe } from "../base/describe.ts";
import {
  type ArrayShape,
  DATAFLOWS,
  foldGrid,
  type Gemm,
} from "../npu/dataflow.ts";
import { oneOf } from "../npu/checks.ts";
import {
  type NpuConfig,
  NUMBER_FORMATS,
  parseConfigJson,
} from "../npu/config.ts";
import { preset, PRESETS } from "../npu/presets.ts";
import { createNpu } from "../npu/npu.ts";
import { foldTiming, MODES } from "../npu/timing.ts";
import type { LayerSpec } from "../npu/layer_spec.ts";
import { NpuCost } from "../cost/npu_cost.ts";
import { profileCells } from "../cost/profile_cells.ts";
import { typicalExtent } from "../cost/typical_profile.ts";
import { readKernels } from "../engine/wall/runtime.ts";
import type { Cell } from "../graph/cell.ts";
import { CellGraph } from "../graph/cell_graph.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import { MODELS } from "../models/registry.ts";
import { cellLayers } from "../npu/cell_layers.ts";
import { shapesOnly } from "../tensor/weights.ts";
import { resnet50 } from "../npu/networks/resnet50.ts";
import {
  parseConfig,
  type ScaleSimConfig,
} from "../npu/scalesim/config_cfg.ts";
import {
  parseTopology,
  type TopologyLayer,
} from "../npu/scalesim/topology_csv.ts";
import { layerSpecOf, npuConfigOf } from "../npu/scalesim/to_layer.ts";
import { profileModel, saveProfile } from "../npu/profile.ts";
import { loadRegisterArray } from "../npu/register/register_array.ts";
import { wavefrontFrames, wavefrontSvg } from "../npu/chart/wavefront.ts";
import { page } from "../npu/chart/svg.ts";
import { layerChartSvg } from "../npu/chart/layer_chart.ts";
import { rooflineSvg } from "../npu/chart/roofline.ts";
import { checkOutputs, checkWritable, readText, writeText } from "./files.ts";
import {
  ARRAY_MAX,
  DRAWN_MAX,
  LAYERS_MAX,
  NPU_SIZE_MAX,
  OPERAND_WORDS_MAX,
  WALKED_WORDS_MAX,
} from "./limits.ts";
import { zeroElements } from "./onnx_inputs.ts";
import {
  FILE_OPTIONS,
  loadFile,
  ONNX_HELP,
  ONNX_OPTIONS,
} from "./onnx_file.ts";
import { integerOf, integerOption, readOptions } from "./options.ts";
import {
  EXIT,
  print,
  printBeside,
  progress,
  reportError,
  UsageError,
} from "./terminal.ts";
import {
  formatNetwork,
  formatScaleSim,
  type OutputForm,
} from "./npu_output.ts";

const HELP =
  `shoal npu: cycles, traffic and stalls of a network on a systolic array

  shoal npu --topology FILE.csv [--config FILE.cfg|FILE.json | --preset NAME] [options]
  shoal npu --network resnet50 | --model NAME | MODEL.onnx [options]
  shoal npu --wavefront FILE.html [--gemm MxNxK] [--array RxC] [--dataflow D] [--mode M]

  --topology FILE     SCALE-Sim topology (convolution or GEMM form)
  --network NAME      built in: resnet50 (v1.5), resnet50-v1
  --model NAME        the operators of a model's cells, each once: ${
    Object.keys(MODELS).join(", ")
  }
  --tokens N          of a row of such a model, where cells take several or look back (default 32)
  --config FILE       SCALE-Sim .cfg, or JSON over the preset
  --preset NAME       ${Object.keys(PRESETS).join(", ")} (default lazybatching)
  --dataflow D        os, ws, is
  --mode M            overlapped (default of most presets), causal, scalesim
  --format F          ${Object.keys(NUMBER_FORMATS).join(", ")}
  --batch N           images or requests at once (default 1)
  --on-chip           keep results on chip between layers where they fit
  --csv, --json       instead of a table; with the words between array and scratchpads
  --report FILE.html  roofline and per-layer chart
  --profile FILE.json latencies of every layer, or of a model's cells, for batch sizes 1 to 64
  --wavefront FILE    draw a small GEMM crossing the array, from its registers

Of a file, the operators of its cells; what runs in plain TypeScript passes over what it takes and makes once, on the
vector unit:
${ONNX_HELP}
`;

/** Runs the command. Returns the exit code: 0, or 2 for bad input. */
export async function runNpu(args: string[]): Promise<number> {
  try {
    await run(args);
    return EXIT.success;
  } catch (error) {
    // What the model says of input that it cannot take.
    const isCallers = error instanceof RangeError;
    return reportError(
      "shoal",
      isCallers ? new UsageError(error.message) : error,
    );
  }
}

function parse(args: string[]) {
  return readOptions({
    name: "shoal npu",
    help: HELP,
    positionalsMax: 1,
    options: {
      ...ONNX_OPTIONS,
      topology: { type: "string" },
      network: { type: "string" },
      model: { type: "string" },
      tokens: { type: "string" },
      config: { type: "string" },
      preset: { type: "string" },
      dataflow: { type: "string" },
      mode: { type: "string" },
      format: { type: "string" },
      batch: { type: "string" },
      "on-chip": { type: "boolean" },
      csv: { type: "boolean" },
      json: { type: "boolean" },
      report: { type: "string" },
      profile: { type: "string" },
      wavefront: { type: "string" },
      gemm: { type: "string" },
      array: { type: "string" },
    },
  }, args);
}

type Flags = NonNullable<ReturnType<typeof parse>>["values"] & {
  readonly file: string | undefined;
};

async function run(args: string[]): Promise<void> {
  const given = parse(args);
  if (given === undefined) return;
  const flags: Flags = { ...given.values, file: given.positionals[0] };
  if (flags.csv === true && flags.json === true) {
    throw new RangeError("give --csv or --json, not both");
  }
  if (flags.wavefront !== undefined) {
    refuseOptions("--wavefront", flags, (option) => !DRAWN.includes(option));
    checkWritable(flags.wavefront);
    return await drawWavefront(flags, flags.wavefront);
  }
  for (const option of ["gemm", "array"] as const) {
    if (flags[option] === undefined) continue;
    throw new RangeError(
      `--${option} goes with --wavefront only; layers stand in the network, the array in --config or --preset`,
    );
  }
  const { config, topology, file } = flags;
  checkOutputs([flags.report, flags.profile], [config, topology, file]);
  const batch = sizeOption("batch", flags.batch, 1);
  const form: OutputForm = flags.json === true
    ? "json"
    : flags.csv === true
    ? "csv"
    : "table";
  const cfg = flags.config !== undefined && !flags.config.endsWith(".json")
    ? parseConfig(readText(flags.config), flags.config)
    : undefined;
  if (flags.mode === "scalesim") runScaleSim(flags, { batch, form, cfg });
  else await runModel(flags, { batch, form, cfg });
}

/** Options of a drawing. */
const DRAWN: readonly string[] = [
  "wavefront",
  "gemm",
  "array",
  "dataflow",
  "mode",
];
/** Options that change nothing in the tool's reports. */
const NOT_SCALESIM: readonly string[] = [
  "file",
  "network",
  "model",
  "tokens",
  "report",
  "profile",
  "on-chip",
  "format",
  "preset",
  ...FILE_OPTIONS,
];

/** Throws a RangeError naming the first given option that does not go with `what`. */
function refuseOptions(
  what: string,
  flags: Flags,
  isRefused: (option: string) => boolean,
): void {
  for (const [option, value] of Object.entries(flags)) {
    if (value === undefined || !isRefused(option)) continue;
    throw new RangeError(
      `${option === "file" ? value : `--${option}`} does not go with ${what}`,
    );
  }
}

interface Context {
  batch: number;
  form: OutputForm;
  cfg: ScaleSimConfig | undefined;
}

function runScaleSim(flags: Flags, { batch, form, cfg }: Context): void {
  if (cfg === undefined) {
    throw new RangeError("--mode scalesim needs --config FILE.cfg");
  }
  refuseOptions(
    "--mode scalesim",
    flags,
    (option) => NOT_SCALESIM.includes(option),
  );
  const layers = readTopology(flags).map((layer) => {
    if (batch === 1) return layer;
    if (layer.geometry !== undefined) {
      throw new RangeError(
        `${layer.name}: SCALE-Sim has no batch; --batch works for GEMM layers only`,
      );
    }
    return { ...layer, gemm: { ...layer.gemm, m: batch * layer.gemm.m } };
  });
  const dataflow = flags.dataflow === undefined
    ? cfg.dataflow
    : oneOf(flags.dataflow, DATAFLOWS, "--dataflow");
  checkArray(cfg.array);
  checkWalk(layers, { ...cfg, dataflow });
  print(formatScaleSim(layers, { ...cfg, dataflow }, form));
}

async function runModel(
  flags: Flags,
  { batch, form, cfg }: Context,
): Promise<void> {
  const config = machineOf(flags, cfg);
  const { name, layersOf, cells, tokens } = await networkOf(flags);
  const npu = createNpu(config);
  const network = npu.network(layersOf(batch), {
    keepOnChip: flags["on-chip"] === true,
  });
  const output = formatNetwork(network, { config, batch, form });
  if (flags.report !== undefined) {
    const title = `${name} on ${config.name}, batch ${batch}`;
    const charts = [
      "<h2>Roofline</h2>",
      rooflineSvg(network, config),
      "<h2>Layers: cycles per layer (share of the array's peak)</h2>",
      layerChartSvg(network),
    ];
    saveText(flags.report, page(title, charts));
  }
  if (flags.profile !== undefined) {
    const profile = cells === undefined
      ? profileModel(npu, layersOf, { model: name })
      : profileCells(new NpuCost(npu), cells, {
        machine: config.name,
        model: name,
        tokens,
      });
    saveText(flags.profile, saveProfile(profile));
  }
  printBeside([flags.report, flags.profile], output);
}

function machineOf(flags: Flags, cfg: ScaleSimConfig | undefined): NpuConfig {
  const base = preset(flags.preset ?? "lazybatching");
  let config = base;
  if (cfg !== undefined) config = npuConfigOf(cfg, base);
  else if (flags.config !== undefined) {
    config = parseConfigJson(readText(flags.config), {
      file: flags.config,
      base,
    });
  }
  const dataflow = oneOf(
    flags.dataflow ?? config.dataflow,
    DATAFLOWS,
    "--dataflow",
  );
  const mode = oneOf(flags.mode ?? config.mode, MODES, "--mode");
  const formats = Object.keys(
    NUMBER_FORMATS,
  ) as (keyof typeof NUMBER_FORMATS)[];
  const format = oneOf(flags.format ?? config.format, formats, "--format");
  if (mode === "scalesim") {
    throw new RangeError("--mode scalesim needs --config FILE.cfg");
  }
  checkArray(config.array);
  return { ...config, dataflow, mode, format };
}

function checkArray({ rows, cols }: ArrayShape): void {
  if (rows > ARRAY_MAX || cols > ARRAY_MAX) {
    throw new RangeError(
      `An array has up to ${ARRAY_MAX} rows and columns, got ${rows}x${cols}`,
    );
  }
}

/** That following the words of every layer one by one, as SCALE-Sim's reports do, comes to an end. */
function checkWalk(
  layers: readonly TopologyLayer[],
  { array, dataflow }: ScaleSimConfig,
): void {
  let words = 0;
  for (const { name, gemm, geometry } of layers) {
    const { m, n, k } = gemm;
    const map = geometry === undefined
      ? m * k
      : geometry.ifmapH * geometry.ifmapW * geometry.channelsIn;
    if (Math.max(map, k * n, m * n) > OPERAND_WORDS_MAX) {
      throw new RangeError(
        `${name}: an operand of more than ${OPERAND_WORDS_MAX} words is not followed word by word; ` +
          "leave --mode scalesim out",
      );
    }
    const grid = foldGrid(gemm, array, dataflow);
    const { foldCycles } = foldTiming(grid, "scalesim");
    const ports = Math.min(array.rows, grid.sr) + Math.min(array.cols, grid.sc);
    words += grid.folds * foldCycles * ports;
  }
  if (words > WALKED_WORDS_MAX) {
    throw new RangeError(
      `The layers take about ${words} accesses, which would be followed one by one; ` +
        `${WALKED_WORDS_MAX} are the most: take fewer layers, a larger array, or leave --mode scalesim out`,
    );
  }
}

interface Network {
  name: string;
  layersOf(batch: number): LayerSpec[];
  /** Of a model: what its schedulers launch. */
  cells?: readonly Cell[];
  tokens?: number;
}

async function networkOf(flags: Flags): Promise<Network> {
  const { network, topology: path, model, file } = flags;
  const given = [network, path, model, file]
    .filter((flag) => flag !== undefined);
  if (given.length !== 1) {
    throw new RangeError(
      "give one of --topology FILE.csv, --network NAME, --model NAME and MODEL.onnx (see --help)",
    );
  }
  if (file !== undefined) return await fileNetwork(file, flags);
  for (const option of FILE_OPTIONS) {
    if (flags[option] === undefined) continue;
    throw new RangeError(`--${option} goes with MODEL.onnx only`);
  }
  if (flags.tokens !== undefined && flags.model === undefined) {
    throw new RangeError("--tokens goes with --model only");
  }
  if (flags.network !== undefined) {
    const name = oneOf(flags.network, ["resnet50", "resnet50-v1"], "--network");
    const variant = name === "resnet50" ? "v1.5" : "v1";
    return { name, layersOf: (batch) => resnet50(batch, variant) };
  }
  if (flags.model !== undefined) {
    const name = oneOf(flags.model, Object.keys(MODELS), "--model");
    const tokens = sizeOption("tokens", flags.tokens, 32);
    const { cells } = MODELS[name].build({ weights: shapesOnly() });
    return {
      name,
      cells,
      tokens,
      layersOf: (batch) =>
        cells.flatMap((cell) =>
          cellLayers(cell, batch, typicalExtent(cell, { tokens }))
        ),
    };
  }
  const topology = readTopology(flags);
  return {
    name: flags.topology ?? "",
    layersOf: (batch) => topology.map((layer) => layerSpecOf(layer, batch)),
  };
}

async function fileNetwork(path: string, flags: Flags): Promise<Network> {
  if (flags.tokens !== undefined) {
    throw new RangeError("--tokens goes with --model only");
  }
  const model: OnnxCellModel = await loadFile("shoal npu", path, flags);
  const { name, cells, inputs, notes } = model;
  for (const note of notes) progress(note);
  const graph = new CellGraph(model);
  model.unfold(zeroElements(inputs), graph);
  // A request of the greatest length, where that is free.
  const spec = inputs.find(({ free }) => free !== undefined);
  const tokens = spec?.free ? spec.shape[spec.free.axis] : 1;
  return {
    ...{ name, cells, tokens },
    // A cell as often as a request passes through it: the steps of a recurrent layer.
    layersOf(batch) {
      const layers = graph.nodes.flatMap(({ cell }) =>
        cellLayers(cell, batch, typicalExtent(cell, { tokens }))
      );
      if (layers.length <= LAYERS_MAX) return layers;
      throw new RangeError(
        `${path}: a request is ${layers.length} layers; ${LAYERS_MAX} are the most`,
      );
    },
  };
}

function readTopology(flags: Flags): TopologyLayer[] {
  if (flags.topology === undefined) {
    throw new RangeError("--topology FILE.csv is missing");
  }
  const layers = parseTopology(readText(flags.topology), flags.topology);
  const count = layers.reduce((sum, { copies }) => sum + copies, 0);
  if (count > LAYERS_MAX) {
    throw new RangeError(
      `${flags.topology}: ${count} layers, each channel of a depthwise one counted; ${LAYERS_MAX} are the most`,
    );
  }
  return layers;
}

function saveText(file: string, text: string): void {
  writeText(file, text);
  progress(`wrote ${file}`);
}

function sizeOption(
  name: string,
  text: string | undefined,
  otherwise: number,
): number {
  return integerOption(name, text, otherwise, { min: 1, max: NPU_SIZE_MAX });
}

/** "8x6x10" as numbers. */
function sizes(
  text: string,
  { flag, count }: { flag: string; count: number },
): number[] {
  const values = text.split("x");
  if (values.length !== count) {
    throw new RangeError(
      `--${flag} must be ${count} sizes joined by x, got ${describe(text)}`,
    );
  }
  return values.map((value) =>
    integerOf(`each size of --${flag}`, value, { min: 1, max: DRAWN_MAX })
  );
}

async function drawWavefront(flags: Flags, file: string): Promise<void> {
  const [m, n, k] = sizes(flags.gemm ?? "12x8x16", { flag: "gemm", count: 3 });
  const [rows, cols] = sizes(flags.array ?? "8x8", { flag: "array", count: 2 });
  const dataflow = oneOf(flags.dataflow ?? "ws", DATAFLOWS, "--dataflow");
  const mode = oneOf(
    flags.mode ?? "overlapped",
    ["causal", "overlapped"] as const,
    "--mode",
  );
  const gemm: Gemm = { m, n, k };
  const shape: ArrayShape = { rows, cols };
  const array = loadRegisterArray(await readKernels("shoal"));
  const operands = {
    ifmap: Float32Array.from({ length: m * k }, (_, i) => i % 7 - 3),
    filter: Float32Array.from({ length: k * n }, (_, i) => i % 5 - 2),
  };
  const options = { dataflow, mode, dtype: "f32" } as const;
  const frames = wavefrontFrames(array, { gemm, operands, shape, options });
  const title =
    `${m}x${n}x${k} on ${rows}x${cols}, ${dataflow}, ${mode}: ${frames.length} cycles`;
  saveText(file, page(title, [wavefrontSvg(frames, shape)]));
}
