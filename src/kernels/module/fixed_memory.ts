/**
 * What a module says of the memory that it imports, put in after it was compiled.
 *
 * Builds whose memory cannot grow. Where an engine checks bounds in code (Deno's V8 does), it reads
 * the memory's size again before every access as long as another thread might make it grow, and
 * again after every call otherwise; of a memory that is as large as it will ever be it reads it once.
 * The kernels grow nothing, so a module can say so: its import then names the exact size.
 */

const IMPORT_SECTION = 2;
const FUNCTION_IMPORT = 0;
const MEMORY_IMPORT = 2;
/** Bits of a memory's limits: a maximum follows; threads share it. */
const HAS_MAXIMUM = 1;
const IS_SHARED = 2;
/** What 32-bit addresses reach. */
const PAGES_MAX = 65_536;

/**
 * The same module for memories of exactly `pages` pages, minimum and maximum. A module that
 * imports none comes back as it is.
 * @param bytes of a WebAssembly module
 */
export function fixMemory(
  bytes: Uint8Array<ArrayBuffer>,
  pages: number,
): Uint8Array<ArrayBuffer> {
  return withLimits(bytes, ({ flags }) => [
    flags | HAS_MAXIMUM,
    ...leb128(pages),
    ...leb128(pages),
  ]);
}

/**
 * The same module for a memory that threads share: kernels use no instruction that a memory of one thread's
 * would not take, so the builds over shared memory are the others with another import.
 * @param bytes of a WebAssembly module whose memory has no maximum
 */
export function shareMemory(
  bytes: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  return withLimits(bytes, ({ flags, minimum }) => [
    flags | HAS_MAXIMUM | IS_SHARED,
    ...leb128(minimum),
    ...leb128(PAGES_MAX),
  ]);
}

/** The module with other limits of its imported memory. */
function withLimits(
  bytes: Uint8Array<ArrayBuffer>,
  replace: (limits: { flags: number; minimum: number }) => readonly number[],
): Uint8Array<ArrayBuffer> {
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = reader.byte();
    const size = reader.number();
    const body = reader.at;
    if (id === IMPORT_SECTION) {
      const limits = reader.memory();
      if (limits === undefined) return bytes;
      const flags = reader.byte();
      const minimum = reader.number();
      if (flags & HAS_MAXIMUM) reader.number();
      const head = bytes.subarray(body, limits);
      const replaced = replace({ flags, minimum });
      const tail = bytes.subarray(reader.at);
      const length = head.length + replaced.length +
        (body + size - reader.at);
      // Not by way of arrays: they would be many times as large, and an engine starts with it.
      return concatenated(
        bytes.subarray(0, start),
        [id, ...leb128(length)],
        head,
        replaced,
        tail,
      );
    }
    reader.at = body + size;
  }
  return bytes;
}

function concatenated(
  ...parts: readonly ArrayLike<number>[]
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

class Reader {
  constructor(readonly bytes: Uint8Array, public at: number) {}

  byte(): number {
    return this.bytes[this.at++];
  }

  /** Unsigned LEB128. */
  number(): number {
    let value = 0;
    for (let shift = 0;; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  name(): void {
    const length = this.number();
    this.at += length;
  }

  /** Position of the limits of the section's memory, if it imports one, and functions at most besides. */
  memory(): number | undefined {
    for (let left = this.number(); left > 0; left--) {
      this.name();
      this.name();
      const kind = this.byte();
      if (kind === MEMORY_IMPORT) return this.at;
      if (kind !== FUNCTION_IMPORT) return undefined;
      this.number();
    }
    return undefined;
  }
}

function leb128(value: number): number[] {
  return value < 0x80
    ? [value]
    : [(value & 0x7f) | 0x80, ...leb128(value >>> 7)];
}
