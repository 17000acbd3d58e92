/** Where a model's bytes come from. */
import { describe } from "../base/describe.ts";
import { nodeModule } from "../base/node_module.ts";
import type { ExternalFiles } from "./read/external_data.ts";

/** A model's file, and those beside it. */
export interface OpenedSource {
  readonly bytes: Uint8Array | ArrayBuffer;
  /** What messages call it. */
  readonly label: string;
  readonly external: ExternalFiles;
}

const NOTHING: ExternalFiles = () => undefined;

/**
 * @throws TypeError when it is no place; Error when nothing is there
 */
export async function openSource(source: unknown): Promise<OpenedSource> {
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) {
    return { bytes: source, label: "the model", external: NOTHING };
  }
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new TypeError(
      `A model is a path, a URL or bytes, got ${describe(source)}`,
    );
  }
  const url = urlOf(source);
  if (url && url.protocol !== "file:") {
    const answer = await fetch(url);
    if (!answer.ok) {
      throw new Error(`Cannot load ${labelOf(url.pathname)}: ${answer.status}`);
    }
    const bytes = await answer.arrayBuffer();
    return { bytes, label: labelOf(url.pathname), external: NOTHING };
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
  const path = url ? fileURLToPath(url) : String(source);
  return {
    bytes: readFileSync(path),
    label: labelOf(path),
    // Locations that leave the folder are refused before they are opened.
    external: (location) => {
      try {
        return readFileSync(join(dirname(path), location));
      } catch {
        return undefined;
      }
    },
  };
}

/** A text with a scheme, but for a Windows drive's letter. */
function urlOf(source: string | URL): URL | undefined {
  if (source instanceof URL) return source;
  return /^[a-z][a-z0-9+.-]+:/i.test(source) ? new URL(source) : undefined;
}

/** Folder and name, which is how models are told apart: many files are called model.onnx. */
function labelOf(path: string): string {
  return path.split(/[\\/]/).filter((part) => part !== "").slice(-2).join("/");
}
