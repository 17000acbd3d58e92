/** Numbers of the data sets that have no weights of their own. */
import { Buffer } from "node:buffer";

/** Their generator: uniform in [-1, 1), seeded by a name. */
export function drawer(name: string): () => number {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(name)) {
    state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  }
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return 2 * (((t ^ (t >>> 14)) >>> 0) / 2 ** 32) - 1;
  };
}
