/**
 * Messages in a body as gRPC has them (grpc/grpc, doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message"): a byte that says
 * whether it is compressed, which none is here, four of its length, the greatest first, and the message.
 */
import { HttpError } from "../http/http_error.ts";

const HEAD_BYTES = 5;

/** A message's first bytes, which go before its own. */
export function frameHead(bytes: number): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(HEAD_BYTES);
  new DataView(head.buffer).setUint32(1, bytes);
  return head;
}

/** A message with its head. */
export function framed(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEAD_BYTES + message.length);
  frame.set(frameHead(message.length));
  frame.set(message, HEAD_BYTES);
  return frame;
}

/** What a frame adds to its message. */
export const FRAME_BYTES = HEAD_BYTES;

/**
 * The message that a body is all of.
 * @throws HttpError 400
 */
export function unframed(body: Uint8Array): Uint8Array {
  const isOne = body.length >= HEAD_BYTES &&
    lengthOf(body) === body.length - HEAD_BYTES;
  if (isOne) return body.subarray(HEAD_BYTES);
  throw new HttpError(400, "The body is not one message");
}

/**
 * Messages one after the other, in whatever pieces they come.
 * @param bytesMax most bytes of one
 * @throws HttpError 400 where the last one ends early, 413 on one that is too long
 */
export async function* frames(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    let left: Uint8Array<ArrayBufferLike> = new Uint8Array(0);
    /** Gathers so many bytes; undefined behind the last ones. */
    const take = async (bytes: number) => {
      const parts = [left];
      let length = left.length;
      while (length < bytes) {
        const { done, value } = await reader.read();
        if (done) {
          if (length === 0) return undefined;
          throw new HttpError(400, "The last message ended early");
        }
        parts.push(value);
        length += value.length;
      }
      const all = parts.length === 1 ? left : joined(parts, length);
      left = all.subarray(bytes);
      return all.subarray(0, bytes);
    };
    for (;;) {
      const head = await take(HEAD_BYTES);
      if (head === undefined) return;
      const length = lengthOf(head);
      if (length > bytesMax) {
        throw new HttpError(413, `A message has at most ${bytesMax} bytes`);
      }
      const message = length === 0 ? new Uint8Array(0) : await take(length);
      if (message === undefined) {
        throw new HttpError(400, "The last message ended early");
      }
      yield message;
    }
  } finally {
    // Whoever still sends is not heard any more.
    void reader.cancel().catch(() => {});
  }
}

/** @throws HttpError 400 on a head that is none */
function lengthOf(head: Uint8Array): number {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (view.getUint8(0) !== 0) {
    throw new HttpError(400, "A message is compressed, which none is here");
  }
  return view.getUint32(1);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
