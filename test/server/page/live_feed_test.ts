/** What the page is told: who was in which batch, what ended, and no more than it can take. */
import assert from "node:assert/strict";
import { HttpError } from "../../../src/server/http/http_error.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { LiveFeed } from "../../../src/server/page/live_feed.ts";
import { inferBody, withServer } from "../serving_host.ts";

/** Events of a stream, as a page gets them. */
async function* events(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let text = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop()!;
    for (const part of parts) {
      assert(part.startsWith("data: "));
      yield JSON.parse(part.slice(6));
    }
  }
}

Deno.test("a page hears of tasks and their requests, of what ended, and of the curve", async () => {
  const monitor = new Monitor({ sloMs: 50 });
  const host = { observers: monitor.observers };
  await withServer({ monitor, host }, async (ask, server) => {
    const infer = (tokens: number[]) =>
      ask("/v2/models/intents/infer", {
        method: "POST",
        body: inferBody(tokens),
      });
    // Nobody looks yet: it is not told of, but in the curve.
    await infer([1]);
    const response = await server.fetch(
      new Request("http://localhost/live"),
      { isLoopback: true },
    );
    assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
    // Or nginx keeps what is told until there is more of it.
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    const read = events(
      response.body as ReadableStream<Uint8Array<ArrayBuffer>>,
    );
    const first = (await read.next()).value;
    assert.equal(first.policy, "cellular");
    assert.equal(first.slo_ms, 50);
    assert.equal(first.curves["lstm_step"][0][0], 1);
    const answers = await Promise.all([infer([1, 2, 3]), infer([4, 5])]);
    assert(answers.every(({ status }) => status === 200));
    const frame = (await read.next()).value;
    assert.equal(frame.running, 0);
    assert.equal(frame.waiting, 0);
    assert.equal(frame.ended.length, 2);
    for (const [, model, tookMs, ranMs, how] of frame.ended) {
      assert.deepEqual([model, how], ["intents", "done"]);
      assert(tookMs >= ranMs && ranMs > 0);
    }
    const labels = frame.ended.map(([label]: [string]) => label).sort();
    const [worker, cell, startMs, ranMs, rows, padding, who] = frame.tasks[0];
    assert.deepEqual([worker, cell, rows, padding], [0, "lstm_step", 2, 0]);
    assert.deepEqual([...who].sort(), labels);
    assert(Math.abs(startMs - Date.now()) < 60_000 && ranMs > 0);
    await read.return();
    assert.equal((await infer([1])).status, 200);
  });
});

Deno.test("the page is one file without anything from elsewhere, for this machine only", async () => {
  const monitor = new Monitor();
  await withServer({ monitor, host: { observers: monitor.observers } }, async (
    ask,
    server,
  ) => {
    assert.equal((await ask("/")).status, 403);
    const response = await server.fetch(
      new Request("http://localhost/"),
      { isLoopback: true },
    );
    const html = await response.text();
    assert.match(html, /^<!doctype html>/);
    assert(!/(src|href)=|https?:|@import|url\(/.test(html));
    assert.match(
      response.headers.get("content-security-policy")!,
      /default-src 'none'/,
    );
    const [, script] = /<script>([\s\S]*)<\/script>/.exec(html)!;
    assert(!script.includes("<" + "/"), "the script ends where it ends");
    // Its syntax, at least; the test of browsers looks at it.
    new Function(script);
  });
});

Deno.test("whoever asks for no more than the head does not look", async () => {
  await withServer({ monitor: new Monitor() }, async (_ask, server) => {
    const live = (method: string) =>
      server.fetch(
        new Request("http://localhost/live", { method }),
        { isLoopback: true },
      );
    for (let i = 0; i < 8; i++) {
      const { status, body } = await live("HEAD");
      assert.deepEqual([status, body], [200, null]);
    }
    const { status, body } = await live("GET");
    assert.equal(status, 200);
    await body!.cancel();
  });
});

Deno.test("so many pages look, and one that does not read is not waited for", async () => {
  const feed = new LiveFeed();
  const readers = Array.from({ length: 8 }, () => feed.read());
  assert.throws(() => feed.read(), HttpError);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  // What has not been read is a few frames, however long it was.
  let frames = 0;
  feed.close();
  for await (const _event of events(readers[0])) frames++;
  assert(frames >= 1 && frames <= 5, `${frames} frames`);
});

Deno.test("requests that a frame has no room for are counted", async () => {
  const feed = new LiveFeed();
  const read = events(feed.read());
  await read.next();
  const served = { name: "m" } as ServedModel;
  for (let i = 0; i < 900; i++) {
    const request = {
      ...{ id: `${i}`, label: `${i}`, served, input: 0 },
      ...{ arrivalNs: 0, finishNs: Infinity, priority: 0 },
    };
    feed.arrived();
    feed.started(request);
    const outcome = i < 700 ? "done" as const : "failed" as const;
    feed.ended(request, { outcome, endNs: 1e6 });
  }
  const { value } = await read.next();
  const { done, refused, ended, left_out } = value;
  assert.deepEqual([done, refused, ended.length, left_out], [
    700,
    200,
    500,
    400,
  ]);
  const next = (await read.next()).value;
  assert.deepEqual([next.done, next.refused], [0, 0]);
  await read.return();
});

Deno.test("a page that comes back while the server closes is not held", async () => {
  const feed = new LiveFeed();
  const before = feed.read();
  feed.close();
  assert.equal((await Array.fromAsync(events(before))).length, 1);
  const { done } = await feed.read().getReader().read();
  assert(done);
});
