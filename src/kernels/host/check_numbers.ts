/** The first half of a call's check: arguments that are plain numbers. */
import { KERNEL_SPECS } from "../spec/registry.ts";
import type {
  ChoiceParameter,
  FloatParameter,
  KernelName,
  SizeParameter,
} from "../spec/signature.ts";

const F32_MAX = 3.4028234663852886e38;
const I32_MAX = 2 ** 31 - 1;

/**
 * @throws {RangeError} if there are too many or too few arguments, or one is no such number
 */
export function checkNumbers(
  kernel: KernelName,
  args: readonly number[],
): void {
  const { parameters } = KERNEL_SPECS[kernel];
  if (args.length !== parameters.length) {
    refuse(
      kernel,
      `takes ${parameters.length} arguments (${
        parameters.map(({ name }) => name).join(", ")
      }), got ${args.length}`,
    );
  }
  parameters.forEach((parameter, i) => {
    if (parameter.kind === "size") checkInteger(kernel, parameter, args[i]);
    else if (parameter.kind === "choice") {
      checkChoice(kernel, parameter, args[i]);
    } else if (parameter.kind === "float") {
      checkFloat(kernel, parameter, args[i]);
    }
  });
}

/** Says what is wrong with a call. */
export function refuse(kernel: KernelName, complaint: string): never {
  throw new RangeError(`${kernel}: ${complaint}`);
}

function checkInteger(
  kernel: KernelName,
  { name, least, most = I32_MAX, multipleOf = 1 }: SizeParameter,
  value: number,
): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    const range = most === I32_MAX ? "" : ` and at most ${most}`;
    refuse(
      kernel,
      `${name} must be an integer of at least ${least}${range}, is ${value}`,
    );
  }
  if (value % multipleOf !== 0) {
    refuse(
      kernel,
      `${name} must be a multiple of ${multipleOf}, is ${value}: round it up`,
    );
  }
}

function checkChoice(
  kernel: KernelName,
  { name, choices }: ChoiceParameter,
  value: number,
): void {
  if (!Object.values(choices).includes(value)) {
    const known = Object.entries(choices).map(([word, n]) => `${n} (${word})`);
    refuse(kernel, `${name} must be one of ${known.join(", ")}, is ${value}`);
  }
}

function checkFloat(
  kernel: KernelName,
  { name, positive }: FloatParameter,
  value: number,
): void {
  if (!(Math.abs(value) <= F32_MAX) || (positive && !(value > 0))) {
    refuse(
      kernel,
      `${name} must be a finite number${
        positive ? " above 0" : ""
      }, is ${value}`,
    );
  }
}
