import { CallSizes } from "../spec/call_sizes.ts";
import { KERNEL_SPECS } from "../spec/registry.ts";
import {
  type ArrayParameter,
  countOf,
  type KernelName,
  type Parameter,
  rowBytes,
  type RowsParameter,
  type TablesParameter,
} from "../spec/signature.ts";
import type { CallArguments, PartMemory } from "./cut.ts";

/** A parameter and the position of its argument. */
export type Placed<Kind extends Parameter> = {
  readonly at: number;
  readonly parameter: Kind;
};

/** Where the arguments of one kernel stand, found once: cuts are made of positions. */
export class KernelArguments {
  readonly sizes: CallSizes;
  readonly parameters: readonly Parameter[];
  readonly rows: readonly Placed<RowsParameter>[];
  readonly arrays: readonly Placed<ArrayParameter>[];
  readonly tables: readonly Placed<TablesParameter>[];
  readonly #scratch: Placed<ArrayParameter> | undefined;

  constructor(readonly kernel: KernelName) {
    this.parameters = KERNEL_SPECS[kernel].parameters;
    this.sizes = new CallSizes(kernel);
    const placed = <Kind extends Parameter["kind"]>(kind: Kind) =>
      this.parameters.flatMap((parameter, at) =>
        parameter.kind === kind
          ? [{ at, parameter: parameter as Parameter & { kind: Kind } }]
          : []
      );
    this.rows = placed("rows");
    this.tables = placed("tables");
    const arrays = placed("array");
    const isScratch = ({ parameter }: Placed<ArrayParameter>) =>
      parameter.access === "scratch";
    this.arrays = arrays.filter((array) => !isScratch(array));
    this.#scratch = arrays.find(isScratch);
  }

  /** @throws {RangeError} if there is no such argument */
  position(name: string): number {
    const at = this.parameters.findIndex((parameter) =>
      parameter.name === name
    );
    if (at < 0) throw new RangeError(`${this.kernel} has no argument ${name}`);
    return at;
  }

  /** Whether a thread's working memory is enough for a call. */
  fits(args: CallArguments, memory: PartMemory): boolean {
    if (this.#scratch === undefined) return true;
    const { length, type } = this.#scratch.parameter;
    const elements = countOf(
      length,
      this.sizes.of(args, memory.words),
      memory.kernels,
    );
    return rowBytes(type, elements) <= memory.scratchBytes;
  }

  /** Has the call work in the thread's own memory. */
  useScratch(args: CallArguments, memory: PartMemory): void {
    if (this.#scratch) args[this.#scratch.at] = memory.scratch;
  }
}
