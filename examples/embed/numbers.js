/** The example's numbers, and how results are compared. */

/**
 * Number i of stream s, in [-1, 1): the same in every language, without rounding.
 * @param {number} s
 * @param {number} i
 */
export function value(s, i) {
  let x = Math.imul(s, 0x9e3779b9) + i | 0;
  x = Math.imul(x ^ x >>> 16, 0x85ebca6b);
  x = Math.imul(x ^ x >>> 13, 0xc2b2ae35);
  return ((x ^ x >>> 16) >>> 8) / 2 ** 23 - 1;
}

/**
 * FNV-1a over bytes.
 * @param {Uint8Array} bytes
 */
export function hash(bytes, start = 0x811c9dc5) {
  return bytes.reduce((h, byte) => Math.imul(h ^ byte, 0x01000193), start) >>>
    0;
}

/** @param {number} word */
export function hex(word) {
  return word.toString(16).padStart(8, "0");
}
