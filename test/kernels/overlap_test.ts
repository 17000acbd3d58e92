import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { checkCall } from "../../src/kernels/host/check_call.ts";
import { KERNELS } from "./registry.ts";
import { KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import {
  type KernelName,
  type RowsParameter,
  rowWidth,
} from "../../src/kernels/spec/signature.ts";
import { recordCalls } from "./bad_arguments.ts";
import { release } from "./builds.ts";

const { kernels, memory } = release;
const words = new Uint32Array(memory.buffer);
const ROWS = 3;

/** Row operands of a kernel with their places in the argument list. */
function rowOperands(
  kernel: KernelName,
): { parameter: RowsParameter; i: number }[] {
  return KERNEL_SPECS[kernel].parameters.flatMap((parameter, i) =>
    parameter.kind === "rows" && parameter.count === undefined
      ? [{ parameter, i }]
      : []
  );
}

for (const { name, cases } of KERNELS) {
  const kernel: KernelName = name;
  const operands = rowOperands(kernel);
  const results = operands.filter(({ parameter }) =>
    parameter.access === "out"
  );
  if (results.length === 0) continue;

  Deno.test(`${name}: a result may lie over an input where its signature says so, and nowhere else`, () => {
    for (let seed = 0; seed < 12; ++seed) {
      const kernelCase = cases({
        prng: new Prng(seed),
        rows: ROWS,
        exact: false,
      });
      const call = recordCalls(release, kernelCase)
        .findLast((call) => call.kernel === kernel)!;
      for (const { parameter, i } of results) {
        if (call.args[i] === 0) continue;
        const check = () => checkCall(kernel, call.args, { kernels, memory });
        const entry = call.args[i] / 4;
        const saved = words.slice(entry, entry + ROWS);
        for (const other of operands) {
          const { args } = call;
          const table = args[other.i];
          if (other.i === i || table === 0) continue;
          if (other.parameter.when?.(sizes(kernel, args)) === false) continue;
          words.set(words.subarray(table / 4, table / 4 + ROWS), entry);
          if (parameter.over?.includes(other.parameter.name)) {
            assert.doesNotThrow(check, kernelCase.label);
            // One of the rows only: another row's input may not be its result.
            words[entry] = saved[0];
            words[entry + 1] = words[table / 4 + 2];
          }
          // A slice of no elements overlaps nothing.
          if (!empty(kernel, args, other.parameter)) {
            assert.throws(
              check,
              /overlaps/,
              `${parameter.name} ${kernelCase.label}`,
            );
          }
          words.set(saved, entry);
        }
        words[entry] = words[entry + 1];
        if (parameter.repeats) assert.doesNotThrow(check, kernelCase.label);
        else if (!empty(kernel, call.args, parameter)) {
          assert.throws(
            check,
            /overlaps/,
            `${parameter.name} ${kernelCase.label}`,
          );
        }
        words.set(saved, entry);
      }
    }
  });

  Deno.test(`${name}: no result lies over what says where operands are, nor over a shape or weights`, () => {
    const kernelCase = cases({ prng: new Prng(1), rows: ROWS, exact: false });
    const call = recordCalls(release, kernelCase)
      .findLast((call) => call.kernel === kernel)!;
    const { parameters } = KERNEL_SPECS[kernel];
    for (const { parameter, i } of results) {
      if (call.args[i] === 0 || empty(kernel, call.args, parameter)) continue;
      const entry = call.args[i] / 4;
      const [saved] = words.subarray(entry);
      parameters.forEach((other, at) => {
        const address = call.args[at];
        const isPlace = ["rows", "tables", "shape", "array"]
          .includes(other.kind);
        const isUsed = other.kind !== "rows" ||
          other.when?.(sizes(kernel, call.args)) !== false;
        if (!isPlace || !isUsed || address === 0) return;
        words[entry] = address;
        assert.throws(
          () => checkCall(kernel, call.args, { kernels, memory }),
          /overlaps/,
          `${parameter.name} over ${other.name}, ${kernelCase.label}`,
        );
      });
      words[entry] = saved;
    }
  });

  for (const { parameter, i } of results) {
    for (const input of parameter.over ?? []) {
      Deno.test(`${name} gives the same bits where ${parameter.name} are ${input}`, () => {
        const { parameters } = KERNEL_SPECS[kernel];
        const from = parameters.findIndex(({ name }) => name === input);
        for (let seed = 0; seed < 12; ++seed) {
          const kernelCase = cases({
            prng: new Prng(seed),
            rows: ROWS,
            exact: false,
          });
          const call = recordCalls(release, kernelCase)
            .findLast((call) => call.kernel === kernel)!;
          const width = Object.values(kernelCase.results)[0].width;
          const read = (table: number) =>
            Array.from({ length: ROWS }, (_, row) => {
              const at = words[table / 4 + row] / 4;
              return words.slice(at, at + width);
            });
          const expected = read(call.args[i]);
          const run = kernels[kernel] as (...args: number[]) => unknown;
          run(...call.args.with(i, call.args[from]));
          assert.deepEqual(read(call.args[from]), expected, kernelCase.label);
        }
      });
    }
  }
}

function sizes(
  kernel: KernelName,
  args: readonly number[],
): Record<string, number> {
  return Object.fromEntries(
    KERNEL_SPECS[kernel].parameters.map(({ name }, i) => [name, args[i]]),
  );
}

/** Whether rows of this operand have no elements, or may have none in some row. */
function empty(
  kernel: KernelName,
  args: readonly number[],
  rows: RowsParameter,
): boolean {
  return rows.each !== undefined ||
      KERNEL_SPECS[kernel].parameters.some(({ kind }) => kind === "shape")
    ? rows.each !== undefined
    : rowWidth(rows, sizes(kernel, args), kernels) === 0;
}
