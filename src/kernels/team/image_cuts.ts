/** Cuts of image kernels within their results: a part is the same window further down. */
import { assert } from "../../base/assert.ts";
import { SHAPE_FIELDS } from "../pack/image_words.ts";
import type { LinesCut, PixelsCut } from "../spec/kernel_spec.ts";
import {
  type CallArguments,
  type Cut,
  type PartMemory,
  shifted,
  WORD,
} from "./cut.ts";
import type { KernelArguments } from "./kernel_arguments.ts";

const FIELD = Object.fromEntries(
  SHAPE_FIELDS.map((name, i) => [name, i]),
) as Record<typeof SHAPE_FIELDS[number], number>;

/** What cuts within images have in common: where a kernel's shape and results are. */
class ImageArguments {
  readonly #m: number;
  readonly #shape: number;
  /** Positions of tables of images of the result's size. */
  readonly #results: readonly number[];
  /** Field that counts the result's channels. */
  readonly #channels: number;

  constructor(readonly kernel: KernelArguments) {
    this.#m = kernel.position("m");
    this.#shape = kernel.position("shape");
    const results = kernel.rows.flatMap(({ at, parameter: { width } }) =>
      typeof width === "object" && width[0] === "outHeight"
        ? [{ at, channels: width[2] }]
        : []
    );
    this.#results = results.map(({ at }) => at);
    this.#channels = SHAPE_FIELDS.findIndex((name) =>
      results.every(({ channels }) => channels === name)
    );
    assert(this.#channels >= 0, `${kernel.kernel}: results of one size`);
  }

  images(args: CallArguments): number {
    return args[this.#m];
  }

  field(args: CallArguments, field: number, { words }: PartMemory): number {
    return words[(args[this.#shape] >>> 2) + field] | 0;
  }

  /** Whether there is room for what parts need. */
  fits(args: CallArguments, memory: PartMemory): boolean {
    return this.images(args) <= memory.rowsMax &&
      this.kernel.fits(args, memory);
  }

  /** Whether every output pixel sees the input pixel at its own place. */
  isPointwise(args: CallArguments, { words }: PartMemory): boolean {
    const shape = args[this.#shape] >>> 2;
    return words[shape + FIELD.kernelHeight] === 1 &&
      words[shape + FIELD.kernelWidth] === 1 &&
      words[shape + FIELD.strideHeight] === 1 &&
      words[shape + FIELD.strideWidth] === 1 &&
      words[shape + FIELD.padTop] === 0 &&
      words[shape + FIELD.padLeft] === 0 &&
      words[shape + FIELD.outHeight] === words[shape + FIELD.height] &&
      words[shape + FIELD.outWidth] === words[shape + FIELD.width];
  }

  /** Gives the call a shape of its own; returns the index of its first word. */
  copyShape(args: CallArguments, { words, take }: PartMemory): number {
    const from = args[this.#shape] >>> 2;
    args[this.#shape] = take(SHAPE_FIELDS.length);
    const to = args[this.#shape] >>> 2;
    words.copyWithin(to, from, from + SHAPE_FIELDS.length);
    return to;
  }

  /** Points the call at results `pixels` further down. */
  enter(args: CallArguments, pixels: number, memory: PartMemory): void {
    const bytes = WORD * pixels * this.field(args, this.#channels, memory);
    for (let i = 0; i < this.#results.length; i++) {
      const at = this.#results[i];
      args[at] = shifted(args[at], args[this.#m], bytes, memory);
    }
    this.kernel.useScratch(args, memory);
  }
}

/** Cuts by lines of the result. */
export function cutLines(
  kernel: KernelArguments,
  { pixels, direction }: LinesCut,
): Cut {
  const image = new ImageArguments(kernel);
  const pieces = (args: CallArguments, memory: PartMemory): number => {
    if (!image.fits(args, memory)) return 1;
    const together = image.images(args) *
      image.field(args, FIELD.outWidth, memory);
    const lines = image.field(args, FIELD.outHeight, memory);
    return Math.max(1, Math.floor(lines / Math.ceil(pixels / together)));
  };
  return {
    pieces,
    narrow(args, { from, to }, memory) {
      const { words } = memory;
      const count = pieces(args, memory);
      const shape = image.copyShape(args, memory);
      const lines = words[shape + FIELD.outHeight];
      const first = Math.floor(lines * from / count);
      words[shape + FIELD.outHeight] = Math.floor(lines * to / count) - first;
      words[shape + FIELD.padTop] += direction === "forward"
        ? -first * words[shape + FIELD.strideHeight]
        : first;
      image.enter(args, first * words[shape + FIELD.outWidth], memory);
    },
  };
}

/** Cuts convolutions 1 wide, of stride 1 and without padding, by pixels: their images may be seen as columns. */
export function cutPixels(
  kernel: KernelArguments,
  { pixels: together }: PixelsCut,
): Cut {
  const image = new ImageArguments(kernel);
  const pixelsOf = (args: CallArguments, memory: PartMemory): number =>
    image.field(args, FIELD.outHeight, memory) *
    image.field(args, FIELD.outWidth, memory);
  const pieces = (args: CallArguments, memory: PartMemory): number => {
    if (!image.fits(args, memory) || !image.isPointwise(args, memory)) return 1;
    const all = pixelsOf(args, memory) * image.images(args);
    return Math.max(1, Math.floor(all / together));
  };
  return {
    pieces,
    narrow(args, { from, to }, memory) {
      const { words } = memory;
      const count = pieces(args, memory);
      const pixels = pixelsOf(args, memory);
      const first = Math.floor(pixels * from / count);
      const shape = image.copyShape(args, memory);
      words[shape + FIELD.height] = pixels;
      words[shape + FIELD.width] = 1;
      words[shape + FIELD.outHeight] = Math.floor(pixels * to / count) - first;
      words[shape + FIELD.outWidth] = 1;
      words[shape + FIELD.padTop] = -first;
      image.enter(args, first, memory);
    },
  };
}
