/**
 * Tensors whose bytes are in files beside the model. Such a file's path comes from the model, which may be anybody's:
 * it has to stay in the model's folder (ONNX's own checker was caught out here: CVE-2022-25882, CVE-2024-27318).
 */
import { type Place, quoted } from "../place.ts";
import type { Message } from "./message.ts";

const KEY = 1;
const VALUE = 2;
const EXTERNAL_DATA = 13;

/** Bytes that tensors may take of a file, in its sizes: tied weights share ranges, a flood of them is refused. */
const SHARED_MAX = 4;

/** Bytes of the file at a path relative to the model's folder, with "/" between folders; undefined when it is not there. */
export type ExternalFiles = (location: string) => Uint8Array | undefined;

/** Where a tensor's bytes are. */
interface Entry {
  readonly location: string;
  readonly offset: number;
  readonly length: number | undefined;
}

/** Files that tensors refer to. */
export class ExternalData {
  readonly #files = new Map<string, { bytes: Uint8Array; taken: number }>();

  constructor(readonly open: ExternalFiles) {}

  /** @returns a copy of a tensor's bytes */
  read(tensor: Message, needed: number): Uint8Array<ArrayBuffer> {
    const { place } = tensor;
    const { location, offset, length } = entryOf(tensor);
    if (length !== undefined && length !== needed) {
      place.fail(
        `its external data have ${length} bytes, type and dims need ${needed}`,
      );
    }
    const file = this.#file(location, place);
    if (offset + needed > file.bytes.length) {
      place.fail(
        `its external data end at byte ${offset + needed} of ${
          quoted(location)
        }, which has ${file.bytes.length} (truncated?)`,
      );
    }
    file.taken += needed;
    if (file.taken > SHARED_MAX * file.bytes.length) {
      place.fail(
        `tensors take more than ${SHARED_MAX} times the ${file.bytes.length} bytes of ${
          quoted(location)
        }`,
      );
    }
    return new Uint8Array(file.bytes.subarray(offset, offset + needed));
  }

  #opened(location: string, place: Place): Uint8Array | undefined {
    try {
      return this.open(location);
    } catch (error) {
      // Of the system; others are not about the file.
      if (!(error instanceof Error) || !("code" in error)) throw error;
      return place.fail(
        `its data are in the file ${quoted(location)}, which cannot be read: ${
          String(error.code)
        }`,
      );
    }
  }

  #file(location: string, place: Place) {
    const known = this.#files.get(location);
    if (known !== undefined) return known;
    const bytes = this.#opened(location, place);
    if (bytes === undefined) {
      return place.fail(
        `its data are in the file ${quoted(location)}, which was not given`,
      );
    }
    const file = { bytes, taken: 0 };
    this.#files.set(location, file);
    return file;
  }
}

function entryOf(tensor: Message): Entry {
  const { place } = tensor;
  const entries = new Map(
    tensor.messages(
      EXTERNAL_DATA,
      (entry) => [entry.text(KEY), entry.text(VALUE)] as const,
    ),
  );
  const integer = (key: string) => {
    const text = entries.get(key);
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text)) {
      place.fail(`external data: ${key} is ${quoted(text)}, expected a number`);
    }
    return Number(text);
  };
  const location = entries.get("location") ?? "";
  if (!isInside(location)) {
    place.fail(
      `external data: location ${
        quoted(location)
      } is not a path inside the model's folder`,
    );
  }
  return {
    location,
    offset: integer("offset") ?? 0,
    length: integer("length"),
  };
}

/**
 * Whether a path stays in the folder that it is relative to, on every system: neither absolute nor a URL, no drive,
 * no backslash, no empty part, "." or "..".
 */
export function isInside(location: string): boolean {
  return location !== "" && !CONTROLS_AND_SEPARATORS.test(location) &&
    // Windows takes ".. " for "..".
    location.split("/").every((part) => !/^[. ]*$/.test(part));
}

// deno-lint-ignore no-control-regex
const CONTROLS_AND_SEPARATORS = /[\x00-\x1f\\:*?"<>|%]/;
