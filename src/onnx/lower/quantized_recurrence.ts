/**
 * DynamicQuantizeLSTM of `com.microsoft`, one step of one direction: weights of bytes, x and h quantised at every
 * position. Deviation: ONNX Runtime has one range for x of all positions; here every position has its own, which
 * depends on nothing but that position.
 */
import { describeShape } from "../../base/describe.ts";
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import type { QuantizedTensor } from "../../tensor/quantized.ts";
import { elementCount, isShape, tensor } from "../../tensor/tensor.ts";
import { CONTRIB_DOMAIN } from "../domains.ts";
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import {
  isByteType,
  isScale,
  perOutput,
  transposedBytes,
  weightBytes,
  withScales,
} from "../quantized_bytes.ts";
import { isUsual, type Recurrence } from "./recurrence.ts";

const GATES = 4;

/**
 * @returns undefined when it is no such node, or operators of cells do not compute it
 * @throws RangeError naming the input whose sizes do not fit
 */
export function quantizedRecurrenceOf(
  node: OnnxNode,
  known: (name: string) => KnownValue,
): Recurrence | undefined {
  const { op, domain, inputs } = node;
  if (domain !== CONTRIB_DOMAIN || op !== "DynamicQuantizeLSTM") {
    return undefined;
  }
  const x = known(inputs[0]);
  if (!isUsual(node, ["Sigmoid", "Tanh", "Tanh"], x)) return undefined;
  const way = attributeOf(node, "direction", "string") ?? "forward";
  const directions = way === "bidirectional" ? 2 : 1;
  const [, hidden] = known(inputs[2]).dims;
  const width = x.dims[2];
  checkSizes(node, { directions, hidden, width }, known);
  const constant = (i: number) => {
    const name = inputs[i] ?? "";
    return name === "" ? undefined : known(name).constant;
  };
  const bias = constant(3);
  const isGiven = (inputs[3] ?? "") === "" || bias?.type === "float32";
  if (!isGiven) return undefined;
  const parts = Array.from({ length: directions }, (_, direction) => {
    const at = (i: number) => sliceOf(constant(i), direction);
    const w = bytesOf(at(1), at(8), at(9));
    const r = bytesOf(at(2), at(10), at(11));
    const b = at(3);
    if (!w || !r) return undefined;
    return {
      ...{ w, r },
      ...(b && {
        b: tensor([2 * GATES * hidden], b.data as Float32Array),
      }),
    };
  });
  const weights = parts.filter((part) => part !== undefined);
  if (weights.length < directions) return undefined;
  return {
    positions: x.dims[0],
    width,
    hidden,
    states: ["h", "c"],
    directions: weights.map((each, i) => ({
      isReverse: way === "reverse" || i === 1,
      step: (op, x, { h, c }) => op.DynamicQuantizeLSTM(x, h, c!, each),
    })),
  };
}

function checkSizes(
  { op, inputs }: OnnxNode,
  { directions, hidden, width }: {
    directions: number;
    hidden: number;
    width: number;
  },
  known: (name: string) => KnownValue,
): void {
  const rows = GATES * hidden;
  const state = [directions, 1, hidden];
  const range = [[directions], [directions, rows]];
  const wanted: readonly (readonly [number, readonly (readonly number[])[]])[] =
    [
      [1, [[directions, width, rows]]],
      [2, [[directions, hidden, rows]]],
      [3, [[directions, 2 * rows]]],
      [5, [state]],
      [6, [state]],
      ...[8, 9, 10, 11].map((i) => [i, range] as const),
    ];
  for (const [place, shapes] of wanted) {
    const name = inputs[place] ?? "";
    if (name === "") {
      if (place === 3 || place === 5 || place === 6) continue;
      throw new RangeError(`input ${place} of ${op} is missing`);
    }
    const { dims } = known(name);
    const isOne = shapes.some((shape) => isShape(dims, shape));
    if (isOne && elementCount(dims) > 0) continue;
    throw new RangeError(
      `input ${place} of ${op} is ${describeShape(dims)}, expected ${
        describeShape(shapes[0])
      }`,
    );
  }
}

/** What a constant has for a direction. */
function sliceOf(
  constant: PlainTensor | undefined,
  direction: number,
): PlainTensor | undefined {
  if (constant === undefined) return undefined;
  const { type, dims: [directions, ...dims], data } = constant;
  const size = data.length / directions;
  const part = data.slice(direction * size, (direction + 1) * size);
  return { type, dims, data: part } as PlainTensor;
}

/** A matrix [k][n] of bytes as rows for each output, with scales. */
function bytesOf(
  matrix: PlainTensor | undefined,
  scale: PlainTensor | undefined,
  zero: PlainTensor | undefined,
): QuantizedTensor | undefined {
  if (!matrix || !isByteType(matrix.type) || scale?.type !== "float32") {
    return undefined;
  }
  const bytes = zero && weightBytes(transposedBytes(matrix), zero);
  const scales = bytes && perOutput(scale, bytes.shape[0]);
  return scales?.every(isScale) ? withScales(bytes!, scales) : undefined;
}
