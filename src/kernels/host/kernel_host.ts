/**
 * Kernels called by name, with operands that know their types and shapes. Nothing reaches a
 * kernel before the call was found sound; hot paths that have proved their calls once use the
 * exports.
 */
import { Arena, type Block, type Rows } from "./arena.ts";
import { checkCall } from "./check_call.ts";
import { checkNumbers } from "./check_numbers.ts";
import type { KernelExports } from "../module/exports.ts";
import type { ImageShape } from "../../tensor/image_shape.ts";
import { shapeWords } from "../pack/image_words.ts";
import { CallSizes } from "../spec/call_sizes.ts";
import { KERNEL_SPECS } from "../spec/registry.ts";
import {
  type ArrayParameter,
  countOf,
  type KernelName,
  type Parameter,
  rowCount,
  rowWidth,
} from "../spec/signature.ts";

/** What may stand for an argument: a number, a choice by name, an operand. */
export type Argument =
  | number
  | string
  | Rows
  | Block
  | ImageShape
  | readonly Rows[];

/** Arguments by the names that the export's parameters have. */
export type Arguments = Readonly<Record<string, Argument | undefined>>;

/**
 * A build over a memory, with operands placed in it and calls checked.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packGemm,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const a = host.rows(2, 3, Float32Array.of(1, 2, 3, 4, 5, 6));
 * const weight = Float32Array.of(1, 0, 0, 1, 1, -1);
 * const w = host.block(packGemm({ n: 2, k: 3, weight, layout: "kn" }));
 * const c = host.rows(2, 2, "f32");
 * host.call("gemm_f32", { n: 2, k1: 3, aRows1: a, w, cRows: c, act: "relu" });
 * assert.deepEqual([...host.read(c)], [4, 0, 10, 0]);
 * assert.throws(
 *   () => host.call("gemm_f32", { n: 2, k1: 4, aRows1: a, w, cRows: c }),
 *   /gemm_f32: aRows1 must be 2 rows of 4, got 2 of 3/,
 * );
 * ```
 */
export class KernelHost extends Arena {
  readonly #kernels: KernelExports;

  /**
   * Places operands from the end of the module's own data on.
   * @param memory that the kernels were instantiated over
   */
  constructor(kernels: KernelExports, memory: WebAssembly.Memory) {
    super(memory, kernels.shoal_static_end() >>> 0);
    this.#kernels = kernels;
  }

  /**
   * Calls a kernel; `m`, `k2` and `act: "none"` need not be given.
   * @returns what the kernel returns
   * @throws {TypeError} if there is no such kernel, or an operand is missing, unknown or of another type
   * @throws {RangeError} if a shape, size, alignment or place is wrong
   */
  call<Name extends KernelName>(
    name: Name,
    given: Arguments,
  ): ReturnType<KernelExports[Name]> {
    if (!Object.hasOwn(KERNEL_SPECS, name)) {
      throw new TypeError(
        `There is no kernel ${describe(name)}; there are ${
          Object.keys(KERNEL_SPECS).join(", ")
        }`,
      );
    }
    if (!isRecord(given)) {
      throw new TypeError(
        `${name} takes its arguments by name, got ${describe(given)}`,
      );
    }
    // Shapes and lists of tables are placed for the call alone.
    return this.temporarily(() => {
      const args = this.#arguments(name, given);
      checkCall(name, args, { kernels: this.#kernels, memory: this.memory });
      const kernel = this.#kernels[name] as (...args: number[]) => unknown;
      return kernel(...args) as ReturnType<KernelExports[Name]>;
    });
  }

  #arguments(name: KernelName, given: Arguments): number[] {
    const { parameters } = KERNEL_SPECS[name];
    const known = parameters.map((parameter) => parameter.name);
    for (const key of Object.keys(given)) {
      if (!known.includes(key)) {
        throw new TypeError(
          `${name} has no argument ${key}; it takes ${known.join(", ")}`,
        );
      }
    }
    const complete: Arguments = {
      ...given,
      m: given.m ?? batchRows(parameters, given),
    };
    const args = parameters.map((parameter) =>
      this.#argument(name, parameter, complete[parameter.name])
    );
    checkNumbers(name, args);
    const sizes = new CallSizes(name).of(
      Float64Array.from(args),
      new Uint32Array(this.memory.buffer),
    );
    for (const parameter of parameters) {
      const value = complete[parameter.name];
      if (value === undefined) continue;
      if (parameter.kind === "rows") {
        const { type, each } = parameter;
        const rows = value as Rows;
        // Rows of different lengths: the longest must fit.
        const width = each === undefined
          ? rowWidth(parameter, sizes, this.#kernels)
          : Math.max(
            rows.width,
            ...Array.from(
              this.#integers(complete[each]),
              (own) => rowWidth(parameter, sizes, this.#kernels, own),
            ),
          );
        checkGivenRows(name, parameter.name, rows, {
          type,
          width,
          count: rowCount(parameter, sizes, this.#kernels),
        });
      } else if (parameter.kind === "tables") {
        const all = value as readonly Rows[];
        const count = sizes[parameter.count];
        if (all.length !== count) {
          throw new RangeError(
            `${name}: ${parameter.name} must be ${count} tables, got ${all.length}`,
          );
        }
        const width = sizes[parameter.width];
        all.forEach((rows, i) =>
          checkGivenRows(name, `${parameter.name}[${i}]`, rows, {
            type: "f32",
            width,
            count: sizes.m,
          })
        );
      } else if (parameter.kind === "array") {
        checkGivenBlock(
          name,
          parameter,
          value as Block,
          countOf(parameter.length, sizes, this.#kernels),
        );
      }
    }
    return args;
  }

  /** Scratch memory for attention over at most `capacity` positions, a multiple of 8. */
  attentionScratch(capacity: number): Block {
    const bytes = this.#kernels.attention_scratch_bytes(capacity) >>> 0;
    return this.block("f32", bytes / 4);
  }

  /** Scratch memory for a step of an int8 cell. */
  cellQ8Scratch(): Block {
    return this.block("f32", this.#kernels.cell_q8_scratch_bytes() / 4);
  }

  /** Scratch memory for a convolution. */
  convScratch(shape: ImageShape): Block {
    const bytes = this.temporarily(() =>
      this.#kernels.conv_scratch_bytes(this.#shape(shape).address)
    );
    return this.block("f32", bytes / 4);
  }

  /** Scratch memory for a convolution of int8. */
  convQ8Scratch(shape: ImageShape): Block {
    const bytes = this.temporarily(() =>
      this.#kernels.conv_q8_scratch_bytes(this.#shape(shape).address)
    );
    return this.block("f32", bytes / 4);
  }

  #shape(shape: ImageShape): Block {
    return this.block(shapeWords(shape));
  }

  #integers(block: unknown): Int32Array {
    const { address, length } = block as Block;
    return new Int32Array(this.memory.buffer, address, length);
  }

  /** A given value as the number that the export takes. */
  #argument(name: KernelName, parameter: Parameter, value: unknown): number {
    const { kind } = parameter;
    const missing = value === undefined;
    const expect = (sound: boolean, what: string) => {
      if (sound) return;
      throw new TypeError(
        `${name}: ${parameter.name} must be ${what}, got ${describe(value)}`,
      );
    };
    switch (kind) {
      case "size":
        if (missing && parameter.name === "k2") return 0;
        expect(typeof value === "number", "a number");
        return value as number;
      case "float":
        expect(typeof value === "number", "a number");
        return Math.fround(value as number);
      case "choice": {
        const { choices } = parameter;
        const word = missing && parameter.name === "act" ? "none" : value;
        expect(
          typeof word === "string" && Object.hasOwn(choices, word),
          `one of ${
            Object.keys(choices).map((word) => `"${word}"`).join(", ")
          }`,
        );
        return choices[word as string];
      }
      case "shape":
        expect(isRecord(value) && "kernel" in value, "what imageShape() makes");
        return this.#shape(value as ImageShape).address;
      case "tables":
        expect(
          Array.isArray(value) &&
            value.every((one) => isRecord(one) && one.kind === "rows"),
          "an array of rows, as rows() makes them",
        );
        return this.block(
          Int32Array.from(value as Rows[], ({ table }) => table),
        ).address;
      case "rows": {
        const skips = "optional" in parameter || parameter.when !== undefined;
        if (missing && skips) return 0;
        expect(
          isRecord(value) && value.kind === "rows",
          "rows, as rows() makes them",
        );
        return (value as unknown as Rows).table;
      }
      case "array":
        if (missing && parameter.optional) return 0;
        expect(
          isRecord(value) && value.kind === "block",
          "a block, as block() makes it",
        );
        return (value as unknown as Block).address;
      default:
        return kind satisfies never;
    }
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function describe(value: unknown): string {
  if (isRecord(value) && typeof value.kind === "string") return value.kind;
  return typeof value === "string" ? `"${value}"` : String(value);
}

/** Rows of the first operand that has one row for each of the batch. */
function batchRows(signature: readonly Parameter[], given: Arguments): number {
  for (const parameter of signature) {
    const value = given[parameter.name];
    if (parameter.kind === "rows" && !parameter.count && isRecord(value)) {
      return value.count as number;
    }
  }
  return 0;
}

function checkGivenRows(
  kernel: string,
  argument: string,
  rows: Rows,
  { type, width, count }: Pick<Rows, "type" | "width" | "count">,
): void {
  if (rows.type !== type) {
    throw new TypeError(
      `${kernel}: ${argument} must be rows of ${type}, got rows of ${rows.type}`,
    );
  }
  if (rows.width !== width || rows.count !== count) {
    throw new RangeError(
      `${kernel}: ${argument} must be ${count} rows of ${width}, got ${rows.count} of ${rows.width}`,
    );
  }
}

function checkGivenBlock(
  kernel: string,
  { name, type, from }: ArrayParameter,
  block: Block,
  length: number,
): void {
  const maker = from === undefined ? "" : `; ${from} makes it`;
  if (block.type !== type) {
    throw new TypeError(
      `${kernel}: ${name} must be ${type}, got ${block.type}${maker}`,
    );
  }
  if (block.length !== length) {
    throw new RangeError(
      `${kernel}: ${name} must have ${length} elements, has ${block.length}${maker}`,
    );
  }
}
