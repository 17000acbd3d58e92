/**
 * What an application does around ONNX Runtime for a frame of a stream: the steps that the models' authors give, in
 * plain JavaScript with a transform from npm, as a caller of these files has to.
 */
import { install, requirePeer } from "../../kernels/peers/install.ts";
import type { RunFile } from "./stream_file.ts";

/** Takes the newest numbers of a stream, gives what the frame comes to. */
export type PushFrame = (numbers: Float32Array) => Promise<Float32Array>;

/** Opens a stream over its files, in order. */
export type Caller = (files: readonly RunFile[]) => PushFrame;

/** Nothing around it. */
export const stepCaller: Caller = ([run]) => run;

/** The samples of before that a window begins with (snakers4/silero-vad, utils_vad.py). */
const CONTEXT = 64;

/** A window is the newest samples behind the last ones of before. */
export const sileroCaller: Caller = ([run]) => {
  let context = new Float32Array(CONTEXT);
  return (samples) => {
    const window = new Float32Array(CONTEXT + samples.length);
    window.set(context);
    window.set(samples, CONTEXT);
    context = window.slice(samples.length);
    return run(window);
  };
};

const WINDOW = 512;
const HOP = 128;
const BINS = WINDOW / 2 + 1;
const FFT_VERSION = "4.0.4";

/** The part of fft.js that is used: spectra are [re, im] of each bin. */
interface Fft {
  createComplexArray(): number[];
  realTransform(out: number[], signal: ArrayLike<number>): void;
  completeSpectrum(spectrum: number[]): void;
  inverseTransform(out: number[], spectrum: number[]): void;
}

/**
 * The denoiser (breizhn/DTLN, real_time_processing_onnx.py): a window moves by a hop, the first file masks its
 * spectrum, the second one makes a window of it again, and windows add up. A mask times a spectrum is one number less
 * than with magnitude and phase, so that the peers have nothing to do that we have not.
 */
export function dtlnCaller(): Caller {
  install({ "fft.js": FFT_VERSION });
  const Fft = requirePeer("fft.js") as new (size: number) => Fft;
  return ([mask, denoise]) => {
    const fft = new Fft(WINDOW);
    const spectrum = fft.createComplexArray();
    const inverse = fft.createComplexArray();
    const window = new Float32Array(WINDOW);
    const sums = new Float32Array(WINDOW);
    const magnitudes = new Float32Array(BINS);
    return async (samples) => {
      window.copyWithin(0, HOP);
      window.set(samples, WINDOW - HOP);
      fft.realTransform(spectrum, window);
      for (let bin = 0; bin < BINS; bin++) {
        const [re, im] = [spectrum[2 * bin], spectrum[2 * bin + 1]];
        magnitudes[bin] = Math.sqrt(re * re + im * im);
      }
      const masked = await mask(magnitudes);
      for (let bin = 0; bin < BINS; bin++) {
        spectrum[2 * bin] *= masked[bin];
        spectrum[2 * bin + 1] *= masked[bin];
      }
      fft.completeSpectrum(spectrum);
      fft.inverseTransform(inverse, spectrum);
      const block = new Float32Array(WINDOW);
      for (let i = 0; i < WINDOW; i++) block[i] = inverse[2 * i];
      const denoised = await denoise(block);
      sums.copyWithin(0, HOP);
      sums.fill(0, WINDOW - HOP);
      for (let i = 0; i < WINDOW; i++) sums[i] += denoised[i];
      return sums.slice(0, HOP);
    };
  };
}
