import { assert } from "../../base/assert.ts";
import { SHAPE_FIELDS } from "../pack/image_words.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "./registry.ts";
import type { KernelName, Sizes } from "./signature.ts";

/** Where a size is found, besides at the position of an argument. */
const ABSENT = -1;
const GREATEST = -2;
/** And the number of the shape's field. */
const SHAPE = 64;

/** By name: the position of an argument, or one of the above. */
function sourcesOf(kernel: KernelName): Map<string, number> {
  const found = new Map<string, number>();
  KERNEL_SPECS[kernel].parameters.forEach((parameter, position) => {
    const { kind, name } = parameter;
    if (kind === "size" || kind === "choice" || kind === "shape") {
      found.set(name, position);
    }
    if (kind === "shape") {
      SHAPE_FIELDS.forEach((field, i) => found.set(field, SHAPE + i));
    }
    if (kind === "array" && parameter.greatest !== undefined) {
      found.set(parameter.greatest, GREATEST);
    }
  });
  return found;
}

/** Names that any kernel's sizes have. */
const NAMES: readonly string[] = [
  ...new Set(KERNEL_NAMES.flatMap((kernel) => [...sourcesOf(kernel).keys()])),
];

/**
 * One kernel's sizes by name, read from a call's arguments where they stand: nothing is copied, and
 * nothing looked up by name while a call is made. All kernels' have the same accessors, so that engines
 * compile what reads them once.
 */
export class CallSizes {
  readonly #kernel: KernelName;
  /** By number of the name. */
  readonly #sources: Int16Array;
  readonly #shape: number;
  readonly #lengths: number;
  #args: Float64Array = new Float64Array();
  #words: Uint32Array = new Uint32Array();

  static {
    NAMES.forEach((name, i) => {
      assert(!(name in CallSizes.prototype), `${name} is no name for a size`);
      Object.defineProperty(CallSizes.prototype, name, {
        get(this: CallSizes) {
          return this.#read(i);
        },
      });
    });
  }

  constructor(kernel: KernelName) {
    const { parameters } = KERNEL_SPECS[kernel];
    const sources = sourcesOf(kernel);
    this.#kernel = kernel;
    this.#sources = Int16Array.from(
      NAMES,
      (name) => sources.get(name) ?? ABSENT,
    );
    this.#shape = parameters.findIndex(({ kind }) => kind === "shape");
    this.#lengths = parameters.findIndex((parameter) =>
      parameter.kind === "array" && parameter.greatest !== undefined
    );
  }

  /** These sizes, of a call whose operands lie in the memory of these words. */
  of(args: Float64Array, words: Uint32Array): Sizes {
    this.#args = args;
    this.#words = words;
    return this as unknown as Sizes;
  }

  #read(name: number): number {
    const source = this.#sources[name];
    if (source >= SHAPE) {
      const shape = this.#args[this.#shape] >>> 2;
      return this.#words[shape + source - SHAPE] | 0;
    }
    if (source >= 0) return this.#args[source];
    if (source === GREATEST) return this.#greatest();
    throw new RangeError(`${this.#kernel} has no size ${NAMES[name]}`);
  }

  /** The greatest of the rows' lengths; arguments start with the number of rows. */
  #greatest(): number {
    let greatest = 0;
    const from = this.#args[this.#lengths] >>> 2;
    for (let i = 0; i < this.#args[0]; i++) {
      greatest = Math.max(greatest, this.#words[from + i] | 0);
    }
    return greatest;
  }
}
