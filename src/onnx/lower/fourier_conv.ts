/**
 * Convolutions of a signal that are Fourier transforms of windows of it: models with a transform of their own in front
 * are exported so, as torch has it (torch-stft, Silero's detector). Their results are what a fast one gives, for a tenth
 * of the work.
 */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { type Tensor, tensor } from "../../tensor/tensor.ts";
import { windowFunction } from "./window_function.ts";
import type { Operand } from "./operand.ts";
import type { Window } from "./trim_taps.ts";
import { windowsOf, zerosBeside } from "./windows.ts";

/**
 * @param x a signal, [1][1][samples]
 * @returns the convolution's result, [1][n + 2][windows], as an image; undefined where it is no transform
 */
export function fourierConv(
  op: Operators,
  x: Operand,
  weight: Tensor,
  { strides: [, step], dilations: [, dilation], pads: [, left, , right] }:
    Window,
): Value | undefined {
  const isSignal = x.rank === 3 && x.dims[1] === 1 && dilation === 1;
  const factors = isSignal ? windowFunction(weight) : undefined;
  if (!factors) return undefined;
  const given = op.Reshape(x.row, [1, x.elements]);
  const zeros = (count: number) =>
    count > 0 ? [zerosBeside(op, given, count)] : [];
  const signal = left + right > 0
    ? op.Concat(...zeros(left), given, ...zeros(right))
    : given;
  const windows = windowsOf(op, signal, { size: factors.length, step });
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
