/**
 * Bodies, read with limits: what is too large is refused before it is in memory, by its Content-Length if it has one
 * and otherwise as soon as it has brought too much; what comes too slowly is refused when its time is over. Chunks
 * without an end or of a byte each (triton-inference-server/server#8770, #8796) cost their sender a connection and the
 * server no more than a body of the largest size.
 */
import { timerMs } from "../../engine/wall/patience.ts";
import { OverloadedError } from "../host/errors.ts";
import type { BodyBudget } from "./body_budget.ts";
import type { BodyLimits } from "./body_limits.ts";
import { HttpError } from "./http_error.ts";
import { type Packing, packingOf, unpacked } from "./packed_body.ts";

/** Room that a body begins with: it has no more to say about how much is allocated than what it has brought. */
const FIRST_BYTES = 16 * 1024;

/**
 * A body that says it is no larger is taken as a whole, which costs less than half of a stream of pieces: servers hold
 * bodies to their Content-Length (RFC 9112, section 6.3).
 */
const SMALL_BYTES = FIRST_BYTES;

/** A body that was read, and the memory that it holds. */
export interface ReadBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The request is over; may be called again. */
  release(): void;
}

/**
 * @param budget what the bodies of all requests may take together
 * @param signal the client's: what it sends afterwards is nobody's
 * @throws HttpError 400 on a length that is none or that the body does not keep, 408 when it took too long, 413 when it
 * is too large, packed or unpacked, or than all may be together, 415 when it is packed in another way than gzip or deflate
 * @throws OverloadedError when the bodies of other requests leave no room for it
 * @throws the signal's reason
 */
export async function readBody(
  request:
    & Pick<Request, "headers" | "body">
    & Partial<Pick<Request, "arrayBuffer">>,
  limits: BodyLimits,
  budget: BodyBudget,
  signal?: AbortSignal,
): Promise<ReadBody> {
  const declared = declaredBytes(request.headers);
  if (declared !== undefined && declared > limits.bytesMax) {
    void request.body?.cancel().catch(() => {});
    throw tooLarge(limits);
  }
  const packing = packingOf(request.headers);
  const room = new Room(limits, budget, packing ? undefined : declared);
  const isSmall = !packing && (declared ?? Infinity) <= SMALL_BYTES;
  const source = isSmall && request.arrayBuffer
    ? wholeOf(request.arrayBuffer.bind(request))
    : piecesOf(streamOf(request), packing, limits, declared);
  try {
    await withLimits(limits.timeoutMs, signal, () => source.readTo(room));
    return room.take();
  } catch (error) {
    room.release();
    source.cancel();
    throw error;
  }
}

/** What a body is read from. */
interface Source {
  /** Adds all that comes. */
  readTo(room: Room): Promise<void>;
  /** Nobody waits for what the sender makes of it. */
  cancel(): void;
}

/** A body's pieces; one, where requests have no stream of them, as in Firefox. */
function streamOf(
  request: Pick<Request, "body"> & Partial<Pick<Request, "arrayBuffer">>,
): ReadableStream<Uint8Array> | null {
  if (request.body !== undefined || !request.arrayBuffer) return request.body;
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(await request.arrayBuffer!()));
      controller.close();
    },
  });
}

function wholeOf(whole: () => Promise<ArrayBuffer>): Source {
  return {
    async readTo(room) {
      const bytes = await whole().catch(endedEarly(undefined));
      if (bytes.byteLength > 0) room.add(new Uint8Array(bytes));
    },
    cancel() {},
  };
}

function piecesOf(
  given: ReadableStream<Uint8Array> | null,
  packing: Packing | undefined,
  limits: BodyLimits,
  declared: number | undefined,
): Source {
  const body = given && packing
    ? unpacked(counted(given, limits, declared), packing)
    : given;
  const reader = body?.getReader();
  return {
    async readTo(room) {
      while (reader) {
        const { done, value } = await reader.read().catch(endedEarly(packing));
        if (done) return;
        room.add(value);
      }
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}

/** The connection broke, or chunks are none. */
function endedEarly(packing: Packing | undefined): (error: unknown) => never {
  return (error) => {
    if (error instanceof HttpError) throw error;
    const message = packing
      ? `The body is not ${packing}, or ended early`
      : "The body ended early";
    throw new HttpError(400, message, {}, { cause: error });
  };
}

/** A packed body, as long as it says it is, and no longer than any may be. */
function counted(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
  declared: number | undefined,
): ReadableStream<Uint8Array> {
  let length = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        length += chunk.length;
        if (length > limits.bytesMax) throw tooLarge(limits);
        if (length > (declared ?? Infinity)) throw new HttpError(400, TOO_LONG);
        controller.enqueue(chunk);
      },
      flush() {
        if (length < (declared ?? 0)) throw new HttpError(400, TOO_SHORT);
      },
    }),
  );
}

const TOO_LONG = "The body is longer than its Content-Length";
const TOO_SHORT = "The body is shorter than its Content-Length";

/** @returns undefined where it is not said; a chunked body's is not (RFC 9112, section 6.3) */
function declaredBytes(headers: Headers): number | undefined {
  const text = headers.get("content-length");
  if (text === null || headers.has("transfer-encoding")) return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw new HttpError(400, "Content-Length is not a number of bytes");
  }
  return Number(text);
}

/** Where a body is gathered: memory grows with what has come, doubling, so that small chunks cost no more than large. */
class Room {
  #bytes = new Uint8Array(0);
  #length = 0;
  #held = 0;
  #isOver = false;

  constructor(
    readonly limits: BodyLimits,
    readonly budget: BodyBudget,
    readonly declared: number | undefined,
  ) {}

  add(chunk: Uint8Array): void {
    // It was given up while this was on its way, and nobody would give back what it takes.
    if (this.#isOver) return;
    const length = this.#length + chunk.length;
    if (length > this.limits.bytesMax) throw tooLarge(this.limits);
    if (length > (this.declared ?? Infinity)) {
      throw new HttpError(400, TOO_LONG);
    }
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  #grow(least: number): void {
    const most = Math.min(
      this.declared ?? this.limits.bytesMax,
      Math.max(least, this.budget.bytesMax),
    );
    const size = Math.min(most, Math.max(least, 2 * this.#length, FIRST_BYTES));
    if (!this.budget.take(size - this.#held)) throw noRoom(least, this.budget);
    this.#held = size;
    const grown = new Uint8Array(size);
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  take(): ReadBody {
    if (this.#length < (this.declared ?? 0)) {
      throw new HttpError(400, TOO_SHORT);
    }
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      release: () => this.release(),
    };
  }

  release(): void {
    this.#isOver = true;
    this.budget.give(this.#held);
    this.#held = 0;
  }
}

/** Does something until it is done, its time is over or the signal is aborted, whichever comes first. */
async function withLimits(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  read: () => Promise<void>,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new HttpError(408, `The body did not come within ${timeoutMs} ms`),
        ),
      timerMs(timeoutMs),
    );
    abort = () => reject(signal!.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
  const reading = read();
  try {
    await Promise.race([reading, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort!);
    // What it comes to afterwards is nobody's.
    reading.catch(() => {});
    ended.catch(() => {});
  }
}

/** When bodies of others may be over: nobody knows. */
const RETRY_AFTER_MS = 1000;

/** What is told where the bodies of other requests leave no room for so many bytes, or there never is any. */
export function noRoom(
  bytes: number,
  { bytesMax }: BodyBudget,
): HttpError | OverloadedError {
  if (bytes > bytesMax) {
    return new HttpError(
      413,
      `This body takes ${bytes} bytes of memory, all of them together have at most ${bytesMax}`,
    );
  }
  return new OverloadedError(
    "The bodies of other requests leave no room for this one; retry later",
    RETRY_AFTER_MS,
  );
}

function tooLarge({ bytesMax }: BodyLimits): HttpError {
  return new HttpError(413, `A body has at most ${bytesMax} bytes`);
}
