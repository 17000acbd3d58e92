import { FFT_LENGTHS, isFftLength } from "../../base/fft_lengths.ts";
import type { CellBody } from "../cell_body.ts";
import type { SignalOperator, Value } from "../operator.ts";
import { axesOf, lastAxis, shapeOf } from "../row_layout.ts";

/**
 * Fourier transforms of real rows, of the last axis; of rows of f32. A spectrum of n numbers has the axes
 * [.., 2, n / 2 + 1]: real parts, then imaginary ones. Real factors, such as a mask of n / 2 + 1, go to both parts of it
 * with Mul; sums and parts of spectra are Add and Slice.
 *
 * Deviation: ONNX's DFT and STFT put the two parts of each number next to each other, [.., n / 2 + 1, 2]: Transpose.
 */
export interface SignalOperators {
  /** Frequencies 0 .. n / 2 of n real numbers; n a power of two from 32 to 65536. ONNX DFT with onesided = 1. */
  RFFT(x: Value): Value;
  /**
   * The real numbers that have such frequencies, 1 / n included. Imaginary parts of the first and last frequency are
   * not looked at.
   */
  IRFFT(spectrum: Value): Value;
  /** Square roots of the sums of the squares of both parts, which are below 2^63: [.., n / 2 + 1]. */
  Magnitude(spectrum: Value): Value;
}

export const signalOperators = (body: CellBody): SignalOperators => {
  const transforms = (op: string, n: number, x: Value) =>
    body.expect(
      isFftLength(n),
      `${op} of ${
        shapeOf(x)
      } elements: there are transforms of powers of two from ${FFT_LENGTHS.least} to ${FFT_LENGTHS.most}`,
    );
  /** The axes in front of those of a spectrum. */
  const before = (op: string, x: Value): readonly number[] => {
    body.float(op, x);
    const axes = axesOf(x);
    body.expect(
      x.image === undefined && axes.length > 1 && axes.at(-2) === 2,
      `${op} of ${shapeOf(x)} elements: a spectrum is [.., 2, frequencies]`,
    );
    return axes.slice(0, -2);
  };
  return {
    RFFT(x: Value): Value {
      body.float("RFFT", x);
      body.expect(
        x.image === undefined,
        `RFFT of an image of ${shapeOf(x)}: it takes plain rows`,
      );
      const n = lastAxis(x);
      transforms("RFFT", n, x);
      const shape = [...axesOf(x).slice(0, -1), 2, n / 2 + 1];
      return body.emit({
        op: "RFFT",
        inputs: [x],
        outputs: [body.shaped("f32", shape)],
      });
    },
    IRFFT(spectrum: Value): Value {
      const axes = before("IRFFT", spectrum);
      const n = 2 * (lastAxis(spectrum) - 1);
      transforms("IRFFT", n, spectrum);
      return body.emit({
        op: "IRFFT",
        inputs: [spectrum],
        outputs: [body.shaped("f32", [...axes, n])],
      });
    },
    Magnitude(spectrum: Value): Value {
      const shape = [...before("Magnitude", spectrum), lastAxis(spectrum)];
      return body.emit({
        op: "Magnitude",
        inputs: [spectrum],
        outputs: [body.shaped("f32", shape)],
      });
    },
  } satisfies Record<SignalOperator["op"], unknown>;
};
