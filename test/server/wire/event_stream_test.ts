import assert from "node:assert/strict";
import {
  eventStream,
  type EventStreamOptions,
} from "../../../src/server/wire/event_stream.ts";
import { withLongTimers } from "../long_timers.ts";

const OPTIONS: EventStreamOptions = {
  last: "[DONE]",
  failed: (error) => JSON.stringify({ error: String(error) }),
  left: () => {},
};

/** Counts how far it was asked, and whether it was ended. */
class Source {
  asked = 0;
  ended = false;

  constructor(readonly messages: number, readonly failsAt = -1) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      for (let i = 0; i < this.messages; i++) {
        this.asked++;
        await undefined;
        if (i === this.failsAt) throw new Error("broken");
        yield `{"i":${i}}`;
      }
    } finally {
      this.ended = true;
    }
  }
}

Deno.test("eventStream writes a data line and a blank line for each message, then the last one", async () => {
  const response = await eventStream(new Source(2), OPTIONS);
  assert.equal(
    response.headers.get("content-type"),
    "text/event-stream; charset=utf-8",
  );
  assert.equal(
    await response.text(),
    'data: {"i":0}\n\ndata: {"i":1}\n\ndata: [DONE]\n\n',
  );
});

Deno.test("eventStream asks for no message that nobody reads", async () => {
  const source = new Source(1000);
  const response = await eventStream(source, OPTIONS);
  const reader = response.body!.getReader();
  for (let read = 1; read <= 3; read++) {
    await reader.read();
    // Whatever would be made ahead would be made by now.
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(source.asked, read);
  }
  await reader.cancel();
  assert(source.ended);
});

Deno.test("eventStream tells at once that its reader has left, though the source has nothing yet", async () => {
  let left = 0;
  const silent: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        left === 0 && asked++ === 0
          ? Promise.resolve({ value: "1", done: false })
          : new Promise(() => {}),
    }),
  };
  let asked = 0;
  const response = await eventStream(silent, {
    ...OPTIONS,
    left: () => left++,
  });
  const reader = response.body!.getReader();
  await reader.read();
  void reader.read();
  await reader.cancel();
  assert.equal(left, 1);
});

Deno.test("eventStream makes nothing of what its source gives, throws or ends with behind a reader that has left", async () => {
  const ends: ((answer: (value: IteratorResult<string>) => void) => void)[] = [
    (answer) => answer({ value: "2", done: false }),
    (answer) => answer({ value: undefined, done: true }),
    () => {
      throw new Error("broken");
    },
  ];
  for (const end of ends) {
    let returned = 0;
    let asked = 0;
    let give = () => {};
    const plain: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          asked++ === 0
            ? Promise.resolve({ value: "1", done: false })
            : new Promise<void>((resolve) => give = resolve).then(() =>
              new Promise(end)
            ),
        return() {
          returned++;
          return Promise.resolve({ value: undefined, done: true as const });
        },
      }),
    };
    const made: string[] = [];
    const { enqueue, close } = ReadableStreamDefaultController.prototype;
    const response = await eventStream(plain, {
      ...OPTIONS,
      failed: (error) => (made.push(`failed: ${error}`), "failed"),
    });
    const reader = response.body!.getReader();
    await reader.read();
    const read = reader.read();
    await new Promise((resolve) => setTimeout(resolve));
    await reader.cancel();
    assert.deepEqual(await read, { value: undefined, done: true });
    Object.assign(ReadableStreamDefaultController.prototype, {
      enqueue: () => made.push("enqueue"),
      close: () => made.push("close"),
    });
    try {
      give();
      await new Promise((resolve) => setTimeout(resolve));
    } finally {
      Object.assign(ReadableStreamDefaultController.prototype, {
        enqueue,
        close,
      });
    }
    assert.deepEqual([made, returned, asked], [[], 1, 2]);
  }
});

Deno.test("eventStream waits no longer for a reader that leaves while it is given a message, as Deno's server does", async () => {
  await withLongTimers(async () => {
    let left = 0;
    const source = new Source(1000);
    const response = await eventStream(source, {
      ...OPTIONS,
      behindMs: 3_600_000,
      left: () => left++,
    });
    const reader = response.body!.getReader();
    const { enqueue } = ReadableStreamDefaultController.prototype;
    ReadableStreamDefaultController.prototype.enqueue = function (message) {
      enqueue.call(this, message);
      void reader.cancel();
    };
    try {
      await reader.read();
    } finally {
      ReadableStreamDefaultController.prototype.enqueue = enqueue;
    }
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual([left, source.ended], [1, true]);
  });
});

Deno.test("eventStream throws what fails before the first message, and tells what fails behind it", async () => {
  await assert.rejects(eventStream(new Source(3, 0), OPTIONS), {
    message: "broken",
  });
  const response = await eventStream(new Source(3, 1), OPTIONS);
  assert.equal(
    await response.text(),
    'data: {"i":0}\n\ndata: {"error":"Error: broken"}\n\n',
  );
});

Deno.test("eventStream of an empty source is its last message", async () => {
  const response = await eventStream(new Source(0), OPTIONS);
  assert.equal(await response.text(), "data: [DONE]\n\n");
});

/** Reads as a client does that looks every so many milliseconds, for as long as it gets something. */
async function readEvery(
  response: Response,
  everyMs: number,
  mostMs: number,
): Promise<{ messages: number; error?: Error }> {
  const reader = response.body!.getReader();
  let messages = 0;
  try {
    for (const start = performance.now(); performance.now() - start < mostMs;) {
      if ((await reader.read()).done) break;
      messages++;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    await reader.cancel();
    return { messages };
  } catch (error) {
    return { messages, error: error as Error };
  }
}

Deno.test("eventStream cuts off a reader that is behind for too long, whether it reads nothing or little, and ends its source", async () => {
  for (const everyMs of [1000, 20]) {
    const source = new Source(1e6);
    const left: unknown[] = [];
    const response = await eventStream(source, {
      ...OPTIONS,
      left: (behind) => left.push(behind),
      behindMs: 200,
    });
    const { messages, error } = await readEvery(response, everyMs, 30_000);
    assert(messages < 1000, `${messages} messages`);
    assert.match(`${error}`, /reader was behind for 200 ms/);
    assert.deepEqual(left, [error]);
    assert(source.ended);
  }
});

Deno.test("eventStream cuts off no reader that catches up with its source, now and then or always", async () => {
  for (const [sourceMs, readerMs] of [[300, 0], [20, 150]]) {
    const left: unknown[] = [];
    const slow = async function* () {
      for (let i = 0; i < 4; i++) {
        await new Promise((resolve) => setTimeout(resolve, sourceMs));
        yield "1";
      }
    };
    const response = await eventStream(slow(), {
      ...OPTIONS,
      left: (behind) => left.push(behind),
      behindMs: 200,
    });
    const { messages, error } = await readEvery(response, readerMs, 30_000);
    assert.deepEqual([messages, error, left], [5, undefined, []]);
  }
});
