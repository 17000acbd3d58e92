/** Cuts of image kernels (m, shape, ...) by output lines: a part is the same window further down. */
import {
  type Arguments,
  type Cut,
  fits,
  type PartMemory,
  type ScratchArgument,
  shifted,
  WORD,
} from "./cut.ts";

/** Fields of a shape; see assembly/image.ts. */
const FIELD = {
  height: 0,
  width: 1,
  channels: 2,
  outHeight: 3,
  outWidth: 4,
  outChannels: 5,
  kernelHeight: 6,
  kernelWidth: 7,
  strideHeight: 8,
  strideWidth: 9,
  padTop: 10,
  padLeft: 11,
  groups: 14,
} as const;

const SHAPE_WORDS = 17;

/** Field of the shape that is argument 1. */
export function field(
  args: Arguments,
  name: keyof typeof FIELD,
  { words }: PartMemory,
): number {
  return words[(args[1]! >>> 2) + FIELD[name]]! | 0;
}

/** Where a cut by lines finds what. */
export interface LinesOptions {
  /** Positions of tables of images of the size of the result. */
  readonly tables: readonly number[];
  /** Output pixels that should stay together, as they share what is read of the weights. */
  readonly pixels: number;
  /** Which field counts the result's channels. */
  readonly channels: "channels" | "outChannels";
  /** Whether further down the result is less far up the padding (forward), or more (transposed). */
  readonly direction?: "forward" | "transposed";
  readonly scratch?: ScratchArgument;
}

/** Cuts by lines of the result. */
export function byLines(options: LinesOptions): Cut {
  const { pixels, direction = "forward", scratch } = options;
  const pieces = (args: Arguments, memory: PartMemory): number => {
    if (args[0]! > memory.rowsMax || !fits(scratch, args, memory)) return 1;
    const together = args[0]! * field(args, "outWidth", memory);
    const lines = field(args, "outHeight", memory);
    return Math.max(1, Math.floor(lines / Math.ceil(pixels / together)));
  };
  return {
    pieces,
    narrow(args, { from, to }, memory) {
      const lines = field(args, "outHeight", memory);
      const count = pieces(args, memory);
      const first = Math.floor(lines * from / count);
      const pad = field(args, "padTop", memory);
      const stride = field(args, "strideHeight", memory);
      const line = field(args, "outWidth", memory);
      const shape = copyOfShape(args, memory);
      memory.words[shape + FIELD.outHeight] = Math.floor(lines * to / count) -
        first;
      memory.words[shape + FIELD.padTop] = direction === "forward"
        ? pad - first * stride
        : pad + first;
      enter(args, shape, first * line, options, memory);
    },
  };
}

/** Cuts convolutions 1 wide, of stride 1 and without padding, by pixels: their images may be seen as columns. */
export function byPixels(options: LinesOptions): Cut {
  const pieces = (args: Arguments, memory: PartMemory): number => {
    if (args[0]! > memory.rowsMax || !fits(options.scratch, args, memory)) {
      return 1;
    }
    if (!isPointwise(args, memory)) return 1;
    const pixels = field(args, "outHeight", memory) *
      field(args, "outWidth", memory);
    return Math.max(1, Math.floor(pixels * args[0]! / options.pixels));
  };
  return {
    pieces,
    narrow(args, { from, to }, memory) {
      const { words } = memory;
      const count = pieces(args, memory);
      const pixels = field(args, "outHeight", memory) *
        field(args, "outWidth", memory);
      const first = Math.floor(pixels * from / count);
      const shape = copyOfShape(args, memory);
      words[shape + FIELD.height] = pixels;
      words[shape + FIELD.width] = 1;
      words[shape + FIELD.outHeight] = Math.floor(pixels * to / count) - first;
      words[shape + FIELD.outWidth] = 1;
      words[shape + FIELD.padTop] = -first;
      enter(args, shape, first, options, memory);
    },
  };
}

/** Whether every output pixel sees the input pixel at its own place. */
function isPointwise(args: Arguments, memory: PartMemory): boolean {
  return field(args, "kernelHeight", memory) === 1 &&
    field(args, "kernelWidth", memory) === 1 &&
    field(args, "strideHeight", memory) === 1 &&
    field(args, "strideWidth", memory) === 1 &&
    field(args, "padTop", memory) === 0 &&
    field(args, "padLeft", memory) === 0 &&
    field(args, "outHeight", memory) === field(args, "height", memory) &&
    field(args, "outWidth", memory) === field(args, "width", memory);
}

/** Index of this thread's own copy of the shape. */
function copyOfShape(args: Arguments, { words, take }: PartMemory): number {
  const from = args[1]! >>> 2;
  const to = take(SHAPE_WORDS) >>> 2;
  words.copyWithin(to, from, from + SHAPE_WORDS);
  return to;
}

/** Points the call at a shape and at images `pixels` further down. */
function enter(
  args: Arguments,
  shape: number,
  pixels: number,
  { tables, channels, scratch }: LinesOptions,
  memory: PartMemory,
): void {
  const bytes = WORD * pixels * field(args, channels, memory);
  for (let i = 0; i < tables.length; i++) {
    const at = tables[i]!;
    args[at] = shifted(args[at]!, args[0]!, bytes, memory);
  }
  args[1] = WORD * shape;
  if (scratch) args[scratch.at] = memory.scratch;
}
