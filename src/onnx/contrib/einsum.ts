/**
 * Einsum of one or two operands as what it stands for: sums of axes that one has alone, both turned and put together to
 * matrices, their product, turned back. Three operands, diagonals and axes of size 1 that are broadcast stay as they are.
 */
import { einsumFormula, type Labels } from "../../plain/einsum.ts";
import { type Dim, isSameDim, multiplyDims } from "../shapes/dim.ts";
import type { Expand, Expansion } from "./expansion.ts";

/** A value and its axes. */
interface Operand {
  readonly name: string;
  readonly labels: Labels;
}

type Sizes = ReadonlyMap<string, Dim>;

export const einsum: Expand = (given) => {
  const { node: { inputs, outputs } } = given;
  const values = inputs.map((_, i) => given.value(i));
  const isKnown = values.every(({ type, dims }) =>
    type === "float32" && dims !== null
  );
  // Of constants it is computed when the file is loaded.
  if (!isKnown || inputs.length > 2 || values.every(isConstant)) return;
  const formula = einsumFormula(
    given.attribute("equation", "string", ""),
    inputs.map((_, i) => given.dims(i).length),
  );
  const sizes = sizesOf(given, formula.operands);
  if (sizes === undefined) return;
  const operands = formula.operands.map((labels, i) =>
    withoutOwn(given, { name: inputs[i], labels }, [
      ...formula.outer,
      ...formula.operands.flatMap((others, k) => k === i ? [] : others),
    ])
  );
  if (operands.length === 1) {
    return turned(given, operands[0], formula.outer, outputs[0]);
  }
  // Weights to the right, where a product has them.
  const [left, right] = isConstant(values[0])
    ? operands.toReversed()
    : operands;
  const isShared = (label: string) =>
    left.labels.includes(label) && right.labels.includes(label);
  const inner = left.labels.filter((label) =>
    isShared(label) && !formula.outer.includes(label)
  );
  if (inner.length === 0) {
    const [a, b] = [left, right].map((operand) =>
      spread(given, operand, formula.outer)
    );
    given.add("Mul", [a, b], {}, outputs[0]);
    return;
  }
  multiplied(given, left, right, {
    batch: formula.outer.filter(isShared),
    inner,
    outer: formula.outer,
    sizes,
  });
};

function isConstant({ constant }: { constant?: unknown }): boolean {
  return constant !== undefined;
}

/** Undefined where an operand has a label twice, or sizes are not the same. */
function sizesOf(
  given: Expansion,
  operands: readonly Labels[],
): Sizes | undefined {
  const sizes = new Map<string, Dim>();
  for (const [i, labels] of operands.entries()) {
    if (new Set(labels).size < labels.length) return undefined;
    for (const [axis, label] of labels.entries()) {
      const size = given.dims(i)[axis];
      if (!isSameDim(sizes.get(label) ?? size, size)) return undefined;
      sizes.set(label, size);
    }
  }
  return sizes;
}

/** Axes that nobody else has, and that do not come out, are summed up. */
function withoutOwn(
  given: Expansion,
  { name, labels }: Operand,
  wanted: Labels,
): Operand {
  const own = labels.flatMap((label, axis) =>
    wanted.includes(label) ? [] : [axis]
  );
  if (own.length === 0) return { name, labels };
  return {
    name: given.add("ReduceSum", [name, given.whole(...own)], { keepdims: 0 }),
    labels: labels.filter((label) => wanted.includes(label)),
  };
}

function turned(
  given: Expansion,
  { name, labels }: Operand,
  order: Labels,
  to?: string,
): void {
  given.add(
    "Transpose",
    [name],
    { perm: order.map((label) => labels.indexOf(label)) },
    to,
  );
}

/** An operand in the order of the result's axes, one of size 1 where it has none. */
function spread(
  given: Expansion,
  { name, labels }: Operand,
  outer: Labels,
): string {
  const order = outer.filter((label) => labels.includes(label));
  const missing = outer.flatMap((label, axis) =>
    labels.includes(label) ? [] : [axis]
  );
  const inOrder = inAxes(given, { name, labels }, order);
  return missing.length === 0
    ? inOrder
    : given.add("Unsqueeze", [inOrder, given.whole(...missing)]);
}

/** An operand with its axes in an order. */
function inAxes(
  given: Expansion,
  { name, labels }: Operand,
  order: Labels,
): string {
  const perm = order.map((label) => labels.indexOf(label));
  return perm.every((from, to) => from === to)
    ? name
    : given.add("Transpose", [name], { perm });
}

/** Axes of a product. */
interface Axes {
  /** Of both operands and the result. */
  readonly batch: Labels;
  /** Of both operands, summed up. */
  readonly inner: Labels;
  /** Of the result. */
  readonly outer: Labels;
  readonly sizes: Sizes;
}

function multiplied(
  given: Expansion,
  left: Operand,
  right: Operand,
  { batch, inner, outer, sizes }: Axes,
): void {
  const rows = outer.filter((label) =>
    left.labels.includes(label) && !batch.includes(label)
  );
  const columns = outer.filter((label) =>
    right.labels.includes(label) && !batch.includes(label)
  );
  // Without a batch the rows of the left side may have any number of axes.
  const lines = batch.length === 0 && rows.length > 0
    ? rows.map((label) => [label])
    : [...batch.map((label) => [label]), rows];
  const product = given.add("MatMul", [
    grouped(given, left, [...lines, inner], sizes),
    grouped(
      given,
      right,
      [...batch.map((label) => [label]), inner, columns],
      sizes,
    ),
  ]);
  const order = [...batch, ...rows, ...columns];
  const groups = [...lines, columns];
  const apart = groups.every(({ length }) => length === 1)
    ? product
    : reshaped(given, product, order.map((label) => [label]), sizes, groups);
  turned(given, { name: apart, labels: order }, outer, given.node.outputs[0]);
}

/** An operand whose axes are put together group by group. */
function grouped(
  given: Expansion,
  operand: Operand,
  groups: readonly Labels[],
  sizes: Sizes,
): string {
  const order = groups.flat();
  const inOrder = inAxes(given, operand, order);
  return groups.every(({ length }) => length === 1)
    ? inOrder
    : reshaped(given, inOrder, groups, sizes, order.map((label) => [label]));
}

/** Sizes that are not known are taken from the same place before, or are what is left. */
function reshaped(
  given: Expansion,
  name: string,
  groups: readonly Labels[],
  sizes: Sizes,
  before: readonly Labels[],
): string {
  let isLeft = false;
  const shape = groups.map((group, axis) => {
    const size = group.map((label) => sizes.get(label) as Dim)
      .reduce<Dim>(multiplyDims, 1);
    if (typeof size === "number") return size;
    if (before[axis]?.join() === group.join()) return 0;
    given.refuse(isLeft, "a formula of several sizes that are not known");
    isLeft = true;
    return -1;
  });
  return given.add("Reshape", [name, given.whole(...shape)]);
}
