/**
 * Fourier transforms and what goes with them. A transform is its defining sum, in f64 in the order of the
 * signal, with a table of sines: n^2 for n elements.
 */
import { log10 } from "../base/elementary/logarithm.ts";
import { power } from "../base/elementary/power.ts";
import { cos, sin } from "../base/elementary/trigonometric.ts";
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import { plainOf, type PlainTensor, withDims } from "../tensor/plain_tensor.ts";
import { typeOf } from "./convert.ts";
import {
  checkRank,
  flag,
  FLOATS,
  floats,
  INDICES,
  int,
  optionalFloats,
  optionalScalar,
  scalar,
} from "./given.ts";
import { axisOf, checkOutput, lanesOf, outputOf } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** Sums over signals of one length. */
class Transform {
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;

  /**
   * @param size elements of a signal and of what it is transformed to
   * @param sign of the exponent: -1 to frequencies, 1 back
   */
  constructor(readonly size: number, readonly sign: 1 | -1) {
    checkOutput([size]);
    const angles = Array.from(
      { length: size },
      (_, i) => 2 * Math.PI * i / size,
    );
    this.#cos = Float64Array.from(angles, cos);
    this.#sin = Float64Array.from(angles, (angle) => sign * sin(angle));
  }

  /** Element k of what a complex signal, shorter ones filled up with 0, is transformed to. */
  at(
    k: number,
    real: Float64Array,
    imaginary: Float64Array,
  ): readonly [real: number, imaginary: number] {
    const count = Math.min(this.size, real.length);
    let [re, im] = [0, 0];
    for (let i = 0; i < count; i++) {
      const turn = i * k % this.size;
      const [c, s] = [this.#cos[turn], this.#sin[turn]];
      re += real[i] * c - imaginary[i] * s;
      im += real[i] * s + imaginary[i] * c;
    }
    return [re, im];
  }
}

/** Length is input 1; the axis is an attribute before version 20 of the operator set, input 2 from then on. */
const DFT: PlainOperator = {
  since: [17, 20],
  types: FLOATS,
  run: (inputs, attributes, { opset }) => {
    const x = floats(inputs, 0, "input");
    checkRank(0, "input", x, 2);
    const parts = x.dims.at(-1);
    if (parts !== 1 && parts !== 2) {
      throw new RangeError(
        `input 0 (input) has dims ${
          describeShape(x.dims)
        }, expected 1 or 2 last`,
      );
    }
    const given = opset < 20
      ? int(attributes, "axis", 1)
      : optionalScalar(inputs, 2, "axis", INDICES) ?? -2;
    const axis = axisOf(given, x.dims.length);
    if (axis === x.dims.length - 1) {
      throw new RangeError(`axis ${given} is that of real and imaginary parts`);
    }
    const isInverse = flag(attributes, "inverse");
    const isOneSided = flag(attributes, "onesided");
    const have = x.dims[axis];
    // Frequencies of one side stand for those of the other: the signal that comes back is real.
    const isReal = isInverse && isOneSided;
    const size = optionalScalar(inputs, 1, "dft_length", INDICES) ??
      (isReal ? 2 * (have - 1) : have);
    if (!(size >= 1)) throw new RangeError(`input 1 (dft_length) is ${size}`);
    const transform = new Transform(size, isInverse ? 1 : -1);
    const count = isOneSided && !isInverse ? Math.floor(size / 2) + 1 : size;
    const dims = x.dims.with(axis, count).with(-1, isReal ? 1 : 2);
    const result = outputOf("float32", dims);
    const from = lanesOf(x.dims, [axis, x.dims.length - 1]);
    const to = lanesOf(dims, [axis, x.dims.length - 1]);
    const divisor = isInverse ? size : 1;
    const length = isReal ? size : have;
    const real = new Float64Array(length);
    const imaginary = new Float64Array(length);
    from.starts.forEach((start, l) => {
      for (let i = 0; i < length; i++) {
        // Frequency i of the other side is frequency size - i of this one, conjugate.
        const isMirrored = isReal && i > size / 2;
        const at = isMirrored ? size - i : i;
        const has = at < have;
        const step = from.steps[at * parts];
        real[i] = has ? x.data[start + step] : 0;
        imaginary[i] = has && parts === 2
          ? (isMirrored ? -1 : 1) * x.data[start + from.steps[at * 2 + 1]]
          : 0;
      }
      for (let k = 0; k < count; k++) {
        const [re, im] = transform.at(k, real, imaginary);
        const place = to.starts[l];
        if (isReal) result.data[place + to.steps[k]] = re / divisor;
        else {
          result.data[place + to.steps[2 * k]] = re / divisor;
          result.data[place + to.steps[2 * k + 1]] = im / divisor;
        }
      }
    });
    return [result];
  },
};

/** Transforms of frames of a signal, each times a window. */
const STFT: PlainOperator = {
  since: [17],
  types: FLOATS,
  run: (inputs, attributes) => {
    const given = floats(inputs, 0, "signal");
    checkRank(0, "signal", given, 2, 3);
    const x = given.dims.length === 2
      ? withDims(given, [...given.dims, 1])
      : given;
    const [batch, samples, parts] = x.dims;
    const step = scalar(inputs, 1, "frame_step", INDICES);
    const window = optionalFloats(inputs, 2, "window");
    if (window) checkRank(2, "window", window, 1, 1);
    const size = optionalScalar(inputs, 3, "frame_length", INDICES) ??
      window?.data.length ?? samples;
    if (!(step >= 1 && size >= 1 && size <= samples)) {
      throw new RangeError(
        `frames of ${size} samples every ${step} samples of ${samples}`,
      );
    }
    if (window && window.data.length > size || parts > 2) {
      throw new RangeError(
        `a window of ${window?.data.length} over frames of ${size} samples of ${parts} parts`,
      );
    }
    const frames = 1 + Math.floor((samples - size) / step);
    const count = flag(attributes, "onesided", true)
      ? Math.floor(size / 2) + 1
      : size;
    const transform = new Transform(size, -1);
    const result = outputOf("float32", [batch, frames, count, 2]);
    const real = new Float64Array(window?.data.length ?? size);
    const imaginary = new Float64Array(real.length);
    for (let frame = 0; frame < batch * frames; frame++) {
      const first = Math.floor(frame / frames) * samples +
        frame % frames * step;
      for (let i = 0; i < real.length; i++) {
        const factor = window?.data[i] ?? 1;
        real[i] = x.data[(first + i) * parts] * factor;
        imaginary[i] = parts === 2 ? x.data[(first + i) * 2 + 1] * factor : 0;
      }
      for (let k = 0; k < count; k++) {
        const [re, im] = transform.at(k, real, imaginary);
        result.data[(frame * count + k) * 2] = re;
        result.data[(frame * count + k) * 2 + 1] = im;
      }
    }
    return [result];
  },
};

/** Triangles over the frequencies of a transform, evenly spaced in mel. */
const MelWeightMatrix: PlainOperator = {
  since: [17],
  types: INDICES,
  run: (inputs, attributes): PlainTensor[] => {
    const [bins, size, rate] = ["num_mel_bins", "dft_length", "sample_rate"]
      .map((name, i) => scalar(inputs, i, name, INDICES));
    const [low, high] = ["lower_edge_hertz", "upper_edge_hertz"].map((
      name,
      i,
    ) => scalar(inputs, i + 3, name, FLOATS));
    const type = typeOf(
      "output_datatype",
      int(attributes, "output_datatype", 1),
    );
    const rows = Math.floor(size / 2) + 1;
    checkOutput([rows, bins]);
    const mel = (hertz: number) => 2595 * log10(1 + hertz / 700);
    const step = (mel(high) - mel(low)) / (bins + 2);
    const edges = Array.from({ length: bins + 2 }, (_, i) => {
      const hertz = 700 * (power(10, (i * step + mel(low)) / 2595) - 1);
      return Math.floor((size + 1) * hertz / rate);
    });
    if (!edges.every((edge) => edge >= 0 && edge <= rows)) {
      throw new RangeError(
        `edges of ${low} and ${high} Hz lie outside the spectrum`,
      );
    }
    const weights = new Float64Array(elementCount([rows, bins]));
    for (let bin = 0; bin < bins; bin++) {
      const [left, centre, right] = edges.slice(bin, bin + 3);
      if (left === centre) weights[centre * bins + bin] = 1;
      for (let row = left; row <= centre && left < centre; row++) {
        weights[row * bins + bin] = (row - left) / (centre - left);
      }
      for (let row = centre; row < right; row++) {
        weights[row * bins + bin] = (right - row) / (right - centre);
      }
    }
    return [plainOf(type, [rows, bins], weights)];
  },
};

export const SIGNALS: Readonly<Record<string, PlainOperator>> = {
  DFT,
  STFT,
  MelWeightMatrix,
};
