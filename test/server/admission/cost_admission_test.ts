/** Who waits, who goes first, who is refused, and who leaves. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { DeadlineError } from "../../../src/engine/core/errors.ts";
import type { AdmissionLimits } from "../../../src/server/admission/admission_limits.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import { propertyRuns } from "../../property_runs.ts";
import { Machine } from "./machine.ts";
import { VirtualTime } from "./virtual_time.ts";

const MS = 1e6;

/** One at a time, a millisecond for each unit of size. */
function machine(limits: Partial<AdmissionLimits> = {}, batchSizeMax = 1) {
  const time = new VirtualTime();
  const admission = new CostAdmission(
    { runningMax: 1, priorityLevels: 3, ...limits },
    time,
  );
  return new Machine(
    time,
    admission,
    batchSizeMax,
    (sizes) => MS * sizes.reduce((sum, size) => sum + size, 0),
  );
}

/** The same, when enough has run to know what requests cost. */
async function taught(limits: Partial<AdmissionLimits> = {}) {
  const made = machine(limits);
  for (let i = 0; i < 40; i++) {
    void made.send({ size: 1 + i % 10 });
    if (i % 4 === 3) await made.time.until(made.time.nowNs() + 100 * MS);
  }
  await made.time.until(made.time.nowNs() + 1000 * MS);
  made.ended.length = made.order.length = 0;
  return made;
}

function isRefused(error: unknown, reason: string): error is OverloadedError {
  return error instanceof OverloadedError && error.reason === reason;
}

Deno.test("requests of one level run in the order in which they came, higher levels first", async () => {
  const made = machine();
  const priorities = [2, 3, 1, 0, 3, 1, 2, 99];
  for (const priority of priorities) void made.send({ size: 1, priority });
  await made.time.until(100 * MS);
  // The first one found nobody. What is no level is the default one, which is 2.
  assert.deepEqual(made.order, ["0", "2", "5", "3", "6", "7", "1", "4"]);
});

Deno.test("what cannot be done in time is refused when it comes, and told when to come back", async () => {
  const made = await taught();
  const now = made.time.nowNs();
  for (let i = 0; i < 5; i++) void made.send({ size: 10 });
  const inTime = made.send({ size: 10, finishNs: now + 75 * MS });
  const late = made.send({ size: 10, finishNs: now + 55 * MS });
  await made.time.until(now);
  assert(isRefused((await late).error, "late"));
  assert.equal((await late).endNs, now);
  const { retryAfterMs } = (await late).error as OverloadedError;
  assert(retryAfterMs >= 5 && retryAfterMs <= 40, `${retryAfterMs}`);
  await made.time.until(now + 200 * MS);
  assert.equal((await inTime).outcome, "done");
});

Deno.test("the server's target refuses as a deadline does, and ends nothing", async () => {
  const made = await taught({ sloMs: 45 });
  const now = made.time.nowNs();
  const outcomes = [];
  for (let i = 0; i < 8; i++) outcomes.push(made.send({ size: 10 }));
  await made.time.until(now + 500 * MS);
  const ended = await Promise.all(outcomes);
  const done = ended.filter(({ outcome }) => outcome === "done").length;
  assert(done >= 3 && done <= 5, `${done} done`);
  for (const { error, endNs } of ended) {
    if (error) assert(isRefused(error, "late") && endNs === now);
  }
});

Deno.test("a request's own target goes before the server's", async () => {
  const made = await taught({ sloMs: 45 });
  const now = made.time.nowNs();
  for (let i = 0; i < 3; i++) void made.send({ size: 10 });
  const patient = made.send({ size: 10, sloMs: 1000 });
  const hasty = made.send({ size: 10, sloMs: 30 });
  await made.time.until(now + 500 * MS);
  assert.equal((await patient).outcome, "done");
  assert(isRefused((await hasty).error, "late"));
});

Deno.test("work in the queue is bounded, not requests", async () => {
  const made = await taught({ queueCostMs: 100 });
  const small = [];
  for (let i = 0; i < 60; i++) small.push(made.send({ size: 1 }));
  await made.time.until(made.time.nowNs() + 500 * MS);
  assert((await Promise.all(small)).every(({ outcome }) => outcome === "done"));
  const large = [];
  const now = made.time.nowNs();
  for (let i = 0; i < 8; i++) large.push(made.send({ size: 30 }));
  await made.time.until(now + 500 * MS);
  const refused = (await Promise.all(large)).filter(({ error }) => error);
  assert.equal(refused.length, 5, "three of 30 ms fit into 100");
  for (const { error, endNs } of refused) {
    assert(isRefused(error, "full") && endNs === now);
    // 20 ms too much, at the speed of one worker.
    assert(error.retryAfterMs >= 10 && error.retryAfterMs <= 40);
  }
});

Deno.test("before anything is known, requests that wait are counted", async () => {
  const made = machine({ queueMax: 3 });
  const sent = [];
  for (let i = 0; i < 6; i++) sent.push(made.send({ size: 1 }));
  await made.time.until(100 * MS);
  const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, [
    ...["done", "done", "done", "done"],
    ...["refused", "refused"],
  ]);
});

Deno.test("a request of higher priority takes the place of the newest of the lowest level", async () => {
  const made = await taught({ queueCostMs: 50 });
  const now = made.time.nowNs();
  const low = [1, 2, 3, 4].map(() => made.send({ size: 12, priority: 3 }));
  const high = made.send({ size: 20, priority: 1 });
  const more = made.send({ size: 12, priority: 3 });
  await made.time.until(now + 200 * MS);
  const outcomes = await Promise.all([...low, high, more]);
  assert.deepEqual(outcomes.map(({ outcome }) => outcome), [
    ...["done", "done", "refused", "refused"],
    ...["done", "refused"],
  ]);
  assert(isRefused(outcomes[2].error, "displaced"));
  assert(isRefused(outcomes[3].error, "displaced"));
  assert(isRefused(outcomes[5].error, "full"));
  assert.equal(outcomes[2].endNs, now);
  // What runs is not taken from anybody.
  assert.deepEqual(made.order.slice(1), [
    ...[outcomes[4].label, outcomes[1].label],
  ]);
});

Deno.test("nobody goes for one of higher priority that has no room even so", async () => {
  const made = await taught({ queueCostMs: 50 });
  const now = made.time.nowNs();
  const low = [1, 2, 3].map(() => made.send({ size: 12, priority: 3 }));
  const large = made.send({ size: 60, priority: 1 });
  await made.time.until(now + 1);
  assert(isRefused((await large).error, "full"));
  const { retryAfterMs } = (await large).error as OverloadedError;
  // Beside what runs, and with the places of the others, it is 22 ms too much.
  assert(retryAfterMs >= 11 && retryAfterMs <= 44, `${retryAfterMs}`);
  const fits = made.send({ size: 36, priority: 1 });
  await made.time.until(now + 200 * MS);
  const outcomes = await Promise.all([...low, fits]);
  assert.deepEqual(outcomes.map(({ outcome, error }) => error ?? outcome), [
    ...["done", outcomes[1].error, outcomes[2].error, "done"],
  ]);
  for (const { endNs, error } of outcomes.slice(1, 3)) {
    assert(isRefused(error, "displaced"));
    assert.equal(endNs, now + 1);
  }
});

Deno.test("a time-out fires when it expires, not when what runs has ended", async () => {
  const made = machine();
  const long = made.send({ size: 1000 });
  const late = made.send({ size: 1, finishNs: 20 * MS });
  const next = made.send({ size: 1 });
  await made.time.until(30 * MS);
  assert.equal((await late).endNs, 20 * MS);
  assert((await late).error instanceof DeadlineError);
  assert.equal(made.admission.waiting, 1);
  await made.time.until(2000 * MS);
  assert.equal((await long).outcome, "done");
  assert.equal((await next).endNs, 1001 * MS);
});

Deno.test("a client that goes away frees its place", async () => {
  const made = machine({ queueMax: 1 });
  const client = new AbortController();
  void made.send({ size: 10 });
  const gone = made.send({ size: 1, signal: client.signal });
  assert.equal((await made.send({ size: 1 })).outcome, "refused");
  const reason = new Error("gone");
  made.time.at(5 * MS, () => client.abort(reason));
  await made.time.until(6 * MS);
  assert.equal((await gone).error, reason);
  assert.equal(made.admission.waiting, 0);
  const next = made.send({ size: 1 });
  await made.time.until(20 * MS);
  assert.equal((await next).endNs, 11 * MS);
  const early = await made.send({ size: 1, signal: client.signal });
  assert.equal(early.error, reason);
});

Deno.test("a client's signal may be a polyfill's, and what is none is its own request's error", async () => {
  const made = machine();
  // Without `throwIfAborted` and `reason`, which are younger than signals.
  const polyfill = (aborted: boolean) =>
    Object.assign(new EventTarget(), { aborted }) as AbortSignal;
  const sent = (signal: unknown) =>
    made.send({ size: 1, signal: signal as AbortSignal });
  const [first, second] = [sent(polyfill(false)), sent(polyfill(false))];
  const gone = await sent(polyfill(true));
  assert.equal((gone.error as Error).name, "AbortError");
  for (const none of [{}, { aborted: false }]) {
    const { error } = await sent(none);
    assert.match(`${error}`, /^TypeError: "signal" is an AbortSignal/);
  }
  await made.time.until(20 * MS);
  assert.equal((await first).outcome, "done");
  assert.equal((await second).outcome, "done");
});

Deno.test("texts of one client that wait have one listener at its signal: from the eleventh on Node warns", async () => {
  const made = machine();
  const client = new AbortController();
  const { signal } = client;
  let listeners = 0;
  let most = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    most = Math.max(most, ++listeners);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (
    ...args: Parameters<typeof removeEventListener>
  ) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  void made.send({ size: 5 });
  const waiting = Array.from(
    { length: 12 },
    () => made.send({ size: 1, signal }),
  );
  await made.time.until(made.time.nowNs());
  assert.equal(most, 1);
  client.abort();
  for (const { error } of await Promise.all(waiting)) {
    assert.equal(error, signal.reason);
  }
  await made.time.until(1000 * MS);
  assert.deepEqual(made.order, ["0"]);
});

Deno.test("an estimate that is far too high does not refuse for ever", async () => {
  const time = new VirtualTime();
  let slow = true;
  const made = new Machine(
    time,
    new CostAdmission({ runningMax: 4, sloMs: 50 }, time),
    4,
    (sizes) => sizes.length * (slow ? 100 : 1) * MS,
  );
  const wave = async () => {
    const sent = [];
    for (let i = 0; i < 4; i++) sent.push(made.send({ size: 1 }));
    await time.until(time.nowNs() + 1000 * MS);
    return (await Promise.all(sent)).filter((one) => one.outcome === "done");
  };
  for (let i = 0; i < 30; i++) {
    assert((await wave()).length > 0, "the first one finds nobody");
  }
  slow = false;
  for (let i = 0; i < 60; i++) await wave();
  assert.equal((await wave()).length, 4);
});

Deno.test("an estimate of one model that is far too high does not refuse for ever where another's requests always are", async () => {
  const time = new VirtualTime();
  let slow = true;
  const made = new Machine(
    time,
    new CostAdmission({ sloMs: 50, workers: 1 }, time),
    16,
    // "often" is of size 1; somebody of it is always there.
    (sizes) => (sizes.some((size) => size === 2) && slow ? 200 : 5) * MS,
  );
  const seconds = async (count: number) => {
    const rare = [];
    const firstNs = time.nowNs();
    for (let ms = 0; ms < 1000 * count; ms += 4) {
      await time.until(firstNs + ms * MS);
      void made.send({ model: "often", size: 1 });
      if (ms % 100 === 0) rare.push(made.send({ model: "rare", size: 2 }));
    }
    return rare;
  };
  await seconds(2);
  const few = await seconds(30);
  slow = false;
  await seconds(30);
  const all = await seconds(2);
  await time.until(time.nowNs() + 1000 * MS);
  const done = async (sent: typeof all) =>
    (await Promise.all(sent)).filter(({ outcome }) => outcome === "done")
      .length;
  assert(await done(few) <= 6, "one in five seconds finds out");
  assert.equal(await done(all), all.length);
});

Deno.test("one that waits and could only be late by now is told so, and not run", async () => {
  const time = new VirtualTime();
  let slower = 1;
  const made = new Machine(
    time,
    new CostAdmission({ runningMax: 2, sloMs: 100 }, time),
    1,
    ([size]) => slower * size * MS,
  );
  for (let i = 0; i < 40; i++) await runAlone(made, 1 + i % 10);
  made.order.length = 0;
  slower = 20;
  const sent = [10, 10, 10].map((size) => made.send({ size }));
  await time.until(time.nowNs() + 1000 * MS);
  const ends = await Promise.all(sent);
  assert.deepEqual(ends.map(({ outcome }) => outcome), [
    ...["done", "done", "refused"],
  ]);
  assert(isRefused(ends[2].error, "late"));
  assert.equal(made.order.length, 2);
});

async function runAlone(made: Machine, size: number): Promise<void> {
  const done = made.send({ size });
  await made.time.until(made.time.nowNs() + 100 * MS);
  await done;
}

Deno.test("refusal() is what any request would be told, before its body is read", async () => {
  const made = await taught({ queueCostMs: 50 });
  assert.equal(made.admission.refusal(), undefined);
  for (let i = 0; i < 2; i++) void made.send({ size: 20, priority: 2 });
  assert.equal(made.admission.refusal(), undefined, "40 of 50 ms are used");
  made.admission.estimateOf(made.served("m").model)
    .ran(20, 60 * MS, made.time.nowNs());
  for (let i = 0; i < 20; i++) {
    made.admission.estimateOf(made.served("m").model)
      .ran(20, 60 * MS, made.time.nowNs());
  }
  assert(isRefused(made.admission.refusal(), "full"), "work is now worth more");
  assert(isRefused(made.admission.refusal(2), "full"));
  assert.equal(made.admission.refusal(1), undefined, "it would take a place");
  await made.time.until(made.time.nowNs() + 300 * MS);
  assert.equal(made.admission.refusal(), undefined);
});

Deno.test("whatever happens, what was admitted ends, and nothing is left behind", async () => {
  const command = fc.record({
    size: fc.integer({ min: 1, max: 40 }),
    priority: fc.integer({ min: 0, max: 4 }),
    waitMs: fc.integer({ min: 0, max: 15 }),
    finishMs: fc.option(fc.integer({ min: 1, max: 120 })),
    abortMs: fc.option(fc.integer({ min: 0, max: 60 })),
    model: fc.constantFrom("a", "b"),
  });
  const limits = fc.record({
    runningMax: fc.integer({ min: 1, max: 5 }),
    queueMax: fc.integer({ min: 1, max: 8 }),
    queueCostMs: fc.integer({ min: 20, max: 300 }),
    sloMs: fc.constantFrom(40, 200, Infinity),
  });
  await fc.assert(
    fc.asyncProperty(
      limits,
      fc.array(command, { maxLength: 60 }),
      async (limits, commands) => {
        const made = machine(limits, 3);
        const { time, admission } = made;
        for (const { waitMs, finishMs, abortMs, ...sent } of commands) {
          await time.until(time.nowNs() + waitMs * MS);
          const client = new AbortController();
          if (abortMs !== null) {
            time.at(time.nowNs() + abortMs * MS, () => client.abort());
          }
          const before = admission.running + admission.waiting;
          void made.send({
            ...sent,
            signal: client.signal,
            finishNs: finishMs === null
              ? Infinity
              : time.nowNs() + finishMs * MS,
          });
          assert(admission.running <= limits.runningMax);
          assert(admission.waiting <= limits.queueMax);
          // One that finds nobody is never refused; what waits may turn out to cost more than it was let in for.
          assert(
            before === 0 || admission.running + admission.waiting <= before ||
              admission.backlogNs <= limits.queueCostMs * MS + 1,
          );
        }
        await time.until(time.nowNs() + 60_000 * MS);
        assert.equal(made.ended.length, commands.length);
        assert.equal(admission.running, 0);
        assert.equal(admission.waiting, 0);
        assert.equal(admission.backlogNs, 0);
        for (const { outcome, error } of made.ended) {
          const isTold = error instanceof OverloadedError ||
            error instanceof DeadlineError || error?.name === "AbortError";
          assert(outcome === "done" ? !error : isTold, `${error}`);
        }
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});
