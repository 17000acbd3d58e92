/**
 * Frames of a WebSocket's server side (RFC 6455, section 5), for runtimes that bring none. No extensions: the bits of
 * those are zero. What a client may send is bounded; what breaks the protocol ends the connection with the status that
 * section 7.4.1 has for it.
 */

/** What a client sent. */
export type SocketMessage =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "ping"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "pong" }
  | { readonly kind: "close"; readonly code: number };

/** A client that breaks the protocol. */
export class SocketProtocolError extends Error {
  override readonly name = "SocketProtocolError";

  /** @param code section 7.4.1 */
  constructor(message: string, readonly code: number) {
    super(message);
  }
}

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** Section 5.5. */
const CONTROL_BYTES_MAX = 125;

/** A close frame without a status. */
const NO_STATUS = 1005;

interface Header {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly size: number;
  readonly maskAt: number;
}

/** Takes the bytes of one connection apart. */
export class SocketReader {
  readonly #sizeMax: number;
  /** What has come and is no whole frame. */
  #pieces = new Gathered();
  /** Bytes of the frame under way, as far as is known. */
  #wanted = 0;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array();
  /** Of a message in several frames. */
  #parts = new Gathered();
  #opcode: number | undefined;

  /** @param sizeMax most bytes of a message */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /**
   * Messages that are complete now, in order; all of them have to be taken.
   * @throws SocketProtocolError
   */
  *push(bytes: Uint8Array): Generator<SocketMessage, void, undefined> {
    // Of Node's Buffers slice() would be no copy.
    const { buffer, byteOffset, length } = bytes as Uint8Array<ArrayBuffer>;
    this.#pieces.add(new Uint8Array(buffer, byteOffset, length));
    if (this.#pieces.size < this.#wanted) return;
    this.#bytes = this.#pieces.take();
    this.#wanted = 0;
    let at = 0;
    for (let header; (header = this.#header(at)) !== undefined;) {
      const end = header.maskAt + 4 + header.size;
      if (end > this.#bytes.length) {
        this.#wanted = end - at;
        break;
      }
      const payload = unmasked(this.#bytes, header);
      at = end;
      const message = this.#message(header, payload);
      if (message) yield message;
    }
    this.#pieces.add(this.#bytes.slice(at));
  }

  /** The header of the frame at `at`, if all of it is there. */
  #header(at: number): Header | undefined {
    const bytes = this.#bytes;
    if (bytes.length < at + 2) return undefined;
    const [first, second] = bytes.subarray(at, at + 2);
    const opcode = first & 15;
    const isLast = (first & 128) !== 0;
    if ((first & 0x70) !== 0) throw broken("a bit of an extension is set");
    if ((second & 128) === 0) throw broken("a client's frame is not masked");
    let size = second & 127;
    if (opcode >= CLOSE && (size > CONTROL_BYTES_MAX || !isLast)) {
      throw broken("a control frame is short and whole");
    }
    let maskAt = at + 2;
    const sizeBytes = size === 127 ? 8 : size === 126 ? 2 : 0;
    if (bytes.length < maskAt + sizeBytes + 4) return undefined;
    if (sizeBytes > 0) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + maskAt);
      size = sizeBytes === 2 ? view.getUint16(0) : Number(view.getBigUint64(0));
      maskAt += sizeBytes;
    }
    // Before it is waited for.
    if (size + this.#parts.size > this.#sizeMax) {
      throw new SocketProtocolError(
        `a message has up to ${this.#sizeMax} bytes`,
        1009,
      );
    }
    return { isLast, opcode, size, maskAt };
  }

  #message(
    { isLast, opcode }: Header,
    payload: Uint8Array<ArrayBuffer>,
  ): SocketMessage | undefined {
    switch (opcode) {
      case PING:
        return { kind: "ping", bytes: payload };
      case PONG:
        return { kind: "pong" };
      case CLOSE:
        return { kind: "close", code: closeCode(payload) };
      case CONTINUATION:
        if (this.#opcode === undefined) {
          throw broken("there is nothing to continue");
        }
        break;
      case TEXT:
      case BINARY:
        if (this.#opcode !== undefined) {
          throw broken("a message begins within another one");
        }
        this.#opcode = opcode;
        break;
      default:
        throw broken(`there is no opcode ${opcode}`);
    }
    this.#parts.add(payload);
    if (!isLast) return undefined;
    const bytes = this.#parts.take();
    const isText = this.#opcode === TEXT;
    this.#opcode = undefined;
    return isText
      ? { kind: "text", text: textOf(bytes) }
      : { kind: "binary", bytes };
  }
}

/** A frame of text. */
export function textFrame(text: string): Uint8Array<ArrayBuffer> {
  return frame(TEXT, new TextEncoder().encode(text));
}

/** A question that every client answers by itself. */
export function pingFrame(): Uint8Array<ArrayBuffer> {
  return frame(PING, new Uint8Array());
}

/** The answer to a ping. */
export function pongFrame(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return frame(PONG, bytes);
}

/** @param code section 7.4.1; 1005: none */
export function closeFrame(
  code: number,
  reason = "",
): Uint8Array<ArrayBuffer> {
  if (code === NO_STATUS) return frame(CLOSE, new Uint8Array());
  const text = new TextEncoder().encode(reason).slice(0, CONTROL_BYTES_MAX - 2);
  const payload = new Uint8Array(2 + text.length);
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(text, 2);
  return frame(CLOSE, payload);
}

/**
 * The value of `Sec-WebSocket-Accept` (section 4.2.2).
 * @param key of the request's `Sec-WebSocket-Key`
 */
export async function acceptKey(key: string): Promise<string> {
  const text = `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const hash = await crypto.subtle.digest(
    "SHA-1",
    new TextEncoder().encode(text),
  );
  return btoa(String.fromCharCode(...new Uint8Array(hash)));
}

function frame(opcode: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const sizeBytes = length > 0xffff ? 8 : length > CONTROL_BYTES_MAX ? 2 : 0;
  const bytes = new Uint8Array(2 + sizeBytes + length);
  const view = new DataView(bytes.buffer);
  bytes[0] = 128 | opcode;
  bytes[1] = sizeBytes === 8 ? 127 : sizeBytes === 2 ? 126 : length;
  if (sizeBytes === 8) view.setBigUint64(2, BigInt(length));
  else if (sizeBytes === 2) view.setUint16(2, length);
  bytes.set(payload, 2 + sizeBytes);
  return bytes;
}

function unmasked(
  bytes: Uint8Array,
  { maskAt, size }: Header,
): Uint8Array<ArrayBuffer> {
  const payload = bytes.slice(maskAt + 4, maskAt + 4 + size);
  for (let i = 0; i < size; i++) payload[i] ^= bytes[maskAt + (i & 3)];
  return payload as Uint8Array<ArrayBuffer>;
}

function closeCode(payload: Uint8Array<ArrayBuffer>): number {
  if (payload.length === 0) return NO_STATUS;
  if (payload.length === 1) throw broken("a status has two bytes");
  const code = new DataView(payload.buffer).getUint16(0);
  const isAllowed = code >= 3000 && code <= 4999 ||
    code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_STATUS &&
      code !== 1006;
  if (!isAllowed) throw broken(`${code} is no status that is sent`);
  textOf(payload.slice(2));
  return code;
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      bytes,
    );
  } catch {
    throw new SocketProtocolError("text is UTF-8", 1007);
  }
}

function broken(message: string): SocketProtocolError {
  return new SocketProtocolError(message, 1002);
}

/** Pieces as one, in room that doubles: however small they are, they take no more than twice their bytes. */
class Gathered {
  #room: Uint8Array<ArrayBuffer> = new Uint8Array();
  #size = 0;

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  /** @param piece nobody's any more: the first one is not copied */
  add(piece: Uint8Array<ArrayBuffer>): void {
    const size = this.#size + piece.length;
    if (this.#size === 0) this.#room = piece;
    else {
      if (size > this.#room.length) {
        const grown = new Uint8Array(Math.max(size, 2 * this.#size));
        grown.set(this.#room);
        this.#room = grown;
      }
      this.#room.set(piece, this.#size);
    }
    this.#size = size;
  }

  /** All of them; there are none then. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#room.subarray(0, this.#size);
    this.#room = new Uint8Array();
    this.#size = 0;
    return bytes;
  }
}
