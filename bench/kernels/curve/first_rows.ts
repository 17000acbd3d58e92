/** One case of many rows, timed with fewer of them against the same weights. */
import type {
  Equivalent,
  PlainValue,
} from "../../../test/kernels/equivalent.ts";
import type { KernelCase } from "../../../test/kernels/kernel_case.ts";
import { place } from "../../../test/kernels/placement.ts";
import type { Task } from "../task.ts";

/** What tasks of one case have in common, computed when first asked for. */
export class SharedCase {
  readonly #name: string;
  readonly #case: KernelCase;
  #expected: ReturnType<KernelCase["expected"]> | undefined;
  #equivalent: Equivalent | undefined;

  /** @param name of the kernel; @param kernelCase has work */
  constructor(name: string, kernelCase: KernelCase) {
    this.#name = name;
    this.#case = kernelCase;
  }

  /** The first `rows` rows. @param bytes that a call reads at least once */
  task(rows: number, bytes: number): Task {
    const { label, work, rows: all, results, tolerance } = this.#case;
    if (work === undefined) throw new Error(`${label} does not say its work`);
    const order = Array.from({ length: rows }, (_, i) => i);
    return {
      area: this.#name,
      label: `${this.#name} ${label.replace(/^m=\d+/, `m=${rows}`)}`,
      count: work.count / all * rows,
      unit: work.unit,
      bytes,
      own: (own) => {
        const placed = place(own.memory, this.#case, {
          base: own.base,
          dense: true,
          order,
        });
        return { run: () => placed.run(own.kernels), bits: placed.bits };
      },
      ...(this.#case.equivalent && {
        equivalent: () => {
          this.#equivalent ??= this.#case.equivalent!();
          return firstRowsOf(this.#equivalent, all, rows);
        },
      }),
      naive: {
        results,
        tolerance,
        expected: () => {
          this.#expected ??= this.#case.expected();
          return Object.fromEntries(
            Object.entries(this.#expected).map(([name, values]) => [
              name,
              Array.from(values).slice(0, values.length / all * rows),
            ]),
          );
        },
      },
    };
  }
}

/**
 * The same operation on the first rows of its inputs.
 * @throws {RangeError} unless inputs and outputs have one row after the other
 */
export function firstRowsOf(
  operation: Equivalent,
  all: number,
  rows: number,
): Equivalent {
  if (rows === all) return operation;
  const shapeOf = ({ name, shape }: PlainValue): number[] => {
    const axis = shape.findIndex((size) => size !== 1);
    const at = axis < 0 ? shape.length - 1 : axis;
    if (shape[at] !== all) {
      throw new RangeError(`${name} [${shape}] is not ${all} rows`);
    }
    return shape.with(at, rows) as number[];
  };
  return {
    ...operation,
    inputs: operation.inputs.map((input) => ({
      ...input,
      shape: shapeOf(input),
      data: input.data.slice(0, input.data.length / all * rows),
    })),
    outputs: operation.outputs.map((output) => ({
      ...output,
      shape: shapeOf(output),
    })),
  };
}
