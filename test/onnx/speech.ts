/** The recorded speech that lies beside the checkout, and the denoiser of two files as its authors run it. */
import { readFileSync } from "node:fs";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { readPlainSafetensors } from "../../src/tensor/safetensors.ts";
import { irfft, rfft } from "../kernels/reference/fft.ts";
import { modelFolder } from "./reference_models.ts";

export const WINDOW = 512;
export const HOP = 128;
const KEPT = WINDOW - HOP;

/** Recorded frames of a model: axis 0 is the time. */
export function sequenceOf(folder: URL): Map<string, PlainTensor> {
  const name = "sequence.safetensors";
  return readPlainSafetensors(readFileSync(new URL(name, folder)), name);
}

/** Folders of both files; undefined, and a word about it, where they are not. */
export function dtlnFolders(what: string): [URL, URL] | undefined {
  const first = modelFolder(what, "dtln-model-1");
  const second = first && modelFolder(what, "dtln-model-2");
  return first && second && [first, second];
}

/** Windows of real speech, one every HOP samples, that the second file's recorded outputs are of. */
export function speechWindows(folder: URL): Float32Array[] {
  const { data, dims } = sequenceOf(folder).get("input_4")!;
  return Array.from(
    { length: dims[0] },
    (_, t) => (data as Float32Array).slice(t * WINDOW, (t + 1) * WINDOW),
  );
}

/** The signal that windows are of. */
export function signalOf(windows: readonly Float32Array[]): Float32Array {
  const signal = new Float32Array(KEPT + HOP * windows.length);
  windows.forEach((window, t) => signal.set(window, t * HOP));
  return signal;
}

/** What windows add up to, HOP samples for each. */
export function added(windows: readonly ArrayLike<number>[]): Float32Array {
  const out = new Float32Array(HOP * windows.length);
  const sum = new Float32Array(WINDOW);
  windows.forEach((window, t) => {
    sum.copyWithin(0, HOP);
    sum.fill(0, KEPT);
    for (let i = 0; i < WINDOW; i++) sum[i] += window[i];
    out.set(sum.subarray(0, HOP), t * HOP);
  });
  return out;
}

/** A file that is run frame by frame, in plain TypeScript; its state starts as zeros. */
export function plainStages(folder: URL): (frame: Float32Array) => number[] {
  const label = "model.onnx";
  const { graph } = readModel(readFileSync(new URL(label, folder)), { label });
  const [input, state] = graph.inputs;
  const [output, next] = graph.outputs;
  let carried: PlainTensor = plainOf(
    "float32",
    [1, 2, 128, 2],
    new Float32Array(512),
  );
  return (frame) => {
    const given = plainOf("float32", [1, 1, frame.length], frame);
    const made = runPlainGraph(
      graph,
      new Map([[input.name, given], [state.name, carried]]),
    );
    carried = made.get(next.name)!;
    return numbersOf(made.get(output.name)!);
  };
}

/**
 * real_time_processing_onnx.py of breizhn/DTLN, step by step: transforms, magnitude and phase in f64, what goes into
 * the files in f32.
 */
export function denoiseNaively(
  [first, second]: readonly [URL, URL],
  signal: Float32Array,
): Float32Array {
  const [maskOf, blockOf] = [plainStages(first), plainStages(second)];
  const buffer = new Float32Array(WINDOW);
  const blocks: number[][] = [];
  for (let at = 0; at + HOP <= signal.length; at += HOP) {
    buffer.copyWithin(0, HOP);
    buffer.set(signal.subarray(at, at + HOP), KEPT);
    const spectrum = rfft(buffer);
    const bins = spectrum.length / 2;
    const [re, im] = [spectrum.subarray(0, bins), spectrum.subarray(bins)];
    const magnitude = Float32Array.from(re, (_, k) => Math.hypot(re[k], im[k]));
    const mask = maskOf(magnitude);
    const estimated = spectrum.map((_, i) => {
      const k = i % bins;
      const phase = Math.atan2(im[k], re[k]);
      const turn = i < bins ? Math.cos(phase) : Math.sin(phase);
      return magnitude[k] * mask[k] * turn;
    });
    blocks.push(blockOf(Float32Array.from(irfft(estimated))));
  }
  return added(blocks);
}
