/**
 * Server-sent events (WHATWG HTML, section 9.2, "Server-sent events") as a body: `data:` and a blank line for each
 * message. Nothing is made ahead of who reads it: a message is asked for when there is room for it, so a slow reader
 * holds back its own source only. A reader that leaves ends the source, and so does one that is behind for too long: a
 * source that cannot be held back, such as an engine's steps, keeps for it what it has not read.
 */
import { msToNs } from "../../base/units.ts";
import { wallNs } from "../../engine/wall/clock.ts";

/** Of any answer that is one. */
export const EVENT_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // Proxies that would hold messages back until there are many (nginx) are told not to.
  "x-accel-buffering": "no",
};

/** How long a reader may be behind: all that while there was a message that it had not asked for. */
const BEHIND_MS = 60_000;

/** A source that is asked and takes longer had nothing there: its reader has caught up. */
const WAITED_NS = msToNs(1);

/** What becomes of a stream of messages. */
export interface EventStreamOptions {
  /** The last message, after the source's last. */
  readonly last?: string;
  /** The message for what a source throws, after which the stream ends. */
  failed(error: unknown): string;
  /**
   * The reader has left: whatever the source waits for is of no use any more.
   * @param behind of one that is cut off, since it was behind for too long
   */
  left(behind?: Error): void;
  /** How long a reader may be behind; default 60 s. */
  readonly behindMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A response of messages. The first is awaited before there is a response, so that what fails at once has a status.
 * @param source texts of one line each, such as JSON without indentation
 * @throws what the source throws before its first message
 */
export async function eventStream(
  source: AsyncIterable<string>,
  options: EventStreamOptions,
): Promise<Response> {
  const messages = source[Symbol.asyncIterator]();
  const first = await messages.next();
  return new Response(body(messages, first, options), {
    headers: { ...EVENT_HEADERS, ...options.headers },
  });
}

function body(
  messages: AsyncIterator<string>,
  first: IteratorResult<string>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const bytes = (message: string) => encoder.encode(`data: ${message}\n\n`);
  const { behindMs = BEHIND_MS } = options;
  let waiting: IteratorResult<string> | undefined = first;
  let isAsked = false;
  let isLeft = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const caughtUp = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const left = (behind?: Error) => {
    isLeft = true;
    caughtUp();
    options.left(behind);
    // What the source still waits for may not come: nobody waits for its end.
    messages.return?.()?.catch(() => {});
  };
  const asked = async () => {
    const atNs = wallNs();
    const next = await messages.next();
    if (wallNs() - atNs > WAITED_NS) caughtUp();
    return next;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      isAsked = true;
      try {
        const next = waiting ?? await asked();
        waiting = undefined;
        // While the source was asked.
        if (isLeft) return;
        if (!next.done) {
          timer ??= setTimeout(() => {
            timer = undefined;
            if (isAsked) return;
            const error = new Error(
              `A stream's reader was behind for ${behindMs} ms, and is cut off`,
            );
            controller.error(error);
            left(error);
          }, behindMs);
          // Last: Deno's server cancels in the middle of this, where it finds its client gone.
          controller.enqueue(bytes(next.value));
          return;
        }
        if (options.last !== undefined) {
          controller.enqueue(bytes(options.last));
        }
      } catch (error) {
        if (isLeft) return;
        controller.enqueue(bytes(options.failed(error)));
      } finally {
        isAsked = false;
      }
      caughtUp();
      controller.close();
    },
    cancel: () => left(),
  }, { highWaterMark: 0 });
}
