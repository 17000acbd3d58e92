/**
 * Fourier transforms of real signals, and back to them, of the lengths that kernels have. ONNX puts both parts of a
 * number next to each other, spectra of cells all real parts in front: transposed at the border.
 */
import { isFftLength } from "../../base/fft_lengths.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { MADE_ELEMENTS_MAX } from "./operand.ts";
import { fitted } from "./fitted.ts";
import { signalWindows } from "./signal_windows.ts";

/** Whether what a value is filled up with is not too much. */
function canFit(x: { elements: number }, have: number, size: number): boolean {
  return x.elements / have * size <= MADE_ELEMENTS_MAX;
}

/** A number that an input is; undefined where it is not known before, `absent` where it is left out. */
function numberOf(
  view: LoweredNode,
  input: number,
  absent: number,
): number | undefined {
  return view.has(input) ? view.numbers(input)?.[0] : absent;
}

const dft: NodeLowering = (view) => {
  const { op } = view;
  const x = view.operand();
  const given = view.version < 20 ? view.int("axis", 1) : numberOf(view, 2, -2);
  const isInverse = view.int("inverse", 0) !== 0;
  const isOneSided = view.int("onesided", 0) !== 0;
  const parts = isInverse ? 2 : 1;
  if (
    given === undefined || !isOneSided || x.type !== "float32" ||
    x.dims.at(-1) !== parts
  ) return undefined;
  const axis = view.axis(given);
  const have = x.dims[axis];
  const size = numberOf(view, 1, isInverse ? 2 * (have - 1) : have);
  if (size === undefined || !isFftLength(size)) return undefined;
  const length = isInverse ? size / 2 + 1 : size;
  if (!canFit(x, have, length)) return undefined;
  // All other axes, then [parts,] signal.
  const others = x.dims.map((_, i) => i).slice(0, -1).filter((i) => i !== axis);
  const last = x.dims.length - 1;
  const turned = fitted(
    op,
    op.Transpose(x.row, [...others, last, axis]),
    length,
  );
  const front = others.map((i) => x.dims[i]);
  const made = isInverse
    ? op.Reshape(op.IRFFT(turned), [...front, 1, size])
    : op.RFFT(op.Reshape(turned, [...front, size]));
  // Back to where they were: axis i of the result is one of the others, the signal, or the parts.
  const back = x.dims.map((_, i) =>
    i === last ? others.length : i === axis ? last : others.indexOf(i)
  );
  return op.Transpose(made, back);
};

const stft: NodeLowering = (view) => {
  const { op } = view;
  const x = view.operand();
  const [batch, samples, parts = 1] = x.dims;
  const window = view.constant(2);
  const step = numberOf(view, 1, 0);
  const size = numberOf(view, 3, window?.dims[0] ?? samples);
  const isReal = parts === 1 && view.int("onesided", 1) !== 0 &&
    x.type === "float32" && view.isWeight(2);
  if (!isReal || !step || size === undefined || !isFftLength(size)) {
    return undefined;
  }
  // A shorter window leaves samples out, whatever they are.
  if (size > samples || window && window.data.length !== size) return undefined;
  const windows = signalWindows(op, op.Reshape(x.row, [batch, samples]), {
    size,
    step,
  });
  if (!windows) return undefined;
  const factors = view.weight(2);
  const spectra = op.RFFT(
    factors ? op.Mul(windows, op.Constant(factors)) : windows,
  );
  return op.Transpose(spectra, [0, 1, 3, 2]);
};

export const SIGNALS: Readonly<Record<string, NodeLowering>> = {
  DFT: dft,
  STFT: stft,
};
