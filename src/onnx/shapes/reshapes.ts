/** Rules of operators that see the same elements under another shape, and of what makes shapes. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { plainOf } from "../../tensor/plain_tensor.ts";
import { typeAttribute } from "./elementwise.ts";
import {
  addDims,
  ceilDivDims,
  type Dim,
  divideExactly,
  floorDivDims,
  maxDims,
  multiplyDims,
  productOf,
  subtractDims,
} from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import {
  constantValue,
  describeDims,
  ELEMENTS_MAX,
  elementsValue,
  type InferredValue,
  scalarOf,
} from "./value.ts";
import { broadcastDims } from "./broadcast.ts";

/** The same elements under other sizes; followed as long as there is at most one axis. */
function reshaped(
  { type, elements }: InferredValue,
  dims: readonly Dim[] | null,
): InferredValue {
  if (
    elements === undefined || type === null || dims === null ||
    dims.length > 1 || !dims.every((size) => typeof size === "number")
  ) return { type, dims };
  return elementsValue(type, dims, elements);
}

/** Axes from an attribute or, since a version of the operator, an input. @returns null where they are not known */
export function axesOf(
  view: NodeView,
  { since, i, rank }: { since: number; i: number; rank: number },
): readonly number[] | null | undefined {
  let axes: readonly number[] | undefined;
  if (view.version < since) axes = view.ints("axes");
  else if (view.optional(i) !== undefined) {
    axes = view.numbers(i);
    if (axes === undefined) return null;
  }
  const found = axes?.map((axis) => view.axis(axis, rank));
  if (found && new Set(found).size < found.length) {
    view.place.fail(`axes ${axes?.join(", ")} name one twice`);
  }
  return found;
}

const constant: ShapeRule = (view) => {
  const { place } = view;
  const kinds = {
    value: () => view.attribute("value", "tensor"),
    value_float: () => {
      const value = view.attribute("value_float", "float");
      return value === undefined ? undefined : plainOf("float32", [], [value]);
    },
    value_floats: () => {
      const value = view.attribute("value_floats", "floats");
      return value && plainOf("float32", [value.length], value);
    },
    value_int: () => {
      const value = view.attribute("value_int", "int");
      return value === undefined ? undefined : plainOf("int64", [], [value]);
    },
    value_ints: () => {
      const value = view.attribute("value_ints", "ints");
      return value && plainOf("int64", [value.length], value);
    },
  } satisfies Record<string, () => PlainTensor | undefined>;
  for (const read of Object.values(kinds)) {
    const found = read();
    if (found !== undefined) return [constantValue(found)];
  }
  return place.fail("it has no value that is read");
};

const constantOfShape: ShapeRule = (view) => {
  const { elements, dims: given } = view.first;
  const rank = given?.[0];
  const value = view.attribute("value", "tensor");
  const type = value?.type ?? "float32";
  if (!elements) {
    return [{
      type,
      dims: typeof rank === "number" && rank <= ELEMENTS_MAX
        ? view.unknowns(rank)
        : null,
    }];
  }
  const dims = elements.map((size, axis) => size ?? view.unknown(axis));
  const negative = dims.find((size) => typeof size === "number" && size < 0);
  if (negative !== undefined) {
    view.place.fail(`a size of ${negative} in ${describeDims(dims)}`);
  }
  const [count] = dims;
  const isShape = type !== "float32" && dims.length === 1 &&
    typeof count === "number" && count <= ELEMENTS_MAX;
  return [
    isShape
      ? elementsValue(
        type,
        [count],
        Array(count).fill(Number(value?.data[0] ?? 0)),
      )
      : { type, dims },
  ];
};

const shape: ShapeRule = (view) => {
  const { dims } = view.first;
  if (dims === null) return [{ type: "int64", dims: [view.unknown(0)] }];
  const elements = dims.slice(
    view.int("start", 0),
    view.has("end") ? view.int("end", 0) : undefined,
  );
  return [elementsValue("int64", [elements.length], elements)];
};

const size: ShapeRule = ({ first: { dims } }) => [
  dims === null
    ? { type: "int64", dims: [] }
    : elementsValue("int64", [], [productOf(dims)]),
];

const reshape: ShapeRule = (view) => {
  const { first, place, version } = view;
  const given = version < 5 ? undefined : view.input(1);
  const rank = given?.dims?.[0];
  const target = rank === 0 ? [] : given ? given.elements : view.ints("shape");
  if (target === undefined) {
    return [
      reshaped(
        first,
        typeof rank === "number" && rank <= ELEMENTS_MAX
          ? view.unknowns(rank)
          : null,
      ),
    ];
  }
  const keepsZero = view.flag("allowzero");
  const from = first.dims;
  const dims = target.map((size, axis): Dim | "rest" => {
    if (size === -1 || size === null) return "rest";
    if (size !== 0 || keepsZero) return size;
    if (from === null) return view.unknown(axis);
    return from[axis] ??
      place.fail(`axis ${axis} is to stay, its input has ${from.length} axes`);
  });
  const rests = dims.flatMap((size, axis) => size === "rest" ? [axis] : []);
  const known = dims.filter((size): size is Dim => size !== "rest");
  const negative = known.find((size) => typeof size === "number" && size < 0);
  if (negative !== undefined) place.fail(`a size of ${negative} is none`);
  const isAsked = target.filter((size) => size === -1).length;
  if (isAsked > 1) place.fail("two sizes are to be found out");
  const filled = (rest: (axis: number) => Dim) =>
    dims.map((size, axis) => size === "rest" ? rest(axis) : size);
  if (from === null || rests.length > 1) {
    return [reshaped(first, filled((axis) => view.unknown(axis)))];
  }
  const [all, some] = [productOf(from), productOf(known)];
  const misfit = () =>
    place.fail(
      `${describeDims(from)} does not fit into [${
        describeDims(filled(() => -1)).slice(1, -1)
      }]`,
    );
  if (rests.length === 0) {
    if (typeof all === "number" && typeof some === "number" && all !== some) {
      misfit();
    }
    return [reshaped(first, known)];
  }
  const rest = some === 0 ? undefined : divideExactly(all, some);
  if (typeof all === "number" && typeof some === "number" && some !== 0) {
    if (rest === undefined) misfit();
  }
  return [
    reshaped(
      first,
      filled((axis) =>
        rest ?? (some === 0 ? view.unknown(axis) : floorDivDims(all, some))
      ),
    ),
  ];
};

const flatten: ShapeRule = (view) => {
  const { type, dims } = view.first;
  if (dims === null) return [{ type, dims: view.unknowns(2) }];
  const axis = view.int("axis", 1);
  const at = axis === dims.length ? axis : view.axis(axis, dims.length);
  return [{
    type,
    dims: [productOf(dims.slice(0, at)), productOf(dims.slice(at))],
  }];
};

const squeeze: ShapeRule = (view) => {
  const { first, place } = view;
  const { dims, type } = first;
  if (dims === null) return [{ type, dims }];
  const axes = axesOf(view, { since: 13, i: 1, rank: dims.length });
  if (axes === null) return [{ type, dims: null }];
  if (axes === undefined) {
    // A size that is not known may be 1.
    const isKnown = dims.every((size) => typeof size === "number");
    return [
      reshaped(first, isKnown ? dims.filter((size) => size !== 1) : null),
    ];
  }
  for (const axis of axes) {
    if (typeof dims[axis] === "number" && dims[axis] !== 1) {
      place.fail(`axis ${axis} of ${describeDims(dims)} is not of size 1`);
    }
  }
  return [reshaped(first, dims.filter((_, axis) => !axes.includes(axis)))];
};

const unsqueeze: ShapeRule = (view) => {
  const { first, place, version } = view;
  const { dims, type } = first;
  const given = version < 13 ? view.ints("axes") : view.numbers(1);
  if (dims === null || given === undefined) {
    if (version < 13 && given === undefined) place.fail("it has no axes");
    return [{ type, dims: null }];
  }
  const rank = dims.length + given.length;
  const axes = given.map((axis) => view.axis(axis, rank));
  if (new Set(axes).size < axes.length) {
    place.fail(`axes ${given.join(", ")} name one twice`);
  }
  const rest = dims[Symbol.iterator]();
  return [
    reshaped(
      first,
      Array.from(
        { length: rank },
        (_, axis) => axes.includes(axis) ? 1 : rest.next().value as Dim,
      ),
    ),
  ];
};

const transpose: ShapeRule = (view) => {
  const { first, place } = view;
  const { dims } = first;
  const perm = view.ints("perm");
  if (dims === null) {
    return [{
      type: first.type,
      dims: perm ? view.unknowns(perm.length) : null,
    }];
  }
  if (perm === undefined) return [reshaped(first, dims.toReversed())];
  if (
    perm.length !== dims.length ||
    [...perm].sort((a, b) => a - b).some((axis, i) => axis !== i)
  ) {
    place.fail(
      `perm [${perm.join(", ")}] is no order of the axes of ${
        describeDims(dims)
      }`,
    );
  }
  return [reshaped(first, perm.map((axis) => dims[axis]))];
};

const expand: ShapeRule = (view) => {
  const { first: { type, dims, elements } } = view;
  const given = view.input(1);
  const target = given.elements;
  if (!target) {
    const rank = given.dims?.[0];
    const axes = typeof rank === "number" && rank <= ELEMENTS_MAX && dims
      ? Math.max(rank, dims.length)
      : undefined;
    return [{
      type,
      dims: axes === undefined ? null : view.unknowns(axes),
    }];
  }
  const to = broadcastDims(
    [dims, target.map((size, axis) => size ?? view.unknown(axis))],
    view,
  );
  const [count] = to ?? [];
  return [
    elements?.length === 1 && type !== null && to?.length === 1 &&
      typeof count === "number" && count <= ELEMENTS_MAX
      ? elementsValue(type, [count], Array(count).fill(elements[0]))
      : { type, dims: to },
  ];
};

const range: ShapeRule = (view) => {
  const inputs = [0, 1, 2].map((i) => view.input(i));
  const type = view.sameType(...inputs);
  const [start, limit, delta] = inputs.map((input): Dim | null =>
    scalarOf(input) ?? input.elements?.[0] ?? null
  );
  if (delta === 0) view.place.fail("its delta is 0");
  if (
    start === null || limit === null || typeof delta !== "number" ||
    type === null
  ) return [{ type, dims: [view.unknown(0)] }];
  if (type === "float32") {
    const isKnown = typeof start === "number" && typeof limit === "number";
    return [{
      type,
      dims: [
        isKnown
          ? Math.max(0, Math.ceil((limit - start) / delta))
          : view.unknown(0),
      ],
    }];
  }
  const span = delta > 0
    ? subtractDims(limit, start)
    : subtractDims(start, limit);
  const count = maxDims(0, ceilDivDims(span, Math.abs(delta)));
  return [
    typeof count === "number" && count <= ELEMENTS_MAX
      ? elementsValue(
        type,
        [count],
        Array.from({ length: count }, (_, i) => addDims(start, i * delta)),
      )
      : { type, dims: [count] },
  ];
};

const eyeLike: ShapeRule = (view) => [{
  type: typeAttribute(view, "dtype", view.type),
  dims: view.first.dims,
}];

/** Blocks of `blocksize` by `blocksize` pixels to channels, or back. */
function blocks(isToDepth: boolean): ShapeRule {
  return (view) => {
    const { first: { type, dims }, place } = view;
    const block = view.int("blocksize", 0);
    if (!(block >= 1)) view.at("blocksize").fail(`it is ${block}`);
    if (dims === null) return [{ type, dims: view.unknowns(4) }];
    if (dims.length !== 4) place.fail(`${describeDims(dims)} is no image`);
    const divided = (size: Dim, by: number) => {
      if (typeof size === "number" && size % by !== 0) {
        place.fail(`${size} of ${describeDims(dims)} is no multiple of ${by}`);
      }
      return floorDivDims(size, by);
    };
    const [n, c, h, w] = dims;
    return [{
      type,
      dims: isToDepth
        ? [
          n,
          multiplyDims(c, block * block),
          divided(h, block),
          divided(w, block),
        ]
        : [
          n,
          divided(c, block * block),
          multiplyDims(h, block),
          multiplyDims(w, block),
        ],
    }];
  };
}

/** By name. */
export const RESHAPES: Readonly<Record<string, ShapeRule>> = {
  Constant: constant,
  ConstantOfShape: constantOfShape,
  Shape: shape,
  Size: size,
  Reshape: reshape,
  Flatten: flatten,
  Squeeze: squeeze,
  Unsqueeze: unsqueeze,
  Transpose: transpose,
  Expand: expand,
  Range: range,
  EyeLike: eyeLike,
  SpaceToDepth: blocks(true),
  DepthToSpace: blocks(false),
};
