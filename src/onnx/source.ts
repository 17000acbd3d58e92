/** Where a model's bytes come from. */
import { fileBytes } from "../base/bytes.ts";
import { describe, shorten } from "../base/describe.ts";
import { nodeModule } from "../base/node_module.ts";
import type { ExternalFiles } from "./read/external_data.ts";

/** A model's file, and those beside it. */
export interface OpenedSource {
  readonly bytes: Uint8Array;
  /** What messages call it. */
  readonly label: string;
  readonly external: ExternalFiles;
  /** Fetches a file beside it, where there are no files to be opened; undefined when it is not there. */
  readonly fetchBeside?: (location: string) => Promise<Uint8Array | undefined>;
}

/** Bytes that are fetched of a file unless somebody says more: 2 GiB, which is also what a protobuf file may have. */
export const BYTES_MAX = 2 ** 31;

/** Files that tensors of one model may lie in, where each is fetched. */
const FETCHED_MAX = 1024;

const NOTHING: ExternalFiles = () => undefined;

/**
 * @param bytesMax of what is fetched, and of each file beside it
 * @throws TypeError when it is no place; Error when nothing is there, or more than that
 */
export async function openSource(
  source: unknown,
  bytesMax: number = BYTES_MAX,
): Promise<OpenedSource> {
  const given = fileBytes(source);
  if (given) return { bytes: given, label: "the model", external: NOTHING };
  // Another realm's URL is none of this one's.
  const isUrl = Object.prototype.toString.call(source) === "[object URL]";
  const place = isUrl ? String(source) : source;
  if (typeof place !== "string") {
    throw new TypeError(
      `A model is a path, a URL or bytes, got ${describe(source)}`,
    );
  }
  const url = urlOf(place);
  if (url && url.protocol !== "file:") {
    const bytes = await fetched(url, bytesMax);
    if (bytes === undefined) {
      throw new Error(`Cannot load ${labelOf(url.pathname)}: 404`);
    }
    return {
      ...{ bytes, label: labelOf(url.pathname), external: NOTHING },
      // Locations that leave the folder are refused before: what is fetched is of the same origin.
      fetchBeside: (location) =>
        fetched(
          new URL(location.split("/").map(encodeURIComponent).join("/"), url),
          bytesMax,
        ),
    };
  }
  const files = nodeModule("node:fs");
  const paths = nodeModule("node:path");
  const urls = nodeModule("node:url");
  if (!files || !paths || !urls) {
    throw new TypeError(
      `There are no files here: give ${
        describe(source)
      } as a URL, or its bytes`,
    );
  }
  const { readFileSync } = files;
  const { dirname, join } = paths;
  const { fileURLToPath } = urls;
  const path = url ? fileURLToPath(url) : place;
  return {
    bytes: readFileSync(path),
    label: labelOf(path),
    // Locations that leave the folder are refused before they are opened.
    external: (location) => {
      try {
        return readFileSync(join(dirname(path), location));
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === "ENOENT" || code === "ENOTDIR") return undefined;
        throw error;
      }
    },
  };
}

/** A file that reading has found out about, and that is not there yet. */
class NotFetched extends Error {
  constructor(readonly location: string) {
    super(location);
  }
}

/**
 * Reads a model with the files beside it; where these are fetched, it is read again with each that it turns out to need.
 */
export async function withFiles<T>(
  { external, fetchBeside }: OpenedSource,
  read: (external: ExternalFiles) => T,
): Promise<T> {
  if (!fetchBeside) return read(external);
  const files = new Map<string, Uint8Array | undefined>();
  for (;;) {
    try {
      return read((location) => {
        if (files.has(location)) return files.get(location);
        throw new NotFetched(location);
      });
    } catch (error) {
      if (!(error instanceof NotFetched)) throw error;
      if (files.size >= FETCHED_MAX) {
        throw new RangeError(
          `Cannot load a model whose tensors lie in more than ${FETCHED_MAX} files`,
        );
      }
      files.set(error.location, await fetchBeside(error.location));
    }
  }
}

/** @returns undefined when it is not there */
async function fetched(
  url: URL,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const label = labelOf(url.pathname);
  const answer = await fetch(url).catch((cause: Error) => {
    // Node and browsers do not say of what.
    throw new Error(`Cannot load ${shorten(url.href)}: ${cause.message}`, {
      cause,
    });
  });
  if (!answer.ok) {
    await answer.body?.cancel();
    if (answer.status === 404) return undefined;
    throw new Error(`Cannot load ${label}: ${answer.status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) {
      throw new RangeError(
        `Cannot load ${label}: it has more than ${bytesMax} bytes ("bytesMax")`,
      );
    }
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** A text with a scheme, but for a Windows drive's letter. */
function urlOf(source: string): URL | undefined {
  return /^[a-z][a-z0-9+.-]+:/i.test(source) ? new URL(source) : undefined;
}

/** Folder and name, which is how models are told apart: many files are called model.onnx. */
function labelOf(path: string): string {
  return path.split(/[\\/]/).filter((part) => part !== "").slice(-2).join("/");
}
