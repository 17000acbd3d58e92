/**
 * Bodies that are packed (Content-Encoding; RFC 9110, section 8.4). What they unpack to is bounded like any body, and as
 * little of it is made at once: a thousand bytes may stand for a million.
 */
import { HttpError } from "./http_error.ts";

/** Encodings that are read; "deflate" is the one with a header and a sum (RFC 9110, section 8.4.1.2). */
export type Packing = "gzip" | "deflate";

const PACKINGS: Readonly<Record<string, Packing>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
};

/** Bytes that are unpacked at once: runtimes make all that a piece unpacks to, up to a thousand times as much. */
const PIECE_BYTES = 4096;

/** @returns undefined of a body as it is; @throws HttpError 415 (RFC 9110, section 15.5.16) on any other */
export function packingOf(headers: Headers): Packing | undefined {
  const given = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (given === "" || given === "identity") return undefined;
  if (Object.hasOwn(PACKINGS, given)) return PACKINGS[given];
  throw new HttpError(415, "Bodies are packed with gzip or deflate, or not", {
    "accept-encoding": "gzip, deflate",
  });
}

/** What a packed body stands for; ends with an error where it is no such body, or ends early. */
export function unpacked(
  body: ReadableStream<Uint8Array>,
  packing: Packing,
): ReadableStream<Uint8Array> {
  const pieces = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        controller.enqueue(chunk.slice(at, at + PIECE_BYTES));
      }
    },
  });
  return body.pipeThrough(pieces).pipeThrough(new DecompressionStream(packing));
}
