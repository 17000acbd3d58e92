/**
 * Convolutions of a signal that are Fourier transforms of its windows: models that bring a transform of their own are
 * exported so (Silero's detector, and others that use torch-stft). A fast one gives the same but for rounding, for some
 * 5 n log2(n) / 2 operations a window of n samples instead of 2 n (n + 2).
 */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { type Tensor, tensor } from "../../tensor/tensor.ts";
import { fitted } from "./fitted.ts";
import { MADE_ELEMENTS_MAX, type Operand } from "./operand.ts";
import { signalWindows } from "./signal_windows.ts";
import type { Window } from "./trim_taps.ts";
import { windowFunction } from "./window_function.ts";

/**
 * @param x a signal, [1][1][samples]
 * @param weight [n + 2][1][n]
 * @returns the convolution's result, [1][n + 2][windows], as an image; undefined where it is no transform
 */
export function fourierConv(
  op: Operators,
  x: Operand,
  weight: Tensor,
  { strides: [, step], dilations: [, dilation], pads: [, left, , right] }:
    Window,
): Value | undefined {
  const samples = left + x.elements + right;
  const isSignal = x.rank === 3 && x.dims[1] === 1 && dilation === 1 &&
    samples <= MADE_ELEMENTS_MAX;
  const factors = isSignal ? windowFunction(weight) : undefined;
  if (!factors) return undefined;
  const signal = fitted(op, op.Reshape(x.row, [1, x.elements]), samples, left);
  const windows = signalWindows(op, signal, { size: factors.length, step });
  if (!windows) return undefined;
  const isPlain = factors.every((factor) => factor === 1);
  const spectra = op.RFFT(
    isPlain
      ? windows
      : op.Mul(windows, op.Constant(tensor([factors.length], factors))),
  );
  // Spectra lie one after the other, as pixels of a signal do: channels last.
  const [channels] = weight.shape;
  return op.Reshape(spectra, {
    height: 1,
    width: spectra.width / channels,
    channels,
  });
}
