/** Clients that misbehave on real connections: they pay for it, nobody else does. */
import assert from "node:assert/strict";
import { DeadlineError } from "../../src/engine/core/errors.ts";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { CostAdmission } from "../../src/server/admission/cost_admission.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import type { HostEnding } from "../../src/server/host/host_observer.ts";
import { servedTokens } from "../../src/server/models/served_tokens.ts";
import { listen } from "../../src/server/runtime/listen.ts";
import { createServer } from "../../src/server/server.ts";
import { inferBody } from "./serving_host.ts";

const MODEL = lstm({ hidden: 256, vocabulary: 10, head: "classifier" });

interface Running {
  readonly url: string;
  readonly port: number;
  readonly host: EngineHost;
  readonly admission: CostAdmission;
  readonly endings: HostEnding[];
  infer(tokens: number, init?: RequestInit): Promise<Response>;
}

async function withListener(
  run: (running: Running) => Promise<void>,
): Promise<void> {
  const endings: HostEnding[] = [];
  const admission = new CostAdmission({ runningMax: 4 });
  const host = await EngineHost.create({
    models: [servedTokens(MODEL, { name: "m" })],
    policy: () => cellular({ batchSizeMax: 4 }),
    engine: { workers: 1, warmUp: false, slotBytes: 2 ** 26 },
    admission,
    observers: [{ ended: (_request, ending) => void endings.push(ending) }],
  });
  const server = createServer(host, {
    limits: { bytesMax: 2 ** 20, timeoutMs: 300 },
  });
  const listener = await listen(server, { port: 0 });
  const { url, port } = listener;
  const infer = (tokens: number, init: RequestInit = {}) =>
    fetch(`${url}v2/models/m/infer`, {
      method: "POST",
      body: inferBody(new Array(tokens).fill(1)),
      ...init,
    });
  try {
    await run({ url, port, host, admission, endings, infer });
  } finally {
    await listener.close(1000);
    await server.close();
  }
}

/** The head of what a server answers to bytes, or nothing when it closes the connection without a word. */
async function answered(
  port: number,
  pieces: () => Generator<string>,
): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const encoder = new TextEncoder();
  let text = "";
  let isOver = false;
  // Deno's server waits with closing until the sender does.
  const reading = (async () => {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(4096);
    while (!text.includes("\r\n\r\n")) {
      const read = await connection.read(buffer).catch(() => null);
      if (read === null) break;
      text += decoder.decode(buffer.subarray(0, read), { stream: true });
    }
    isOver = true;
  })();
  try {
    for (const piece of pieces()) {
      if (isOver) break;
      const bytes = encoder.encode(piece);
      for (let at = 0; at < bytes.length;) {
        at += await connection.write(bytes.subarray(at));
      }
    }
  } catch {
    // It was closed while we wrote: what it said before counts.
  }
  await reading;
  try {
    connection.close();
  } catch { /* closed by the other end */ }
  return text;
}

const HEAD = "POST /v2/models/m/infer HTTP/1.1\r\nhost: localhost\r\n";

Deno.test("chunks without an end, slow bodies and headers without an end are cut off; others are answered", async () => {
  await withListener(async ({ port, infer }) => {
    const endless = answered(port, function* () {
      yield `${HEAD}transfer-encoding: chunked\r\n\r\n`;
      for (;;) yield `1000\r\n${"x".repeat(4096)}\r\n`;
    });
    const slow = answered(port, function* () {
      yield `${HEAD}content-length: 100\r\n\r\n{`;
    });
    const claims = answered(port, function* () {
      yield `${HEAD}content-length: 99999999999\r\n\r\n{`;
    });
    const heads = answered(port, function* () {
      yield HEAD;
      for (let i = 0; i < 20_000; i++) yield `h${i}: ${"x".repeat(1000)}\r\n`;
    });
    const garbage = answered(port, function* () {
      yield "\0\x01\x02 nonsense\r\n\r\n";
    });
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => {
        const response = await infer(3);
        await response.body?.cancel();
        return response.status;
      }),
    );
    assert.deepEqual(statuses, [200, 200, 200]);
    const statusOf = (text: string) => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
    assert.equal(statusOf(await endless), "413");
    assert.equal(statusOf(await slow), "408");
    assert.equal(statusOf(await claims), "413");
    for (const text of [await heads, await garbage]) {
      assert.match(statusOf(text) ?? "400", /^4\d\d$/, text);
    }
    const last = await infer(3);
    assert.equal(last.status, 200);
    await last.body?.cancel();
  });
});

Deno.test("a client that leaves ends its request, waiting or running, and frees its place", async () => {
  await withListener(async ({ infer, host, admission, endings }) => {
    const clients = Array.from({ length: 8 }, () => new AbortController());
    // More tokens than anybody could compute meanwhile.
    const asked = clients.map(({ signal }) =>
      infer(8_000, { signal }).then(
        () => assert.fail("it was answered"),
        (error) => error,
      )
    );
    await until(() => admission.running === 4 && admission.waiting === 4);
    for (const client of clients) client.abort();
    await Promise.all(asked);
    await until(() => endings.length === 8);
    assert.equal(admission.running, 0);
    assert.equal(admission.waiting, 0);
    await until(() => host.active === 0);
    const response = await infer(3);
    assert.equal(response.status, 200);
    await response.body?.cancel();
  });
});

Deno.test("a time-out is answered when it expires, whatever still runs", async () => {
  await withListener(async ({ url, infer, endings, admission }) => {
    const client = new AbortController();
    const long = infer(8_000, { signal: client.signal }).catch(() => {});
    await until(() => admission.running === 1);
    const { inputs } = JSON.parse(inferBody(new Array(8_000).fill(1)));
    const response = await fetch(`${url}v2/models/m/infer`, {
      method: "POST",
      body: JSON.stringify({ inputs, parameters: { timeout: 50_000 } }),
    });
    assert.equal(response.status, 504);
    assert.equal(typeof (await response.json()).error, "string");
    assert(endings[0].error instanceof DeadlineError);
    // The other one is still there.
    assert.equal(endings.length, 1);
    client.abort();
    await long;
    await until(() => endings.length === 2);
  });
});

async function until(holds: () => boolean): Promise<void> {
  const lateMs = performance.now() + 30_000;
  while (!holds()) {
    assert(performance.now() < lateMs, `${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
