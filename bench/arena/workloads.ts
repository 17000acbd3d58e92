/** What is served in the arena: models of the registry at the papers' sizes, and what their requests bring. */
import { Prng } from "../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { Model } from "../../src/graph/model.ts";
import { MODELS, type SizeClass } from "../../src/models/registry.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { inputGenerator } from "../../src/workload/inputs.ts";
import { type StreamGroup, streamGroups } from "./streams.ts";
import { withoutImages } from "../reproduce/layer_model.ts";

/** Models and their requests. */
export interface Workload {
  readonly models: readonly Model[];
  /** The model's own cell that one of `models` stands for. */
  cellOf(cell: Cell): Cell;
  /** Steps that a decoder is expected to take: they cover 90 % (LazyBatching, section IV-C). */
  readonly decTimesteps: number;
  /** Tokens of a typical request. */
  readonly tokens: number;
  /** Where requests are frames: sources that are alike, as many of each. */
  readonly streams?: readonly StreamGroup[];
  /** One request, arriving at 0; a frame of a session of its own. */
  request(prng: Prng): VirtualArrival;
}

/** The workload that is no models of the registry: streams.ts. */
export const STREAMS = "streams";

/** Names of the registry that a workload is made of. */
const MIXES: Readonly<Record<string, readonly string[]>> = {
  resnet50: ["resnet50"],
  unet: ["unet"],
  bert: ["bert"],
  gnmt: ["gnmt"],
  transformer: ["transformer"],
  lstm: ["lstm"],
  seq2seq: ["seq2seq"],
  treelstm: ["treelstm"],
  // LazyBatching, section VI-C.
  [STREAMS]: [],
  "co-located": ["resnet50", "gnmt", "transformer", "bert"],
};

/** Every workload by name. */
export const WORKLOADS = Object.keys(MIXES);

/** Names in the registry of models. */
export function registryNames(workload: string): readonly string[] {
  return MIXES[workload];
}

/** Requests that typical figures are taken of. */
const SAMPLE = 200;

const known = new Map<string, Workload>();

/** @param size of the models; the same arguments give the same object */
export function workloadOf(name: string, size: SizeClass): Workload {
  const key = `${name} ${size}`;
  let workload = known.get(key);
  if (workload === undefined) {
    workload = name === STREAMS
      ? streamed(streamGroups(size, shapesOnly()))
      : mixed(MIXES[name].map((model) => single(model, size)));
    known.set(key, workload);
  }
  return workload;
}

function single(name: string, size: SizeClass): Workload {
  const entry = MODELS[name];
  const options = entry.sizes[size];
  const network = entry.build({ ...options, weights: shapesOnly() });
  if (entry.input === "image") {
    const { model, cellOf } = withoutImages(network);
    return {
      models: [model],
      cellOf,
      decTimesteps: 1,
      tokens: 1,
      request: () => ({ model, input: {}, arrivalNs: 0 }),
    };
  }
  const inputs = inputGenerator({
    kind: entry.input,
    // Nobody looks the words up.
    vocabulary: 2,
    frameSize: network.frameSize,
    ...(entry.lengths !== undefined && { lengths: entry.lengths }),
  });
  const prng = new Prng(1).fork("sample");
  const sample = Array.from({ length: SAMPLE }, () => inputs.next(prng));
  const tokens = sample.map(({ input }) =>
    (input as { tokens?: ArrayLike<number> }).tokens?.length ?? 1
  );
  const steps = sample.map(({ stepsFixed = 1 }) => stepsFixed);
  return {
    models: [network],
    cellOf: (cell) => cell,
    decTimesteps: percentile(ascending(steps), 0.9),
    tokens: Math.round(mean(tokens)),
    request: (prng) => ({
      model: network,
      ...inputs.next(prng),
      arrivalNs: 0,
    }),
  };
}

function streamed(streams: readonly StreamGroup[]): Workload {
  const total = streams.reduce(
    (sum, { periodAlone }) => sum + 1 / periodAlone,
    0,
  );
  return {
    models: streams.map(({ frame: { model } }) => model),
    cellOf: (cell) => cell,
    decTimesteps: 1,
    tokens: 1,
    streams,
    request(prng) {
      let left = prng.float() * total;
      const group = streams.find(({ periodAlone }) =>
        (left -= 1 / periodAlone) < 0
      );
      return { ...(group ?? streams[0]).frame, arrivalNs: 0 };
    },
  };
}

/** Requests of all of them, as many of each. */
function mixed(parts: readonly Workload[]): Workload {
  if (parts.length === 1) return parts[0];
  const owner = new Map(
    parts.flatMap((part) =>
      part.models.flatMap(({ cells }) => cells.map((cell) => [cell, part]))
    ),
  );
  return {
    models: parts.flatMap(({ models }) => models),
    cellOf: (cell) => owner.get(cell)!.cellOf(cell),
    decTimesteps: Math.max(...parts.map(({ decTimesteps }) => decTimesteps)),
    tokens: Math.max(...parts.map(({ tokens }) => tokens)),
    request: (prng) => parts[prng.int(parts.length)].request(prng),
  };
}
