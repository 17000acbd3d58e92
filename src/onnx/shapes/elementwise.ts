/** Rules of operators that compute results element by element, and of those that keep a shape. */
import type { PlainType } from "../../tensor/plain_tensor.ts";
import { dataTypeName, plainTypeOf } from "../../tensor/onnx_types.ts";
import { mostOf } from "./arity.ts";
import { broadcastDims } from "./broadcast.ts";
import {
  addDims,
  type Dim,
  floorDivDims,
  isSameDim,
  leastOf,
  maxDims,
  minDims,
  multiplyDims,
  subtractDims,
} from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import {
  describeDims,
  elementsValue,
  type InferredValue,
  isInteger,
} from "./value.ts";

/** The shape and type of input 0. */
const same: ShapeRule = ({ first: { type, dims } }) => [{ type, dims }];

/** The same value. */
const identity: ShapeRule = ({ first }) => [first];

const boolean: ShapeRule = ({ first: { dims } }) => [{ type: "bool", dims }];

/** Type of attribute `name`, an element type's number. */
export function typeAttribute(
  view: NodeView,
  name: string,
  absent: PlainType | null,
): PlainType | null {
  if (!view.has(name)) return absent;
  const code = view.int(name, 0);
  return plainTypeOf(code) ??
    view.at(name).fail(
      `elements of ${dataTypeName(code)} are not computed with`,
    );
}

function cast(given: InferredValue, type: PlainType | null): InferredValue {
  const { dims, elements } = given;
  // Sizes fit in 32 bits or are refused by whoever takes them for one; narrower types wrap around.
  return elements && dims && (type === "int64" || type === "int32")
    ? elementsValue(type, dims as readonly number[], elements)
    : { type, dims };
}

/** Inputs of one type, broadcast; before version 7 b's axes lay under a's. */
function broadcast(view: NodeView, isOneType = true): InferredValue {
  const { given, node, version } = view;
  const count = mostOf(node.op).inputs === 2 ? 2 : Math.max(1, given.length);
  const inputs = Array.from({ length: count }, (_, i) => view.input(i));
  const type = isOneType ? view.sameType(...inputs) : null;
  if (version < 7 && view.flag("broadcast")) {
    return { type, dims: inputs[0].dims };
  }
  return { type, dims: broadcastDims(inputs.map(({ dims }) => dims), view) };
}

type ElementFunction = (a: Dim, b: Dim) => Dim | null;

/** Broadcast arithmetic; of small integers element by element. */
function arithmetic(of?: ElementFunction): ShapeRule {
  return (view) => {
    const result = broadcast(view);
    return [of ? withElements(view, result, of) : result];
  };
}

function withElements(
  { given, isConstant }: NodeView,
  result: InferredValue,
  of: ElementFunction,
): InferredValue {
  const { type, dims } = result;
  const [count] = dims?.length === 0 ? [1] : dims ?? [];
  if (
    isConstant || dims === null || dims.length > 1 ||
    typeof count !== "number" || type === null ||
    given.some((input) => !input?.elements)
  ) return result;
  const lists = given.map((input) => input?.elements ?? []);
  const at = (elements: readonly (Dim | null)[], i: number) =>
    elements[elements.length === 1 ? 0 : i];
  const elements = Array.from(
    { length: count },
    (_, i) =>
      lists.slice(1).reduce<Dim | null>((a, list) => {
        const b = at(list, i);
        return a === null || b === null ? null : of(a, b);
      }, at(lists[0], i)),
  );
  return elementsValue(type, dims as readonly number[], elements);
}

function comparison(of?: (a: Dim, b: Dim) => boolean | null): ShapeRule {
  return (view) => {
    const result: InferredValue = { ...broadcast(view), type: "bool" };
    return [
      of
        ? withElements(view, result, (a, b) => {
          const known = of(a, b);
          return known === null ? null : Number(known);
        })
        : result,
    ];
  };
}

/** Whether a > b, where that is certain. */
function isGreater(a: Dim, b: Dim): boolean | null {
  if (leastOf(subtractDims(a, b)) > 0) return true;
  return leastOf(subtractDims(b, a)) >= 0 ? false : null;
}

function isEqual(a: Dim, b: Dim): boolean | null {
  if (isSameDim(a, b)) return true;
  return isGreater(a, b) || isGreater(b, a) ? false : null;
}

/** Integers are divided towards 0: the same as down where nothing is negative. */
function quotient(a: Dim, b: Dim): Dim | null {
  if (b === 0 || leastOf(a) < 0 || leastOf(b) < 1) {
    return typeof a === "number" && typeof b === "number" && b !== 0
      ? Math.trunc(a / b) + 0
      : null;
  }
  return floorDivDims(a, b);
}

/** Which sign it has of numbers below 0 an attribute says. */
function remainder(a: Dim, b: Dim): Dim | null {
  const down = quotient(a, b);
  return down === null || leastOf(a) < 0 || leastOf(b) < 1
    ? null
    : subtractDims(a, multiplyDims(down, b));
}

const where: ShapeRule = (view) => {
  const [condition, a, b] = [0, 1, 2].map((i) => view.input(i));
  const result: InferredValue = {
    type: view.sameType(a, b),
    dims: broadcastDims([condition.dims, a.dims, b.dims], view),
  };
  const { type, dims } = result;
  const [count] = dims?.length === 0 ? [1] : dims ?? [];
  if (
    !condition.elements || !isInteger(type) || type === null || dims === null ||
    dims.length > 1 || typeof count !== "number"
  ) return [result];
  const at = (input: InferredValue, i: number): Dim | null => {
    const { elements } = input;
    return elements ? elements[elements.length === 1 ? 0 : i] : null;
  };
  return [
    elementsValue(
      type,
      dims as readonly number[],
      Array.from({ length: count }, (_, i) => {
        const isFirst = at(condition, i);
        return isFirst === null ? null : at(isFirst === 0 ? b : a, i);
      }),
    ),
  ];
};

function mapped(of: (a: Dim) => Dim | null): ShapeRule {
  return ({ first: { type, dims, elements }, isConstant }) => [
    elements && type !== null && dims && !isConstant
      ? elementsValue(
        type,
        dims as readonly number[],
        elements.map((one) => one === null ? null : of(one)),
      )
      : { type, dims },
  ];
}

const dropout: ShapeRule = (view) => {
  const { first, type, version } = view;
  return [first, { type: version < 10 ? type : "bool", dims: first.dims }];
};

/** By name. Operators that are not here are those that keep input 0's shape and type. */
const SAME = [
  ...["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin"],
  ...[
    "Sinh",
    "Tan",
    "Tanh",
    "Erf",
    "Exp",
    "Log",
    "Sqrt",
    "Reciprocal",
    "Round",
  ],
  ...["Ceil", "Floor", "Sign", "BitwiseNot", "Celu", "Clip", "Elu", "Gelu"],
  ...[
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Relu",
    "Selu",
    "Shrink",
  ],
  ...["Sigmoid", "Softplus", "Softsign", "Swish", "ThresholdedRelu", "Hardmax"],
  ...["LogSoftmax", "Softmax", "LRN", "LpNormalization", "Trilu", "CumSum"],
  ...["MeanVarianceNormalization", "InstanceNormalization"],
  ...["GroupNormalization", "RMSNormalization"],
  ...["RotaryEmbedding", "ReverseSequence", "ScatterElements", "ScatterND"],
  ...["Scatter", "CumProd"],
];

/** A slope is broadcast to what it is for, never that to the slope; before version 7 there is one of each channel. */
const prelu: ShapeRule = (view) => {
  const { first: { type, dims }, version } = view;
  const slope = view.input(1).dims;
  const out = version < 7 ? dims : broadcastDims([dims, slope], view);
  const isGrown = dims !== null && out !== null &&
    (out.length > dims.length ||
      out.some((size, axis) =>
        dims[axis] === 1 && typeof size === "number" && size !== 1
      ));
  if (isGrown) {
    view.place.fail(
      `a slope of ${describeDims(slope)} over ${describeDims(dims)}`,
    );
  }
  return [{ type, dims }];
};

export const ELEMENTWISE: Readonly<Record<string, ShapeRule>> = {
  ...Object.fromEntries(SAME.map((op) => [op, same])),
  Identity: identity,
  PRelu: prelu,
  Dropout: dropout,
  Not: boolean,
  IsNaN: boolean,
  IsInf: boolean,
  Abs: mapped((a) => leastOf(a) >= 0 ? a : typeof a === "number" ? -a : null),
  Neg: mapped((a) => multiplyDims(a, -1)),
  Cast: (view) => [cast(view.first, typeAttribute(view, "to", null))],
  CastLike: (view) => [cast(view.first, view.input(1).type)],
  Add: arithmetic(addDims),
  Sub: arithmetic(subtractDims),
  Mul: arithmetic(multiplyDims),
  Div: arithmetic(quotient),
  Mod: arithmetic(remainder),
  Max: arithmetic(maxDims),
  Min: arithmetic(minDims),
  Mean: arithmetic(),
  Sum: arithmetic(addDims),
  // The exponent may be of another type.
  Pow: (view) => [{ ...broadcast(view, false), type: view.type }],
  And: arithmetic(),
  Or: arithmetic(),
  Xor: arithmetic(),
  BitShift: arithmetic(),
  BitwiseAnd: arithmetic(),
  BitwiseOr: arithmetic(),
  BitwiseXor: arithmetic(),
  SwiGLU: arithmetic(),
  Equal: comparison(isEqual),
  Greater: comparison(isGreater),
  GreaterOrEqual: comparison((a, b) => {
    const less = isGreater(b, a);
    return less === null ? null : !less;
  }),
  Less: comparison((a, b) => isGreater(b, a)),
  LessOrEqual: comparison((a, b) => {
    const greater = isGreater(a, b);
    return greater === null ? null : !greater;
  }),
  Where: where,
};
