/**
 * SentencePiece's rules of which characters become which others, as tokenizers' files have them (normalizer "Precompiled"):
 * a trie over UTF-8 (a double array, Darts) whose values are places in a text of replacements, each ended by a zero byte.
 * Source: SentencePiece, `normalizer.cc`; Hugging Face's `spm_precompiled` and `normalizers/precompiled.rs`, from which
 * what is odd is, too: a cluster of characters of less than six bytes becomes as a whole what its shortest beginning does.
 */
import { TextFileError } from "./errors.ts";

/** Bytes of the longest cluster that is looked up as one. */
const CLUSTER_BYTES_MAX = 5;

/** The rules of one tokenizer. */
export class Charsmap {
  /** What becomes of what: of rules of which one begins as another the shorter one. */
  readonly #rules: ReadonlyMap<string, string>;
  readonly #clusters = new Intl.Segmenter("und", { granularity: "grapheme" });

  /**
   * @param base64 as files have it
   * @throws TextFileError on what is none
   */
  constructor(base64: string) {
    this.#rules = rulesOf(bytesOf(base64));
  }

  /** A text with all its characters replaced. */
  normalize(text: string): string {
    let normalized = "";
    for (const cluster of this.#clustersOf(text)) {
      const whole = this.#ofCluster(cluster);
      if (whole !== undefined) normalized += whole;
      else {
        for (const character of cluster) {
          normalized += this.#rules.get(character) ?? character;
        }
      }
    }
    return normalized;
  }

  /** Of ASCII only the end of a line is one of two characters, which is told faster than the rest. */
  #clustersOf(text: string): Iterable<string> {
    return /[^\0-\x7F]/.test(text)
      ? Array.from(this.#clusters.segment(text), ({ segment }) => segment)
      : text.match(/\r\n|[^]/g) ?? [];
  }

  #ofCluster(cluster: string): string | undefined {
    let bytes = 0;
    let found: string | undefined;
    let beginning = "";
    for (const character of cluster) {
      bytes += byteLength(character);
      if (bytes > CLUSTER_BYTES_MAX) return undefined;
      beginning += character;
      found ??= this.#rules.get(beginning);
    }
    return found;
  }
}

function byteLength(character: string): number {
  const code = character.codePointAt(0)!;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch (error) {
    throw new TextFileError(`"precompiled_charsmap" is no base64`, {
      cause: error,
    });
  }
}

/** All paths through the trie, up to the first leaf of each. */
function rulesOf(bytes: Uint8Array<ArrayBuffer>): Map<string, string> {
  const view = new DataView(bytes.buffer);
  const size = bytes.length < 4 ? Infinity : view.getUint32(0, true);
  if (size > bytes.length - 4 || size % 4 !== 0 || size === 0) {
    throw new TextFileError(
      `"precompiled_charsmap" has ${bytes.length} bytes, less than its trie has`,
    );
  }
  const units = Uint32Array.from(
    { length: size / 4 },
    (_, i) => view.getUint32(4 + 4 * i, true),
  );
  const replacements = bytes.subarray(4 + size);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const rules = new Map<string, string>();
  let visited = 0;
  const walk = (at: number, path: readonly number[]) => {
    if (visited++ > units.length) {
      throw new TextFileError(`The trie of "precompiled_charsmap" is no tree`);
    }
    for (let byte = 1; byte < 256; byte++) {
      const unit = units[at ^ byte] ?? 0;
      // The highest bit is that of a leaf's value, which is no step.
      if ((unit & 0x800000ff) !== byte) continue;
      const next = at ^ byte ^ offsetOf(unit);
      const key = [...path, byte];
      if ((unit & 0x100) !== 0) {
        const place = (units[next] ?? 0) & 0x7fffffff;
        const end = replacements.indexOf(0, place);
        rules.set(
          decoder.decode(Uint8Array.from(key)),
          decoder.decode(
            replacements.subarray(place, end < 0 ? undefined : end),
          ),
        );
      } else if (key.length < CLUSTER_BYTES_MAX) walk(next, key);
    }
  };
  walk(offsetOf(units[0]), []);
  return rules;
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
