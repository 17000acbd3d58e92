/** Bodies that are too large, too slow, endless, cut short, or too many at once. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { BodyBudget } from "../../../src/server/http/body_budget.ts";
import { BODY_LIMITS } from "../../../src/server/http/body_limits.ts";
import { httpErrorOf } from "../../../src/server/http/error_status.ts";
import type { HttpError } from "../../../src/server/http/http_error.ts";
import { unpacked } from "../../../src/server/http/packed_body.ts";
import { readBody } from "../../../src/server/http/read_body.ts";
import { propertyRuns } from "../../property_runs.ts";
import { withLongTimers } from "../long_timers.ts";

const LIMITS = { ...BODY_LIMITS, bytesMax: 100_000, timeoutMs: 5_000 };

interface Sent {
  readonly chunks: Iterable<Uint8Array>;
  readonly declared?: string;
  readonly chunked?: boolean;
  /** After the chunks: it ends, it breaks, or nothing happens any more. */
  readonly then?: "end" | "break" | "hang";
}

/** A body as it comes in, and what became of it. */
function incoming({ chunks, declared, chunked, then = "end" }: Sent) {
  const seen = { pulled: 0, cancelled: false };
  const iterator = chunks[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const { value, done } = iterator.next();
      if (!done) {
        seen.pulled += value.length;
        controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } else if (then === "end") controller.close();
      else if (then === "break") controller.error(new TypeError("reset"));
      else return new Promise(() => {});
    },
    cancel: () => void (seen.cancelled = true),
  }, { highWaterMark: 0 });
  const headers = new Headers();
  if (declared !== undefined) headers.set("content-length", declared);
  if (chunked) headers.set("transfer-encoding", "chunked");
  return { request: { headers, body }, seen };
}

function* endless(chunk: Uint8Array): Generator<Uint8Array> {
  for (;;) yield chunk;
}

async function refused(
  reading: Promise<unknown>,
  status: number,
): Promise<HttpError> {
  const error = await reading.then(
    () => assert.fail("it was read"),
    (error) => httpErrorOf(error),
  );
  assert.equal(error.status, status, error.message);
  return error;
}

Deno.test("a body is what its chunks are, however they are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 30 }),
      fc.boolean(),
      async (chunks, isDeclared) => {
        const whole = chunks.flatMap((chunk) => [...chunk]);
        const budget = new BodyBudget(Infinity);
        const { request } = incoming({
          chunks,
          ...(isDeclared ? { declared: `${whole.length}` } : { chunked: true }),
        });
        const limits = { ...LIMITS, bytesMax: 1e6 };
        const { bytes, release } = await readBody(request, limits, budget);
        assert.deepEqual([...bytes], whole);
        assert(budget.held >= whole.length);
        assert(budget.held <= 2 * Math.max(whole.length, 2 ** 14));
        release();
        release();
        assert.equal(budget.held, 0);
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

Deno.test("a Content-Length beyond the limit is refused before anything is read", async () => {
  const { request, seen } = incoming({
    chunks: endless(new Uint8Array(10)),
    declared: `${LIMITS.bytesMax + 1}`,
  });
  const budget = new BodyBudget(Infinity);
  await refused(readBody(request, LIMITS, budget), 413);
  assert.deepEqual(seen, { pulled: 0, cancelled: true });
});

Deno.test("what a Content-Length claims is not allocated", async () => {
  const { request } = incoming({
    chunks: [new Uint8Array(10)],
    declared: `${LIMITS.bytesMax}`,
    then: "hang",
  });
  const budget = new BodyBudget(Infinity);
  const reading = readBody(request, { ...LIMITS, timeoutMs: 30 }, budget);
  await new Promise((resolve) => setTimeout(resolve));
  assert(budget.held > 0 && budget.held <= 2 ** 14, `${budget.held}`);
  await refused(reading, 408);
  assert.equal(budget.held, 0);
});

Deno.test("a body may have more time than a timer can last", async () => {
  const { request } = incoming({ chunks: [], then: "hang" });
  const limits = { ...LIMITS, timeoutMs: Infinity };
  await withLongTimers(async (ring) => {
    const reading = readBody(request, limits, new BodyBudget(Infinity));
    ring();
    await refused(reading, 408);
  });
});

Deno.test("chunks without an end are refused as soon as they are too many, of one byte, too", async () => {
  for (const size of [1, 100, 4096]) {
    const { request, seen } = incoming({
      chunks: endless(new Uint8Array(size)),
      chunked: true,
    });
    const budget = new BodyBudget(Infinity);
    await refused(readBody(request, LIMITS, budget), 413);
    assert(seen.pulled <= LIMITS.bytesMax + size);
    assert(seen.cancelled);
    assert.equal(budget.held, 0);
  }
});

Deno.test("chunks that claim a length have none", async () => {
  const chunks = [new Uint8Array(10), new Uint8Array(10)];
  const { request } = incoming({ chunks, declared: "3", chunked: true });
  const { bytes } = await readBody(request, LIMITS, new BodyBudget(Infinity));
  assert.equal(bytes.length, 20);
});

Deno.test("a body keeps to its Content-Length", async () => {
  const chunks = [new Uint8Array(10)];
  for (const declared of ["9", "11", "-1", "1e3", "0x10", "", "10, 10"]) {
    const { request, seen } = incoming({ chunks, declared });
    const budget = new BodyBudget(Infinity);
    await refused(readBody(request, LIMITS, budget), 400);
    assert.equal(budget.held, 0);
    assert(seen.pulled <= 10);
  }
});

Deno.test("a small body that says how long it is is read at once, and held to the same", async () => {
  const small = (declared: string, whole: () => Promise<ArrayBuffer>) => ({
    headers: new Headers({ "content-length": declared }),
    arrayBuffer: whole,
    get body(): never {
      throw new Error("a stream was made of it");
    },
  });
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const there = () => Promise.resolve(bytes.slice().buffer);
  const budget = new BodyBudget(4);
  const read = await readBody(small("4", there), LIMITS, budget);
  assert.deepEqual(read.bytes, bytes);
  await refused(readBody(small("4", there), LIMITS, budget), 503);
  read.release();
  assert.equal(budget.held, 0);
  for (const declared of ["3", "5"]) {
    const open = new BodyBudget(Infinity);
    await refused(readBody(small(declared, there), LIMITS, open), 400);
    assert.equal(open.held, 0);
  }
  const broken = () => Promise.reject(new TypeError("reset"));
  await refused(readBody(small("4", broken), LIMITS, budget), 400);
  const hangs = () => new Promise<never>(() => {});
  const limits = { ...LIMITS, timeoutMs: 20 };
  await refused(readBody(small("4", hangs), limits, budget), 408);
  assert.equal(budget.held, 0);
  // A large one comes in pieces.
  const large = small(`${2 ** 15}`, there);
  await assert.rejects(readBody(large, LIMITS, budget), /a stream was made/);
});

Deno.test("what comes of a body that was given up takes no room", async () => {
  const budget = new BodyBudget(Infinity);
  const late = () => {
    const { promise, resolve } = Promise.withResolvers<ArrayBuffer>();
    const request = {
      headers: new Headers({ "content-length": "4" }),
      body: null,
      arrayBuffer: () => promise,
    };
    return { request, come: () => resolve(new ArrayBuffer(4)) };
  };
  const slow = late();
  const limits = { ...LIMITS, timeoutMs: 20 };
  await refused(readBody(slow.request, limits, budget), 408);
  slow.come();
  // With its last byte the client leaves.
  const left = late();
  const client = new AbortController();
  const reading = readBody(left.request, LIMITS, budget, client.signal);
  client.abort(new Error("gone"));
  left.come();
  await assert.rejects(reading, /gone/);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(budget.held, 0);
});

Deno.test("a body that does not come is refused when its time is over", async () => {
  const { request, seen } = incoming({ chunks: [], then: "hang" });
  const limits = { ...LIMITS, timeoutMs: 20 };
  await refused(readBody(request, limits, new BodyBudget(Infinity)), 408);
  assert(seen.cancelled);
});

Deno.test("a connection that breaks is the sender's error; one that is closed, its signal's reason", async () => {
  const broken = incoming({ chunks: [new Uint8Array(1)], then: "break" });
  const budget = new BodyBudget(Infinity);
  await refused(readBody(broken.request, LIMITS, budget), 400);
  const hung = incoming({ chunks: [new Uint8Array(1)], then: "hang" });
  const client = new AbortController();
  const reading = readBody(hung.request, LIMITS, budget, client.signal);
  const reason = new Error("gone");
  client.abort(reason);
  await assert.rejects(reading, reason);
  const late = incoming({ chunks: [], then: "hang" });
  await assert.rejects(
    readBody(late.request, LIMITS, budget, client.signal),
    reason,
  );
  assert.equal(budget.held, 0);
});

Deno.test("bodies together take no more than they may", async () => {
  const budget = new BodyBudget(50_000);
  const chunks = () => [new Uint8Array(20_000)];
  const read = () =>
    readBody(incoming({ chunks: chunks() }).request, LIMITS, budget);
  const bodies = [await read(), await read()];
  const { headers } = await refused(read(), 503);
  assert.equal(headers["retry-after"], "1");
  assert.equal(budget.held, 40_000);
  bodies[0].release();
  bodies.push(await read());
  for (const body of bodies) body.release();
  assert.equal(budget.held, 0);
});

async function packed(
  bytes: Uint8Array<ArrayBuffer>,
  format: "gzip" | "deflate",
): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(
    new CompressionStream(format),
  );
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A packed body, in pieces. */
function packedRequest(
  bytes: Uint8Array,
  encoding: string,
  { piece = 1000, ...rest }: Partial<Sent> & { piece?: number } = {},
) {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += piece) {
    chunks.push(bytes.slice(at, at + piece));
  }
  const sent = incoming({ chunks, declared: `${bytes.length}`, ...rest });
  sent.request.headers.set("content-encoding", encoding);
  return sent;
}

Deno.test("packed bodies are what they stand for, however they are cut", async () => {
  const budget = new BodyBudget(Infinity);
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 50_000 }),
      fc.constantFrom("gzip", "x-gzip", "GZIP", "deflate", "identity"),
      fc.integer({ min: 1, max: 10_000 }),
      async (bytes, encoding, piece) => {
        const whole = Uint8Array.from(bytes);
        const sent = encoding === "identity"
          ? whole
          : await packed(whole, encoding === "deflate" ? "deflate" : "gzip");
        const { request } = packedRequest(sent, encoding, { piece });
        const read = await readBody(request, LIMITS, budget);
        assert.deepEqual(read.bytes, whole);
        read.release();
        assert.equal(budget.held, 0);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("a packed body that stands for too much is refused before it is unpacked", async () => {
  // A thousandth of what it stands for.
  const bomb = await packed(new Uint8Array(2 ** 26), "gzip");
  assert(bomb.length < LIMITS.bytesMax);
  const budget = new BodyBudget(150_000);
  const { request, seen } = packedRequest(bomb, "gzip");
  await refused(readBody(request, LIMITS, budget), 413);
  assert(seen.pulled < bomb.length / 2, `${seen.pulled} of ${bomb.length}`);
  assert.equal(budget.held, 0);
  // Of what comes in one piece little is made at once.
  let largest = 0;
  for await (
    const chunk of unpacked(
      new Blob([bomb as Uint8Array<ArrayBuffer>]).stream(),
      "gzip",
    )
  ) {
    largest = Math.max(largest, chunk.length);
  }
  assert(largest < 2 ** 23, `${largest} bytes at once`);
  // Nor may it leave no room to others.
  const some = await packed(new Uint8Array(60_000), "gzip");
  const reading = (budget: BodyBudget) =>
    readBody(packedRequest(some, "gzip").request, LIMITS, budget);
  await refused(reading(new BodyBudget(50_000)), 413);
  const shared = new BodyBudget(100_000);
  shared.take(50_000);
  await refused(reading(shared), 503);
});

Deno.test("a body that is alone is read if it fits, and refused for good if it does not", async () => {
  const read = (length: number, budget: BodyBudget) => {
    const chunks = new Array(length / 1000).fill(new Uint8Array(1000));
    return readBody(incoming({ chunks }).request, LIMITS, budget);
  };
  const budget = new BodyBudget(35_000);
  const { bytes, release } = await read(34_000, budget);
  assert.equal(bytes.length, 34_000);
  // Once the other one is over there is room.
  await refused(read(20_000, budget), 503);
  release();
  await refused(read(36_000, budget), 413);
  assert.equal(budget.held, 0);
});

Deno.test("packed bodies that are none, are cut short or too long, are refused", async () => {
  const budget = new BodyBudget(Infinity);
  const good = await packed(new Uint8Array(5000).fill(7), "gzip");
  const read = (bytes: Uint8Array, rest: Partial<Sent> = {}, how = "gzip") =>
    readBody(packedRequest(bytes, how, rest).request, LIMITS, budget);
  assert.match(
    (await refused(read(Uint8Array.of(1, 2, 3)), 400)).message,
    /not gzip, or ended early/,
  );
  await refused(read(good.slice(0, -9)), 400);
  await refused(read(good, {}, "deflate"), 400);
  await refused(read(good, { declared: `${good.length - 1}` }), 400);
  await refused(read(good, { declared: `${good.length + 1}` }), 400);
  await refused(read(good, { then: "break" }), 400);
  for (const encoding of ["br", "gzip, gzip", "zstd", "constructor"]) {
    const { headers } = await refused(read(good, {}, encoding), 415);
    assert.equal(headers["accept-encoding"], "gzip, deflate");
  }
  assert.equal(budget.held, 0);
});

Deno.test("a request without a stream of its body, as Firefox's are, is read as a whole", async () => {
  const text = new TextEncoder().encode("swim ".repeat(5000));
  const packed = new Uint8Array(
    await new Response(
      new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer(),
  );
  const read = (bytes: Uint8Array<ArrayBuffer>, headers: HeadersInit = {}) =>
    readBody(
      {
        headers: new Headers(headers),
        body: undefined as unknown as null,
        arrayBuffer: () => Promise.resolve(bytes.slice().buffer),
      },
      LIMITS,
      new BodyBudget(Infinity),
    );
  assert.deepEqual((await read(text)).bytes, text);
  assert.deepEqual(
    (await read(packed, { "content-encoding": "gzip" })).bytes,
    text,
  );
  assert.equal((await read(new Uint8Array())).bytes.length, 0);
  await refused(read(new Uint8Array(LIMITS.bytesMax + 1)), 413);
});
