/**
 * Builds whose memory cannot grow. Where an engine checks bounds in code (Deno's V8 does), it reads
 * the memory's size again before every access as long as another thread might make it grow, and
 * again after every call otherwise; of a memory that is as large as it will ever be it reads it once.
 * The kernels grow nothing, so a module can say so: its import then names the exact size.
 */

const IMPORT_SECTION = 2;
const MEMORY_IMPORT = 2;
/** Bit of a memory's limits: a maximum follows. */
const HAS_MAXIMUM = 1;

/**
 * The same module for memories of exactly `pages` pages, minimum and maximum. Kernels import their
 * memory and nothing else; any other module comes back as it is.
 * @param bytes of a WebAssembly module
 */
export function fixMemory(
  bytes: Uint8Array<ArrayBuffer>,
  pages: number,
): Uint8Array<ArrayBuffer> {
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = reader.byte();
    const size = reader.number();
    const body = reader.at;
    if (id === IMPORT_SECTION) {
      const limits = reader.soleMemory();
      if (limits === undefined) return bytes;
      const section = [
        ...bytes.subarray(body, limits),
        bytes[limits] | HAS_MAXIMUM,
        ...leb128(pages),
        ...leb128(pages),
      ];
      return Uint8Array.from([
        ...bytes.subarray(0, start),
        id,
        ...leb128(section.length),
        ...section,
        ...bytes.subarray(body + size),
      ]);
    }
    reader.at = body + size;
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

  /** Position of the limits of the section's memory, if that is all it imports. */
  soleMemory(): number | undefined {
    if (this.number() !== 1) return undefined;
    this.name();
    this.name();
    return this.byte() === MEMORY_IMPORT ? this.at : undefined;
  }
}

function leb128(value: number): number[] {
  return value < 0x80
    ? [value]
    : [(value & 0x7f) | 0x80, ...leb128(value >>> 7)];
}
