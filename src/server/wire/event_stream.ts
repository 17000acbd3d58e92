/**
 * Server-sent events (WHATWG HTML, section 9.2, "Server-sent events") as a body: `data:` and a blank line for each
 * message. Nothing is made ahead of who reads it: a message is asked for when there is room for it, so a slow reader
 * holds back its own source only. A reader that leaves ends the source.
 */

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // Proxies that would hold messages back until there are many (nginx) are told not to.
  "x-accel-buffering": "no",
};

/** What becomes of a stream of messages. */
export interface EventStreamOptions {
  /** The last message, after the source's last. */
  readonly last?: string;
  /** The message for what a source throws, after which the stream ends. */
  failed(error: unknown): string;
  /** The reader has left: whatever the source waits for is of no use any more. */
  left(): void;
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
    headers: { ...HEADERS, ...options.headers },
  });
}

function body(
  messages: AsyncIterator<string>,
  first: IteratorResult<string>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const bytes = (message: string) => encoder.encode(`data: ${message}\n\n`);
  let waiting: IteratorResult<string> | undefined = first;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = waiting ?? await messages.next();
        waiting = undefined;
        if (!next.done) {
          controller.enqueue(bytes(next.value));
          return;
        }
        if (options.last !== undefined) {
          controller.enqueue(bytes(options.last));
        }
      } catch (error) {
        controller.enqueue(bytes(options.failed(error)));
      }
      controller.close();
    },
    cancel() {
      options.left();
      // What the source still waits for may not come: nobody waits for its end.
      messages.return?.()?.catch(() => {});
    },
  }, { highWaterMark: 0 });
}
