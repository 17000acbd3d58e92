/** Sums of products by a formula in letters. Products and sums in f64, in row-major order of the summed letters. */
import { describe } from "../base/describe.ts";
import { FLOATS, floats, type PlainInputs, stringOf } from "./given.ts";
import { outputOf, positions, stridesOf, upTo } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** Labels of an operand's axes; axes of an ellipsis are numbers, counted from the last one. */
export type Labels = readonly string[];

/** A formula, of operands of so many axes. */
export interface Formula {
  readonly operands: readonly Labels[];
  /** Of the result. */
  readonly outer: Labels;
}

/** @param rank axes of the operand, which an ellipsis fills up to */
function labelsOf(term: string, rank: number, fail: () => never): Labels {
  const match = /^([A-Za-z]*)(\.\.\.)?([A-Za-z]*)$/.exec(term);
  if (!match) return fail();
  const [, before, dots, after] = match;
  const more = dots ? rank - before.length - after.length : 0;
  if (more < 0 || before.length + more + after.length !== rank) return fail();
  return [...before, ...upTo(more).reverse().map(String), ...after];
}

/** @throws RangeError where it does not fit the operands' axes */
export function einsumFormula(
  equation: string,
  ranks: readonly number[],
): Formula {
  const fail = (): never => unfit(equation);
  const [left, right] = equation.replaceAll(" ", "").split("->");
  const terms = left.split(",");
  if (terms.length !== ranks.length) fail();
  const operands = terms.map((term, i) => labelsOf(term, ranks[i], fail));
  const all = operands.flat();
  const labels = [...new Set(all)];
  const dots = labels.filter((label) => /\d/.test(label))
    .sort((a, b) => Number(b) - Number(a));
  // Without an arrow: axes of the ellipsis, then letters that are there once, in alphabetical order.
  const outer = right === undefined
    ? [
      ...dots,
      ...labels.filter((label) =>
        !/\d/.test(label) && all.filter((other) => other === label).length === 1
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
    !outer.every((label) => labels.includes(label))
  ) fail();
  return { operands, outer };
}

function unfit(equation: string): never {
  throw new RangeError(
    `attribute equation is ${
      describe(equation)
    }, which does not fit the inputs`,
  );
}

export const EINSUM: Readonly<Record<string, PlainOperator>> = {
  Einsum: {
    since: [12, 28],
    types: FLOATS,
    limits: "no integers",
    run: (inputs: PlainInputs, attributes) => {
      const equation = stringOf(attributes, "equation");
      const given = inputs.map((_, i) => floats(inputs, i, `Inputs_${i}`));
      const formula = einsumFormula(
        equation,
        given.map(({ dims }) => dims.length),
      );
      const operands = given.map((x, i) => ({
        x,
        labels: formula.operands[i],
      }));
      const sizes = new Map<string, number>();
      for (const { x, labels } of operands) {
        labels.forEach((label, axis) => {
          const [size, known] = [x.dims[axis], sizes.get(label) ?? 1];
          if (known !== 1 && size !== 1 && size !== known) unfit(equation);
          sizes.set(label, size === 1 ? known : size);
        });
      }
      const { outer } = formula;
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
