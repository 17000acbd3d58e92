/** Reading bytes of a memory and nothing else, in four streams: what every thread that does so needs. */

/** A quarter of the bytes each: one stream alone does not use all that memory gives. */
export const STREAMS = 4;
/** Bytes of a cache line. */
export const LINE = 64;

/** Reads bytes from an address on, all but fewer than 256 of them; see {@linkcode readable}. */
export interface Reader {
  (from: number, bytes: number): void;
}

/** Bytes of which a {@linkcode Reader} reads all. */
export function readable(bytes: number): number {
  return Math.floor(bytes / (STREAMS * LINE)) * STREAMS * LINE;
}

/** @param module what `reading.ts` compiles, for a memory of this kind */
export function instantiateReader(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
): Reader {
  const { exports } = new WebAssembly.Instance(module, {
    env: { memory, abort() {} },
  });
  const read = exports.read as (from: number, stride: number) => number;
  return (from, bytes) => void read(from, readable(bytes) / STREAMS);
}

/** What a thread that reads a share is told once. */
export interface ReadingStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  /** Word 0: the turn; word i: the last turn that thread i is done with. */
  words: Int32Array<SharedArrayBuffer>;
  thread: number;
  from: number;
  bytes: number;
}

/** The turn after which nothing more is read. */
export const LAST_TURN = -1;
