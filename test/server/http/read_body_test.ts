/** Bodies that are too large, too slow, endless, cut short, or too many at once. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { BodyBudget } from "../../../src/server/http/body_budget.ts";
import { BODY_LIMITS } from "../../../src/server/http/body_limits.ts";
import { HttpError } from "../../../src/server/http/http_error.ts";
import { readBody } from "../../../src/server/http/read_body.ts";
import { propertyRuns } from "../../property_runs.ts";

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
    (error) => error,
  );
  assert(error instanceof HttpError, `${error}`);
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
