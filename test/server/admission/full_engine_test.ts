/** An engine whose memory is full of requests that are larger than others. */
import assert from "node:assert/strict";
import { QueueFullError } from "../../../src/engine/core/errors.ts";
import { gpt } from "../../../src/models/gpt.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import type { HostObserver } from "../../../src/server/host/host_observer.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { exposition } from "../../../src/server/observe/exposition.ts";
import { ServerMetrics } from "../../../src/server/observe/server_metrics.ts";
import { samples } from "../observe/samples.ts";

const MODEL = lstm({ hidden: 8, vocabulary: 10 });

/** Room for a few requests of a thousand tokens. */
async function withFewSlots(
  admission: Admission | undefined,
  run: (host: EngineHost) => Promise<void>,
  observers: readonly HostObserver[] = [],
): Promise<void> {
  const host = await EngineHost.create({
    models: [servedTokens(MODEL, { name: "m" })],
    policy: () => cellular({ batchSizeMax: 8 }),
    engine: { workers: 0, warmUp: false, slotBytes: 2 ** 16 },
    ...(admission && { admission }),
    observers,
  });
  try {
    await run(host);
  } finally {
    await host.close();
  }
}

function together(host: EngineHost): Promise<PromiseSettledResult<unknown>[]> {
  const tokens = new Int32Array(3000).fill(1);
  return Promise.allSettled(
    Array.from({ length: 24 }, () => host.run(host.find("m"), { tokens })),
  );
}

Deno.test("what the engine has no room for waits until it has, and nobody is refused", async () => {
  // One that lets nobody in again refuses some: the test is of something.
  const hard: Admission = { admit: () => () => {}, again: () => false };
  await withFewSlots(hard, async (host) => {
    const ended = await together(host);
    assert(
      ended.some((one) =>
        one.status === "rejected" && one.reason instanceof QueueFullError
      ),
    );
  });
  const admission = new CostAdmission({ runningMax: 24 });
  await withFewSlots(admission, async (host) => {
    const ended = await together(host);
    assert(ended.every(({ status }) => status === "fulfilled"));
    assert.equal(admission.running, 0);
    assert.equal(admission.waiting, 0);
  });
  // Without any it is the engine that has them wait.
  await withFewSlots(undefined, async (host) => {
    const ended = await together(host);
    assert(ended.every(({ status }) => status === "fulfilled"));
  });
});

Deno.test("figures have the time that one waited for room as a queue's", async () => {
  const metrics = new ServerMetrics();
  const seconds = (what: string) =>
    Object.values(
      samples(exposition(metrics.families), `shoal_${what}_seconds_sum`),
    ).reduce((sum, value) => sum + value, 0);
  await withFewSlots(
    new CostAdmission({ runningMax: 24 }),
    async (host) => void await together(host),
    [metrics],
  );
  const requests = seconds("request");
  const parts = seconds("queue") + seconds("execute");
  assert(parts > 0.9 * requests, `${parts} of ${requests} s`);
});

Deno.test("of one that is begun once more every step is told", async () => {
  const model = gpt({ layers: 1, hidden: 32, heads: 2, vocabulary: 50 });
  const served = servedTokens(model, { name: "g" });
  const admission = new CostAdmission({ runningMax: 16 });
  let refused = 0;
  const again = admission.again.bind(admission);
  admission.again = (request) => {
    refused++;
    return again(request);
  };
  const host = await EngineHost.create({
    models: [served],
    policy: () => cellular({ batchSizeMax: 4 }),
    engine: { workers: 0, warmUp: false, slotBytes: 2 ** 17 },
    admission,
  });
  const input = { tokens: [1, 2, 3], maxSteps: 100 };
  const counts = await Promise.all(Array.from({ length: 16 }, async () => {
    let steps = 0;
    for await (const _step of host.stream(served, input)) steps++;
    return steps;
  }));
  assert(refused > 0, "slots were full");
  assert.deepEqual(counts, new Array(16).fill(100));
  await host.close();
});

Deno.test("one that finds nobody and no room is refused: there will be no more", async () => {
  await withFewSlots(new CostAdmission(), async (host) => {
    const tokens = new Int32Array(50_000).fill(1);
    await assert.rejects(host.run(host.find("m"), { tokens }));
    await host.run(host.find("m"), { tokens: [1] });
  });
});

Deno.test("what was given back is not given back again when the second admission refuses", async () => {
  const full = new OverloadedError("No more", 1000);
  const released = new Map<string, number>();
  const asked = new Map<string, number>();
  const endings: string[] = [];
  const admission: Admission = {
    admit({ label }) {
      const times = (asked.get(label) ?? 0) + 1;
      asked.set(label, times);
      if (times > 1) throw full;
      return () => released.set(label, (released.get(label) ?? 0) + 1);
    },
    again: () => true,
    ended: (_request, { outcome, error }) =>
      void (error === full && endings.push(outcome)),
  };
  await withFewSlots(admission, async (host) => {
    const ended = await together(host);
    const refused = ended.filter((one) =>
      one.status === "rejected" && one.reason === full
    );
    assert(refused.length > 0);
    assert.deepEqual([...released.values()], new Array(24).fill(1));
    // The engine had heard of it.
    assert.deepEqual(endings, refused.map(() => "failed"));
  });
});

Deno.test("what gives back is called once, and what it throws is nobody's request's", async () => {
  const broken = new Error("my books are lost");
  const calls: number[] = [];
  const reported: Error[] = [];
  const seen = new Set<string>();
  const host = await EngineHost.create({
    models: [servedTokens(MODEL, { name: "m" })],
    policy: () => cellular({ batchSizeMax: 8 }),
    engine: { workers: 0, warmUp: false, slotBytes: 2 ** 16 },
    onError: (error) => void reported.push(error),
    admission: {
      async admit({ label }) {
        if (seen.has(label)) {
          await new Promise((later) => setTimeout(later, 50));
        }
        seen.add(label);
        const at = calls.push(0) - 1;
        return () => {
          calls[at]++;
          // At once, or as an async function does.
          if (at % 2 === 0) throw broken;
          return Promise.reject(broken);
        };
      },
      again: () => true,
    },
  });
  const ended = await together(host);
  await host.close();
  assert(ended.every(({ status }) => status === "fulfilled"));
  assert(calls.length > ended.length, "some were admitted again");
  assert(calls.every((count) => count === 1));
  assert.deepEqual(reported, calls.map(() => broken));
});

Deno.test("an admission that admits again and again at once keeps nobody from going on", async () => {
  let asked = 0;
  let isLeft = false;
  const leaving = new AbortController();
  const admission: Admission = {
    admit: () => () => {},
    // Each of these takes as much of the engine's thread as a request that is taken.
    again: () => ++asked < 1000,
  };
  await withFewSlots(admission, async (host) => {
    const all = together(host);
    const tokens = new Int32Array(3000).fill(1);
    const { signal } = leaving;
    const left = host.run(host.find("m"), { tokens }, { signal }).catch(
      (error) => isLeft = error === signal.reason,
    );
    setTimeout(() => leaving.abort());
    const ended = await all;
    assert(ended.every(({ status }) => status === "fulfilled"));
    await left;
  });
  assert(asked > 0 && isLeft);
});

Deno.test("an admission's answer that is a promise fails its request", async () => {
  const broken = new Error("my books are lost");
  const admission = {
    admit: () => () => {},
    again: () => Promise.reject(broken),
    refusal: () => Promise.reject(broken),
  } as unknown as Admission;
  await withFewSlots(admission, async (host) => {
    const ended = await together(host);
    const refused = ended.filter((one) => one.status === "rejected");
    assert(refused.length > 0 && refused.length < ended.length);
    for (const { reason } of refused) {
      assert.equal(
        reason.message,
        '"again" of the admission returned a promise; it has to be done when it returns',
      );
    }
    assert.throws(() => host.refusal(), {
      name: "TypeError",
      message: /^"refusal" of the admission returned a promise/,
    });
  });
});
