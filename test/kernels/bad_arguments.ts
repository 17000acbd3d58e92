/** Sound calls of every kernel, and what can be made wrong in them one argument at a time. */
import type { Prng } from "../../src/base/prng.ts";
import type { KernelExports } from "../../src/kernels/module/exports.ts";
import type { KernelCase } from "./kernel_case.ts";
import { place } from "./placement.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import type {
  KernelName,
  Parameter,
} from "../../src/kernels/spec/signature.ts";
import type { Build } from "./builds.ts";

/** One call of an export. */
export interface RecordedCall {
  kernel: KernelName;
  args: readonly number[];
}

/** Calls that a case makes, its operands lying in the build's memory. */
export function recordCalls(
  { kernels, memory, base }: Build,
  kernelCase: KernelCase,
): RecordedCall[] {
  const calls: RecordedCall[] = [];
  const spies = KERNEL_NAMES.map((kernel) => {
    const call = kernels[kernel] as (...args: number[]) => unknown;
    return [kernel, (...args: number[]) => {
      calls.push({ kernel, args });
      return call(...args);
    }];
  });
  place(memory, kernelCase, { base })
    .run({ ...kernels, ...Object.fromEntries(spies) } as KernelExports);
  return calls;
}

/** Something wrong with a call. */
export interface Fault {
  what: string;
  args: readonly number[];
  /** Words of memory that are changed for the call. */
  words?: readonly (readonly [address: number, value: number])[];
  /** Whether the debug build's own checks cover it. */
  debugSees: boolean;
}

/** Everything that can be wrong with one argument. */
export function faults(
  { kernel, args }: RecordedCall,
  memory: WebAssembly.Memory,
  prng: Prng,
): Fault[] {
  const { parameters } = KERNEL_SPECS[kernel];
  const end = memory.buffer.byteLength;
  const words = new Uint32Array(memory.buffer);
  const m = args[parameters.findIndex(({ name }) => name === "m")] ?? 0;
  const found: Fault[] = [];
  parameters.forEach((parameter, i) => {
    const { name, kind } = parameter;
    const add = (what: string, value: number, debugSees = true) =>
      found.push({
        what: `${name} ${what}`,
        args: args.with(i, value),
        debugSees,
      });
    const address = args[i];
    switch (kind) {
      case "size":
        add("below its least", parameter.least - 1);
        add("not whole", address + 0.5, false);
        if (parameter.most !== undefined) add("too large", parameter.most + 1);
        // As words 4 GiB, of whose bytes 32 bits hold none. A distance is none where there is nothing to go to.
        else if (!/Line|Piece/.test(name)) add("of 4 GiB", 2 ** 30);
        if (parameter.multipleOf !== undefined) add("odd", address + 1);
        break;
      case "choice":
        // The debug builds let any number stand for yes.
        add("unknown", 99, !("yes" in parameter.choices));
        break;
      case "float":
        add("NaN", NaN, false);
        if (parameter.positive) add("negative", -1, false);
        break;
      case "shape":
        add("misaligned", address + 2);
        add("outside memory", end - 4);
        found.push({
          what: "a shape with a height of 0",
          args,
          words: [[address, 0]],
          debugSees: true,
        });
        break;
      case "array":
        if (address === 0) break;
        add("misaligned", address + 2);
        add("outside memory", end + 16);
        add("in the static data", 16);
        if (parameter.below && args[0] > 0) {
          found.push({
            what: `${name} below 0`,
            args,
            words: [[address, -1]],
            debugSees: true,
          });
        }
        break;
      case "tables":
        add("misaligned", address + 2);
        add("outside memory", end - 2);
        break;
      case "rows": {
        const skipped = address === 0 ||
          (parameter.count === undefined && m === 0);
        if (skipped || parameter.when?.(sizesOf(parameters, args)) === false) {
          break;
        }
        add("misaligned", address + 2);
        add("in the static data", 8);
        add("outside memory", end - 2);
        const row = address +
          4 * (parameter.count === undefined ? prng.int(m) : 0);
        for (
          const [what, value] of [
            ...parameter.type === "byte"
              ? []
              : [["misaligned", words[row / 4] + 2] as const],
            ["in the static data", 8],
            ["outside memory", end + 4],
          ] as const
        ) {
          found.push({
            what: `a row of ${name} ${what}`,
            args,
            words: [[row, value]],
            debugSees: true,
          });
        }
        break;
      }
      default:
        kind satisfies never;
    }
  });
  return found;
}

function sizesOf(
  signature: readonly Parameter[],
  args: readonly number[],
): Record<string, number> {
  return Object.fromEntries(
    signature.map(({ name }, i) => [name, args[i]]),
  );
}

/** Makes the call's words wrong, runs `work`, and makes them right again. */
export function withFault<Value>(
  { words = [] }: Fault,
  memory: WebAssembly.Memory,
  work: () => Value,
): Value {
  const all = new Uint32Array(memory.buffer);
  const before = words.map(([address]) => all[address / 4]);
  for (const [address, value] of words) all[address / 4] = value;
  try {
    return work();
  } finally {
    words.forEach(([address], i) => all[address / 4] = before[i]);
  }
}
