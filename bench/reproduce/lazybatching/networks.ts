/** The networks of LazyBatching's evaluation, their requests, and what their nodes cost on a device. */
import { ascending, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import type { Model } from "../../../src/graph/model.ts";
import { bert } from "../../../src/models/bert.ts";
import { gnmt, MLPERF_GNMT } from "../../../src/models/gnmt.ts";
import { las } from "../../../src/models/las.ts";
import { mobilenet } from "../../../src/models/mobilenet.ts";
import { resnet50 } from "../../../src/models/resnet.ts";
import type { Seq2SeqInput } from "../../../src/models/seq2seq_input.ts";
import { transformer } from "../../../src/models/transformer.ts";
import { vgg16 } from "../../../src/models/vgg.ts";
import { Prng } from "../../../src/base/prng.ts";
import { inputGenerator } from "../../../src/workload/inputs.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import {
  clippedLengths,
  corpusLengths,
} from "../../../src/workload/lengths.ts";
import { withoutImages } from "../layer_model.ts";
import { aloneNs } from "./alone.ts";
import { costOn, type Device, modified } from "./devices.ts";
import type { Network, Workload } from "./network.ts";

/** Section V: the longest sentence, in words. */
export const WORDS_MAX = 80;

/** Section VI-C: the default. */
export const DEC_TIMESTEPS = 32;

/**
 * Section V: English sentences of a test set, decoders ending where the translation does.
 * Assumption: lengths of the WMT 2021 news test set, for the WMT 2019 one, which is not at hand.
 */
export const TEST_SET = "wmt21-mt.en-de";

function images(title: string, network: Model): Workload {
  const { model, cellOf } = withoutImages(network);
  return {
    title,
    lengths: "",
    model,
    cellOf,
    decTimesteps: 1,
    request: () => ({ model, input: {}, arrivalNs: 0 }),
  };
}

function translation(title: string, model: Model<Seq2SeqInput>): Workload {
  const lengths = clippedLengths(TEST_SET, WORDS_MAX);
  return {
    title,
    lengths: lengths.name,
    model,
    cellOf: (cell) => cell,
    decTimesteps: DEC_TIMESTEPS,
    request(prng) {
      const { source, target } = lengths.sample(prng);
      const input: Seq2SeqInput = {
        tokens: new Array<number>(source).fill(3),
        maxSteps: WORDS_MAX,
      };
      return { model, input, arrivalNs: 0, stepsFixed: target };
    },
  };
}

/** Assumption: BERT base on the sentences of GLUE's CoLA; the paper names neither size nor task. */
function glue(
  title: string,
  model: Model<{ tokens: ArrayLike<number> }>,
): Workload {
  const lengths = corpusLengths("glue.cola");
  return {
    title,
    lengths: lengths.name,
    model,
    cellOf: (cell) => cell,
    decTimesteps: 1,
    request(prng) {
      const tokens = new Array<number>(lengths.sample(prng).source).fill(3);
      return { model, input: { tokens }, arrivalNs: 0 };
    },
  };
}

/** Assumption: utterances are the sentences of GLUE's CoLA read aloud; the paper names no data. */
function speech(title: string, model: ReturnType<typeof las>): Workload {
  const inputs = inputGenerator({
    kind: "frames2seq",
    frameSize: model.frameSize,
  });
  return {
    title,
    lengths: inputs.name,
    model,
    cellOf: (cell) => cell,
    decTimesteps: coveringSteps((prng) => inputs.next(prng).stepsFixed!),
    request: (prng) => ({ model, ...inputs.next(prng), arrivalNs: 0 }),
  };
}

/** Steps that cover 90 % of what is decoded (section IV-C), of a sample. */
function coveringSteps(sample: (prng: Prng) => number): number {
  const prng = new Prng(1).fork("decoded lengths");
  const steps = ascending(Array.from({ length: 1000 }, () => sample(prng)));
  return percentile(steps, 0.9);
}

const weights = shapesOnly();

/** Every network by name: the three of Table II, then those of Fig. 16. */
const WORKLOADS = {
  resnet50: () => images("ResNet-50", resnet50({ weights })),
  gnmt: () => translation("GNMT", gnmt({ ...MLPERF_GNMT, eos: null, weights })),
  transformer: () =>
    translation("Transformer", transformer({ eos: null, weights })),
  vgg16: () => images("VGG-16", vgg16({ weights })),
  mobilenet: () => images("MobileNet", mobilenet({ weights })),
  las: () => speech("Listen-Attend-and-Spell", las({ eos: null, weights })),
  bert: () => glue("BERT", bert({ weights })),
} as const satisfies Record<string, () => Workload>;

export type NetworkName = keyof typeof WORKLOADS;

/** Table II: time of a request alone, ms. */
export const TABLE_II = {
  resnet50: 1.1,
  gnmt: 7.2,
  transformer: 2.4,
} as const satisfies Partial<Record<NetworkName, number>>;

const workloads = new Map<NetworkName, Workload>();
const networks = new Map<string, Network>();

export function workloadOf(name: NetworkName): Workload {
  let workload = workloads.get(name);
  if (workload === undefined) {
    workloads.set(name, workload = WORKLOADS[name]());
  }
  return workload;
}

/**
 * A network on a device; the same arguments give the same object.
 * @param seed of the requests whose time alone decides the scale, on a device that is scaled
 */
export function networkOn(
  name: NetworkName,
  device: Device,
  seed: number,
): Network {
  const key = JSON.stringify([name, device, seed]);
  let network = networks.get(key);
  if (network === undefined) {
    const workload = workloadOf(name);
    const bare = { ...workload, cost: costOn(device, workload.cellOf) };
    const scale = device.aloneMs === undefined
      ? 1
      : device.aloneMs * NS_PER_MS / aloneNs(bare, seed);
    network = { ...bare, cost: modified(bare.cost, device, scale) };
    networks.set(key, network);
  }
  return network;
}
