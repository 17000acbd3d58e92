/** Rules of operators that sample images or put columns back into them, of sums by a formula, and of some rare ones. */
import { einsumFormula } from "../../plain/einsum.ts";
import { commonDim } from "./broadcast.ts";
import {
  addDims,
  type Dim,
  floorDivDims,
  multiplyDims,
  subtractDims,
} from "./dim.ts";
import { perAxis } from "./images.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import { describeDims } from "./value.ts";

/** Sizes that an input gives. */
function sizesGiven(view: NodeView, i: number): Dim[] | undefined {
  const elements = view.optional(i)?.elements;
  return elements?.map((one, axis) => one ?? view.unknown(axis));
}

/** [N, C, ...] at a grid of [N, ..., axes]. */
const gridSample: ShapeRule = (view) => {
  const { type, dims } = view.first;
  const grid = view.input(1).dims;
  if (dims === null || grid === null) return [{ type, dims: null }];
  if (grid.length !== dims.length) {
    view.place.fail(
      `a grid of ${describeDims(grid)} over ${describeDims(dims)}`,
    );
  }
  return [{ type, dims: [...dims.slice(0, 2), ...grid.slice(1, -1)] }];
};

const affineGrid: ShapeRule = (view) => {
  const { type } = view;
  const size = sizesGiven(view, 1);
  if (size === undefined) return [{ type, dims: null }];
  if (size.length < 3) {
    view.place.fail(`a size of ${size.length} axes, expected three or more`);
  }
  const [batch, , ...spatial] = size;
  return [{ type, dims: [batch, ...spatial, spatial.length] }];
};

/** A region each, of all channels. */
const roiAlign: ShapeRule = (view) => {
  const { type, dims } = view.first;
  return [{
    type,
    dims: [
      view.input(1).dims?.[0] ?? view.unknown(0),
      dims?.[1] ?? view.unknown(1),
      view.int("output_height", 1),
      view.int("output_width", 1),
    ],
  }];
};

const col2Im: ShapeRule = (view) => {
  const { type, dims } = view.first;
  const [image, block] = [1, 2].map((i) => sizesGiven(view, i));
  if (dims !== null && dims.length !== 3) {
    view.place.fail(`columns of ${describeDims(dims)}, expected three axes`);
  }
  if (image === undefined) return [{ type, dims: null }];
  const taps = block?.reduce(multiplyDims, 1);
  return [{
    type,
    dims: [
      dims?.[0] ?? view.unknown(0),
      dims && typeof taps === "number" && taps > 0
        ? floorDivDims(dims[1], taps)
        : view.unknown(1),
      ...image,
    ],
  }];
};

const maxUnpool: ShapeRule = (view) => {
  const { type, dims } = view.first;
  if (view.optional(2)) return [{ type, dims: sizesGiven(view, 2) ?? null }];
  if (dims === null) return [{ type, dims }];
  const spatial = dims.slice(2);
  const rank = spatial.length;
  const [kernel, strides] = ["kernel_shape", "strides"].map((name) =>
    perAxis(view, name, rank, 1, 1)
  );
  const pads = perAxis(view, "pads", 2 * rank, 0, 0);
  return [{
    type,
    dims: [
      ...dims.slice(0, 2),
      ...spatial.map((size, axis) =>
        addDims(
          multiplyDims(subtractDims(size, 1), strides[axis]),
          kernel[axis] - pads[axis] - pads[axis + rank],
        )
      ),
    ],
  }];
};

/** The same for all of them, of a size that an input gives. */
const window: ShapeRule = (view) => {
  const size = view.optional(0)?.elements?.[0];
  return [{ type: "float32", dims: [size ?? view.unknown(0)] }];
};

/** The sequence, and the end of it. */
const causalConvolution: ShapeRule = (view) => {
  const { type, dims } = view.first;
  const kernel = view.input(1).dims?.[2];
  if (dims === null || kernel === undefined) return [{ type, dims }];
  if (dims.length < 3) {
    view.place.fail(`${describeDims(dims)} has no axis of positions`);
  }
  return [{ type, dims }, { type, dims: dims.with(2, addDims(kernel, -1)) }];
};

/** [batch, length, heads * size] of values for every query, and a matrix for each head. */
const linearAttention: ShapeRule = (view) => {
  const { type, dims } = view.first;
  const value = view.input(2).dims;
  const open = { type, dims: null };
  if (dims?.length !== 3 || value?.length !== 3) return [open, open];
  const [heads, own] = ["q_num_heads", "kv_num_heads"].map((name) => {
    const count = view.int(name, 0);
    if (!(count >= 1)) view.at(name).fail(`it is ${count}`);
    return count;
  });
  const size = floorDivDims(value[2], own);
  return [
    { type, dims: dims.with(2, multiplyDims(size, heads)) },
    { type, dims: [dims[0], own, floorDivDims(dims[2], heads), size] },
  ];
};

/** Every axis of the result is that of an operand; of one that is broadcast the larger. */
const einsum: ShapeRule = (view) => {
  const inputs = view.node.inputs.map((_, i) => view.input(i));
  const type = view.sameType(...inputs);
  const dims = inputs.map((input) => input.dims);
  if (!dims.every((each) => each !== null)) return [{ type, dims: null }];
  const { operands, outer } = formulaOf(view, dims);
  const sizes = new Map<string, Dim>();
  operands.forEach((labels, i) =>
    labels.forEach((label, axis) => {
      const [size, known] = [dims[i][axis], sizes.get(label) ?? 1];
      const both = known === 1
        ? size
        : size === 1
        ? known
        : commonDim(known, size);
      sizes.set(
        label,
        both ?? view.at("equation").fail(
          `${label} is ${describeDims([known])} and ${describeDims([size])}`,
        ),
      );
    })
  );
  return [{ type, dims: outer.map((label) => sizes.get(label) as Dim) }];
};

function formulaOf(view: NodeView, dims: readonly (readonly Dim[])[]) {
  try {
    return einsumFormula(
      view.text("equation", ""),
      dims.map(({ length }) => length),
    );
  } catch (error) {
    if (error instanceof RangeError) view.place.fail(error.message);
    throw error;
  }
}

/** By name. */
export const SAMPLINGS: Readonly<Record<string, ShapeRule>> = {
  GridSample: gridSample,
  AffineGrid: affineGrid,
  RoiAlign: roiAlign,
  Col2Im: col2Im,
  MaxUnpool: maxUnpool,
  NonMaxSuppression: (view) => [
    { type: "int64", dims: [view.unknown(0), 3] },
  ],
  Det: ({ first: { type, dims } }) => [
    { type, dims: dims?.slice(0, -2) ?? null },
  ],
  HannWindow: window,
  HammingWindow: window,
  BlackmanWindow: window,
  TensorScatter: ({ first: { type, dims } }) => [{ type, dims }],
  CausalConvWithState: causalConvolution,
  LinearAttention: linearAttention,
  Einsum: einsum,
};
