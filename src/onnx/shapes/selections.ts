/** Rules of operators that put tensors together, cut them up, and choose from them. */
import { numbersOf } from "../../tensor/plain_tensor.ts";
import { commonDim } from "./broadcast.ts";
import {
  addDims,
  ceilDivDims,
  type Dim,
  floorDivDims,
  leastOf,
  maxDims,
  minDims,
  multiplyDims,
  subtractDims,
} from "./dim.ts";
import type { ShapeRule } from "./node_view.ts";
import { axesOf } from "./reshapes.ts";
import {
  describeDims,
  ELEMENTS_MAX,
  elementsValue,
  type InferredValue,
} from "./value.ts";

/** Bounds from here on mean "to the end", as exporters write them: 10^9, 2^31 - 1, 2^63 - 1. No axis is as long. */
const ENDLESS = 1e9;

const concat: ShapeRule = (view) => {
  const { given, place, version } = view;
  const inputs = given.map((_, i) => view.input(i));
  if (inputs.length === 0) place.fail("it has no inputs");
  const type = view.sameType(...inputs);
  const shapes = inputs.map(({ dims }) => dims);
  const known = shapes.find((dims) => dims !== null);
  if (known === undefined) return [{ type, dims: null }];
  if (!view.has("axis") && version >= 4) place.fail("it has no axis");
  const axis = view.axis(view.int("axis", 1), known.length);
  let dims: Dim[] | undefined;
  let isOpen = false;
  for (const shape of shapes) {
    if (shape === null) {
      isOpen = true;
      continue;
    }
    if (shape.length !== known.length) misfit();
    dims = dims === undefined
      ? [...shape]
      : dims.map((size, i) =>
        i === axis
          ? addDims(size, shape[i])
          : commonDim(size, shape[i]) ?? misfit()
      );
  }
  function misfit(): never {
    return place.fail(
      `shapes ${
        shapes.map(describeDims).join(" and ")
      } do not fit along axis ${axis}`,
    );
  }
  if (dims && isOpen) dims[axis] = view.unknown(axis);
  const result: InferredValue = { type, dims: dims ?? null };
  const count = dims?.length === 1 ? dims[0] : undefined;
  if (
    type === null || typeof count !== "number" || count > ELEMENTS_MAX ||
    inputs.every(({ elements }) => elements === undefined)
  ) return [result];
  return [
    elementsValue(
      type,
      [count],
      inputs.flatMap((input) =>
        input.elements ??
          Array<null>(input.dims?.[0] as number).fill(null)
      ),
    ),
  ];
};

const split: ShapeRule = (view) => {
  const { first: { type, dims, elements }, node, place, version } = view;
  const outputs = node.outputs.length;
  if (dims === null) {
    return node.outputs.map(() => ({ type, dims: null }));
  }
  const axis = view.axis(view.int("axis", 0), dims.length);
  const size = dims[axis];
  const hasSizes = version >= 13
    ? view.optional(1) !== undefined
    : view.has("split");
  const given: readonly (Dim | null)[] | undefined = version >= 13
    ? view.optional(1)?.elements
    : view.ints("split");
  let sizes: readonly (Dim | null)[];
  if (hasSizes) {
    sizes = given ?? Array<null>(outputs).fill(null);
    if (sizes.length !== outputs) {
      place.fail(`${sizes.length} sizes for ${outputs} outputs`);
    }
    const sum = sizes.every((one) => one !== null)
      ? sizes.reduce<Dim>(addDims, 0)
      : null;
    if (
      typeof sum === "number" && typeof size === "number" && sum !== size ||
      sizes.some((one) => one !== null && typeof one === "number" && one < 0)
    ) {
      place.fail(
        `sizes ${sizes.join(", ")} do not add up to axis ${axis} of ${
          describeDims(dims)
        }`,
      );
    }
  } else {
    const parts = version >= 18 ? view.int("num_outputs", outputs) : outputs;
    if (parts !== outputs) {
      view.at("num_outputs").fail(`it is ${parts}, there are ${outputs}`);
    }
    if (version < 18 && typeof size === "number" && size % parts !== 0) {
      place.fail(
        `axis ${axis} of ${describeDims(dims)} is not cut in ${parts}`,
      );
    }
    // Since version 18 the last part may be smaller.
    const each = version < 18
      ? floorDivDims(size, parts)
      : ceilDivDims(size, parts);
    const last = version < 18
      ? each
      : subtractDims(size, multiplyDims(each, parts - 1));
    if (typeof last === "number" && last < 0) {
      place.fail(
        `axis ${axis} of ${describeDims(dims)} is not cut in ${parts}`,
      );
    }
    sizes = Array.from(
      { length: parts },
      (_, i) => i < parts - 1 ? each : last,
    );
  }
  let at: Dim = 0;
  return sizes.map((one, i): InferredValue => {
    const part = one ?? view.unknown(axis, 0, i);
    const from = at;
    at = addDims(at, part);
    return dims.length === 1 && elements && type !== null &&
        typeof from === "number" && typeof part === "number"
      ? elementsValue(type, [part], elements.slice(from, from + part))
      : { type, dims: dims.with(axis, part) };
  });
};

/** How an axis is cut: where sizes are not known exactly, null. */
interface Cut {
  readonly start: Dim | null;
  readonly end: Dim | null;
  readonly step: Dim | null;
}

/** Elements of an axis that are left; null where that is not known. */
function cutSize(size: Dim, { start, end, step }: Cut): Dim | null {
  if (start === null || end === null || typeof step !== "number") return null;
  const from = startOf(size, start, step > 0);
  const to = bound(size, end, step > 0);
  if (from === null || to === null) return null;
  return step > 0
    ? maxDims(0, ceilDivDims(subtractDims(to, from), step))
    : maxDims(0, ceilDivDims(subtractDims(from, to), -step));
}

/** Where a cut begins: backwards at the first element where that is before it, if there is one. */
function startOf(size: Dim, at: Dim, isForwards: boolean): Dim | null {
  return bound(size, at, isForwards, leastOf(size) >= 1 ? 0 : -1);
}

/** A bound within the axis: 0 to its size forwards, `first` to its size less 1 backwards. */
function bound(
  size: Dim,
  at: Dim,
  isForwards: boolean,
  first = -1,
): Dim | null {
  const [least, most] = isForwards
    ? [0, size]
    : [first, subtractDims(size, 1)] as const;
  if (typeof at === "number") {
    if (at >= ENDLESS) return most;
    if (at <= -ENDLESS) return least;
    return at >= 0 ? minDims(at, most) : maxDims(least, addDims(size, at));
  }
  if (leastOf(at) >= 0) return minDims(at, most);
  // Shapes less something, such as n - 1, or minus a size, which counts from behind.
  return leastOf(multiplyDims(at, -1)) >= 1
    ? maxDims(least, addDims(size, at))
    : null;
}

const slice: ShapeRule = (view) => {
  const { first: { type, dims, elements }, place, version } = view;
  if (dims === null) return [{ type, dims }];
  const list = (name: string, i: number) => {
    if (version < 10) return view.ints(name);
    const given = view.optional(i);
    return given?.constant ? numbersOf(given.constant) : given?.elements;
  };
  const [starts, ends] = [list("starts", 1), list("ends", 2)];
  const isGiven = (i: number) =>
    version >= 10 && view.optional(i) !== undefined;
  const count = starts?.length ?? ends?.length;
  const axes = version < 10
    ? view.ints("axes")?.map((axis) => view.axis(axis, dims.length))
    : axesOf(view, { since: 10, i: 3, rank: dims.length });
  const steps = isGiven(4) ? list("steps", 4) : undefined;
  if (axes === null || count === undefined) {
    return [{ type, dims: view.unknowns(dims.length) }];
  }
  const along = axes ?? Array.from({ length: count }, (_, axis) => axis);
  const all = [starts, ends, steps].filter((each) => each !== undefined);
  if (
    along.length > dims.length ||
    all.some((each) => each.length !== along.length)
  ) {
    place.fail(
      `starts, ends, axes and steps of ${
        all.map(({ length }) => length).join(", ")
      } numbers for ${describeDims(dims)}`,
    );
  }
  const cuts = along.map((_, i): Cut => ({
    start: starts?.[i] ?? null,
    end: ends?.[i] ?? null,
    step: isGiven(4) ? steps?.[i] ?? null : 1,
  }));
  if (cuts.some(({ step }) => step === 0)) place.fail("a step is 0");
  const result = [...dims];
  along.forEach((axis, i) => {
    result[axis] = cutSize(dims[axis], cuts[i]) ?? view.unknown(axis);
  });
  const [cut] = cuts;
  if (elements && type !== null && dims.length === 1 && cut !== undefined) {
    const { start, step } = cut;
    const [count] = result;
    const from = start === null || typeof step !== "number"
      ? null
      : startOf(elements.length, start, step > 0);
    if (typeof from === "number" && typeof count === "number") {
      return [
        elementsValue(
          type,
          [count],
          Array.from(
            { length: count },
            (_, k) => elements[from + k * (step as number)],
          ),
        ),
      ];
    }
  }
  return [{ type, dims: result }];
};

const gather: ShapeRule = (view) => {
  const { first: { type, dims, elements }, place } = view;
  const indices = view.input(1);
  if (dims === null || indices.dims === null) return [{ type, dims: null }];
  const axis = view.axis(view.int("axis", 0), dims.length);
  const result = [
    ...dims.slice(0, axis),
    ...indices.dims,
    ...dims.slice(axis + 1),
  ];
  const chosen = view.numbers(1);
  const size = dims[axis];
  if (typeof size === "number") {
    const outside = chosen?.find((i) => i < -size || i >= size);
    if (outside !== undefined) {
      place.fail(
        `index ${outside} is outside of axis ${axis} of ${describeDims(dims)}`,
      );
    }
  }
  return [
    elements && chosen && type !== null && dims.length === 1 &&
      result.length <= 1
      ? elementsValue(
        type,
        result as number[],
        chosen.map((i) => elements.at(i) ?? null),
      )
      : { type, dims: result },
  ];
};

const gatherElements: ShapeRule = (view) => [{
  type: view.type,
  dims: view.input(1).dims,
}];

const gatherND: ShapeRule = (view) => {
  const { first: { type, dims }, place } = view;
  const indices = view.input(1).dims;
  const depth = indices?.at(-1);
  if (dims === null || indices === null || typeof depth !== "number") {
    return [{ type, dims: null }];
  }
  const batch = view.int("batch_dims", 0);
  if (batch < 0 || batch + depth > dims.length || batch >= indices.length) {
    place.fail(
      `indices of ${describeDims(indices)} do not fit ${describeDims(dims)}`,
    );
  }
  return [{
    type,
    dims: [...indices.slice(0, -1), ...dims.slice(batch + depth)],
  }];
};

const tile: ShapeRule = (view) => {
  const { first: { type, dims }, place } = view;
  if (dims === null) return [{ type, dims }];
  const repeats = view.input(1).elements;
  if (!repeats) return [{ type, dims: view.unknowns(dims.length) }];
  if (repeats.length !== dims.length) {
    place.fail(`${repeats.length} repeats for ${describeDims(dims)}`);
  }
  return [{
    type,
    dims: dims.map((size, axis) => {
      const times = repeats[axis];
      return times === null ? view.unknown(axis) : multiplyDims(size, times);
    }),
  }];
};

const pad: ShapeRule = (view) => {
  const { first: { type, dims }, place, version } = view;
  if (dims === null) return [{ type, dims }];
  const pads: readonly (Dim | null)[] | undefined = version < 11
    ? view.ints(version < 2 ? "paddings" : "pads")
    : view.input(1).elements;
  const axes = version < 18
    ? undefined
    : axesOf(view, { since: 18, i: 3, rank: dims.length });
  if (!pads || axes === null) {
    return [{ type, dims: view.unknowns(dims.length) }];
  }
  const along = axes ?? dims.map((_, axis) => axis);
  if (pads.length !== 2 * along.length) {
    place.fail(`${pads.length} pads for ${along.length} axes`);
  }
  const result = [...dims];
  along.forEach((axis, i) => {
    const [before, after] = [pads[i], pads[i + along.length]];
    result[axis] = before === null || after === null
      ? view.unknown(axis)
      : addDims(dims[axis], addDims(before, after));
  });
  if (result.some((size) => typeof size === "number" && size < 0)) {
    place.fail(`nothing is left of ${describeDims(dims)}`);
  }
  return [{ type, dims: result }];
};

const oneHot: ShapeRule = (view) => {
  const { type } = view.input(2);
  const { dims } = view.first;
  if (dims === null) return [{ type, dims }];
  const axis = view.axis(view.int("axis", -1), dims.length + 1);
  const depth = view.input(1).elements?.[0] ??
    view.input(1).constant?.data[0];
  const size = typeof depth === "bigint" ? Number(depth) : depth;
  return [{
    type,
    dims: dims.toSpliced(axis, 0, size ?? view.unknown(axis)),
  }];
};

const nonZero: ShapeRule = (view) => {
  const { dims } = view.first;
  return [{
    type: "int64",
    dims: [dims === null ? view.unknown(0) : dims.length, view.unknown(1)],
  }];
};

const topK: ShapeRule = (view) => {
  const { first: { type, dims }, version } = view;
  const k = version < 10 ? view.int("k", 0) : view.input(1).elements?.[0];
  if (dims === null) return [{ type, dims }, { type: "int64", dims }];
  const axis = view.axis(view.int("axis", -1), dims.length);
  const size = dims[axis];
  if (
    typeof k === "number" && typeof size === "number" && k > size ||
    Number(k) < 0
  ) {
    view.place.fail(`${k} of axis ${axis} of ${describeDims(dims)}`);
  }
  const result = dims.with(axis, k ?? view.unknown(axis));
  return [{ type, dims: result }, { type: "int64", dims: result }];
};

const compress: ShapeRule = (view) => {
  const { first: { type, dims } } = view;
  if (!view.has("axis")) return [{ type, dims: [view.unknown(0)] }];
  if (dims === null) return [{ type, dims }];
  const axis = view.axis(view.int("axis", 0), dims.length);
  return [{ type, dims: dims.with(axis, view.unknown(axis)) }];
};

const centerCropPad: ShapeRule = (view) => {
  const { first: { type, dims } } = view;
  if (dims === null) return [{ type, dims }];
  const target = view.input(1).elements;
  const axes = view.ints("axes")?.map((axis) => view.axis(axis, dims.length)) ??
    dims.map((_, axis) => axis);
  if (target && target.length !== axes.length) {
    view.place.fail(`${target.length} sizes for ${axes.length} axes`);
  }
  const result = [...dims];
  axes.forEach((axis, i) => {
    result[axis] = target?.[i] ?? view.unknown(axis);
  });
  return [{ type, dims: result }];
};

/** By name. */
export const SELECTIONS: Readonly<Record<string, ShapeRule>> = {
  Concat: concat,
  Split: split,
  Slice: slice,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  Tile: tile,
  Pad: pad,
  OneHot: oneHot,
  NonZero: nonZero,
  TopK: topK,
  Compress: compress,
  CenterCropPad: centerCropPad,
};
