/** Sums of products by a formula in letters. Products and sums in f64, in row-major order of the summed letters. */
import { describe } from "../base/describe.ts";
import { FLOATS, floats, type PlainInputs, stringOf } from "./given.ts";
import { outputOf, positions, stridesOf, upTo } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** Labels of an operand's axes; axes of an ellipsis are numbers, counted from the last one. */
type Labels = readonly string[];

/** @param rank axes of the operand, which an ellipsis fills up to */
function labelsOf(term: string, rank: number, fail: () => never): Labels {
  const match = /^([A-Za-z]*)(\.\.\.)?([A-Za-z]*)$/.exec(term);
  if (!match) return fail();
  const [, before, dots, after] = match;
  const more = dots ? rank - before.length - after.length : 0;
  if (more < 0 || before.length + more + after.length !== rank) return fail();
  return [...before, ...upTo(more).reverse().map(String), ...after];
}

export const EINSUM: Readonly<Record<string, PlainOperator>> = {
  Einsum: {
    since: [12, 28],
    types: FLOATS,
    limits: "no integers",
    run: (inputs: PlainInputs, attributes) => {
      const equation = stringOf(attributes, "equation").replaceAll(" ", "");
      const fail = (): never => {
        throw new RangeError(
          `attribute equation is ${
            describe(equation)
          }, which does not fit the inputs`,
        );
      };
      const [left, right] = equation.split("->");
      const terms = left.split(",");
      if (terms.length !== inputs.length) fail();
      const operands = terms.map((term, i) => {
        const x = floats(inputs, i, `Inputs_${i}`);
        return { x, labels: labelsOf(term, x.dims.length, fail) };
      });
      const sizes = new Map<string, number>();
      for (const { x, labels } of operands) {
        labels.forEach((label, axis) => {
          const [size, known] = [x.dims[axis], sizes.get(label) ?? 1];
          if (known !== 1 && size !== 1 && size !== known) fail();
          sizes.set(label, size === 1 ? known : size);
        });
      }
      const all = operands.flatMap(({ labels }) => labels);
      const dots = [...sizes.keys()].filter((label) => /\d/.test(label))
        .sort((a, b) => Number(b) - Number(a));
      // Without an arrow: axes of the ellipsis, then letters that are there once, in alphabetical order.
      const outer = right === undefined
        ? [
          ...dots,
          ...[...sizes.keys()].filter((label) =>
            !/\d/.test(label) &&
            all.filter((other) => other === label).length === 1
          ).sort(),
        ]
        : labelsOf(
          right,
          right.replace("...", "").length +
            (right.includes("...") ? dots.length : 0),
          fail,
        );
      if (
        new Set(outer).size < outer.length ||
        !outer.every((label) => sizes.has(label))
      ) fail();
      const inner = [...sizes.keys()].filter((label) => !outer.includes(label));
      const sizesOf = (labels: Labels) =>
        labels.map((label) => sizes.get(label) as number);
      const result = outputOf("float32", sizesOf(outer));
      const read = operands.map(({ x, labels }) => {
        const strides = stridesOf(x.dims);
        // An axis of size 1 is broadcast, a label that is there twice is a diagonal.
        const along = (label: string) =>
          labels.reduce(
            (sum, own, axis) =>
              own === label && x.dims[axis] !== 1 ? sum + strides[axis] : sum,
            0,
          );
        return {
          data: x.data,
          starts: positions(sizesOf(outer), outer.map(along)),
          steps: positions(sizesOf(inner), inner.map(along)),
        };
      });
      const summed = read[0].steps.length;
      for (let i = 0; i < result.data.length; i++) {
        let sum = 0;
        for (let k = 0; k < summed; k++) {
          let product = 1;
          for (const { data, starts, steps } of read) {
            product *= data[starts[i] + steps[k]];
          }
          sum += product;
        }
        result.data[i] = sum;
      }
      return [result];
    },
  },
};
