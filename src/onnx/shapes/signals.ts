/** Rules of Fourier transforms. */
import {
  addDims,
  type Dim,
  floorDivDims,
  leastOf,
  multiplyDims,
  subtractDims,
} from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import { describeDims, type InferredValue } from "./value.ts";

/** One integer that an input is: known, not known yet, or undefined where it is left out. */
function sizeGiven(
  view: NodeView,
  input: number,
  axis: number,
): Dim | undefined {
  const given = view.optional(input);
  if (given === undefined) return undefined;
  const [size] = given.elements ?? [];
  if (typeof size === "number" && size < 1) {
    view.place.in(`input ${input}`).fail(`it is ${size}`);
  }
  return size ?? view.unknown(axis, 1);
}

/** Frequencies of one side of so many. */
const oneSide = (size: Dim): Dim => addDims(floorDivDims(size, 2), 1);

const dft: ShapeRule = (view) => {
  const { type, dims } = view.first;
  if (dims === null) return [{ type, dims }];
  const parts = dims.at(-1);
  if (
    dims.length < 2 || typeof parts === "number" && parts !== 1 && parts !== 2
  ) {
    view.place.fail(`${describeDims(dims)} has no 1 or 2 parts last`);
  }
  const isInput = view.version >= 20;
  const given = isInput ? view.numbers(2)?.[0] ?? -2 : view.int("axis", 1);
  if (isInput && view.optional(2) && !view.numbers(2)) {
    return [{ type, dims: view.unknowns(dims.length) }];
  }
  const axis = view.axis(given, dims.length);
  if (axis === dims.length - 1) {
    view.place.fail(`axis ${given} is that of real and imaginary parts`);
  }
  const [isInverse, isOneSided] = ["inverse", "onesided"].map((name) =>
    view.flag(name)
  );
  const isReal = isInverse && isOneSided;
  const have = dims[axis];
  const size = sizeGiven(view, 1, axis) ??
    (isReal ? multiplyDims(2, subtractDims(have, 1)) : have);
  const count = isOneSided && !isInverse ? oneSide(size) : size;
  return [{ type, dims: dims.with(axis, count).with(-1, isReal ? 1 : 2) }];
};

const stft: ShapeRule = (view) => {
  const { type, dims } = view.first;
  if (dims === null) return [{ type, dims: null }];
  if (dims.length !== 2 && dims.length !== 3) {
    view.place.fail(`${describeDims(dims)} is no batch of signals`);
  }
  const [batch, samples] = dims;
  const step = sizeGiven(view, 1, 1);
  if (step === undefined) view.place.fail("its input 1 is missing");
  const window: InferredValue | undefined = view.optional(2);
  const size = sizeGiven(view, 3, 2) ??
    (window === undefined ? samples : window.dims?.[0] ?? view.unknown(2, 1));
  // What does not divide is a size that nobody knows, and a difference may be none.
  const isKnown = typeof step === "number" && typeof size === "number" &&
    leastOf(samples) >= size;
  return [{
    type,
    dims: [
      batch,
      isKnown
        ? addDims(floorDivDims(subtractDims(samples, size), step), 1)
        : view.unknown(1, 1),
      view.flag("onesided", true) ? oneSide(size) : size,
      2,
    ],
  }];
};

/** By name. */
export const SIGNALS: Readonly<Record<string, ShapeRule>> = {
  DFT: dft,
  STFT: stft,
};
