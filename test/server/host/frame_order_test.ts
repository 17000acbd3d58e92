/** Frames of a session are computed in the order of the calls, whatever admission makes of them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  DeadlineError,
  QueueFullError,
} from "../../../src/engine/core/errors.ts";
import { gruStream } from "../../../src/models/rnn_stream.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { UnavailableError } from "../../../src/server/host/errors.ts";
import type { HostSession } from "../../../src/server/host/host_session.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";

const SERVED = servedStream(gruStream({ hidden: 8, features: 1 }), {
  name: "s",
});

/** More than a stream has room for. */
const FRAMES = 70;

function frame(t: number) {
  return { x: Float32Array.of(Math.sin(t)) };
}

function hostOf(admission?: Admission, served = SERVED, slotBytes?: number) {
  return EngineHost.create({
    models: [served],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false, ...(slotBytes && { slotBytes }) },
    ...(admission && { admission }),
  });
}

async function first(pushed: ReturnType<HostSession["push"]>) {
  return (await pushed).outputs["h"].data[0];
}

/** What these frames come to, one after the other. */
async function alone(ts: readonly number[], served = SERVED) {
  const host = await hostOf(undefined, served);
  const session = host.open(served);
  const results: unknown[] = [];
  for (const t of ts) results.push(await first(session.push(frame(t))));
  await host.close();
  return results;
}

const ALL = Array.from({ length: FRAMES }, (_, t) => t);
const EXPECTED = await alone(ALL);

Deno.test("frames that come at once are computed in their order, more than a stream has room for, and none is refused", async () => {
  const admissions = [
    undefined,
    new CostAdmission(),
    new CostAdmission({ runningMax: 1 }),
    new CostAdmission({ runningMax: 3, priorityLevels: 2 }),
  ];
  for (const admission of admissions) {
    const host = await hostOf(admission);
    const sessions = [host.open(SERVED), host.open(SERVED)];
    const results = await Promise.all(
      sessions.map((session) =>
        Promise.all(ALL.map((t) =>
          // The later ones of each few have the higher priority.
          first(session.push(frame(t), { priority: 1 + Number(t % 5 < 3) }))
        ))
      ),
    );
    assert.deepEqual(results, [EXPECTED, EXPECTED]);
    await host.close();
  }
});

Deno.test("frames behind one that is cancelled in the engine are not refused", async () => {
  const host = await hostOf();
  const session = host.open(SERVED);
  const leaving = new AbortController();
  const pushed = ALL.map((t) =>
    session.push(frame(t), t === 0 ? { signal: leaving.signal } : {})
  );
  const settled = Promise.allSettled(pushed);
  for (let i = 0; host.active === 0 || i < 50; i++) await undefined;
  leaving.abort(new Error("left"));
  const outcomes = (await settled).map(({ status }) => status);
  assert.deepEqual(outcomes.slice(1), ALL.slice(1).map(() => "fulfilled"));
  await host.close();
});

Deno.test("a stream's own deadline counts from the push, also while a frame waits for its turn", async () => {
  const host = await hostOf({ admit: () => new Promise(() => {}) });
  const session = host.open(SERVED, { deadlineMs: 30 });
  const pushed = [0, 1].map((t) => session.push(frame(t)));
  // The first one waits for admission, of which a deadline is the admission's matter.
  pushed[0].catch(() => {});
  await assert.rejects(pushed[1], DeadlineError);
});

Deno.test("property: whatever an admission lets in first, and however often, frames keep their order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
      async (turns) => {
        const host = await hostOf({
          async admit({ label }) {
            for (let left = turns[Number(label) % turns.length]; left; left--) {
              await new Promise((resolve) => setTimeout(resolve));
            }
            return () => {};
          },
        });
        const session = host.open(SERVED);
        const pushed = turns.map((_, t) => first(session.push(frame(t))));
        const results = await Promise.all(pushed);
        assert.deepEqual(results, EXPECTED.slice(0, turns.length));
        await host.close();
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("several frames of a session are in the engine at once", async () => {
  const host = await hostOf(new CostAdmission());
  const session = host.open(SERVED);
  const pushed = ALL.map((t) => first(session.push(frame(t))));
  await new Promise((resolve) => setTimeout(resolve));
  assert(host.active > 8, `${host.active}`);
  assert.deepEqual(await Promise.all(pushed), EXPECTED);
  await host.close();
});

Deno.test("frames of a parked stream that the engine has no room for come in their order", async () => {
  const served = servedStream(gruStream({ hidden: 2048, features: 1 }), {
    name: "large",
  });
  const ts = [0, 1, 2, 3, 4, 5];
  const expected = await alone(ts, served);
  // Room for three of them.
  const host = await hostOf(new CostAdmission(), served, 2 ** 16);
  const parked = host.open(served, { parkIdle: true });
  const results = [await first(parked.push(frame(0)))];
  await parked.park();
  const others = [1, 2, 3].map(() => host.open(served));
  const busy = others.map((other, i) =>
    Promise.all(
      ts.slice(3 * Number(i === 0)).map((t) => first(other.push(frame(t)))),
    )
  );
  const pushed = Promise.all(
    ts.slice(1).map((t) => first(parked.push(frame(t)))),
  );
  await busy[0];
  await others[0].close();
  results.push(...await pushed);
  assert.deepEqual(results, expected);
  assert.deepEqual((await Promise.all(busy)).slice(1), [expected, expected]);
  await host.close();
});

Deno.test("frames that give up while they wait leave at once and keep nobody waiting", async () => {
  const admit = new Map<string, () => void>();
  const host = await hostOf({
    admit: ({ id }) =>
      new Promise((resolve) => admit.set(id, () => resolve(() => {}))),
  });
  const session = host.open(SERVED);
  const left = new AbortController();
  const push = (t: number, options = {}) =>
    first(session.push(frame(t), { id: `${t}`, ...options }));
  const waiting = push(0);
  const aborted = push(1, { signal: left.signal });
  const late = push(2, { finishMs: 20 });
  const gone = push(3, { signal: AbortSignal.abort("gone") });
  const last = push(4);
  const reason = new Error("left");
  left.abort(reason);
  await Promise.all([
    assert.rejects(aborted, reason),
    assert.rejects(late, DeadlineError),
    assert.rejects(gone, (error) => error === "gone"),
  ]);
  assert.deepEqual([...admit.keys()], ["0"], "nobody else was asked for");
  admit.get("0")!();
  const expected = await alone([0, 4]);
  assert.equal(await waiting, expected[0]);
  admit.get("4")!();
  assert.equal(await last, expected[1]);
  await host.close();
});

Deno.test("frames that wait for admission when their session is closed are computed, and none that comes then", async () => {
  const host = await hostOf(new CostAdmission({ runningMax: 1 }));
  const sessions = [host.open(SERVED), host.open(SERVED)];
  const pushed = sessions.map((session) =>
    Promise.all(ALL.slice(0, 5).map((t) => first(session.push(frame(t)))))
  );
  const closed = sessions[0].close();
  await assert.rejects(sessions[0].push(frame(5)), UnavailableError);
  const ended = host.close();
  for (const results of pushed) {
    assert.deepEqual(await results, EXPECTED.slice(0, 5));
  }
  await Promise.all([closed, ended]);
});

Deno.test("a session without frames gives its slot away when it is closed, not later", async () => {
  const host = await hostOf(new CostAdmission(), SERVED, 1024);
  const open = () => host.open(SERVED);
  const sessions: HostSession[] = [];
  assert.throws(() => {
    for (;;) sessions.push(open());
  }, QueueFullError);
  await sessions[0].push(frame(0));
  const closed = sessions[0].close();
  assert.equal(await first(open().push(frame(0))), EXPECTED[0]);
  await closed;
  await host.close();
});

Deno.test("frames behind another one are told of at once, also where one may wait", async () => {
  const lingerMs = 500;
  const host = await EngineHost.create({
    models: [SERVED],
    policy: () => cellular(),
    engine: { workers: 1, warmUp: false, lingerMs },
  });
  const session = host.open(SERVED, { pendingMax: 1 });
  // The worker knows that results may lie.
  await session.push(frame(0));
  const sinceMs = performance.now();
  const pushed = ALL.slice(0, 10).map((t) => session.push(frame(t)));
  pushed[9].catch(() => {});
  await Promise.all(pushed.slice(0, 9));
  const ms = performance.now() - sinceMs;
  assert(ms < 4 * lingerMs, `9 frames took ${ms} ms`);
  await host.close();
});

Deno.test("options that a session has of a class are its own in the next engine, too", async () => {
  class Options {
    get pendingMax() {
      return FRAMES;
    }
  }
  const host = await hostOf();
  const session = host.open(SERVED, new Options());
  await host.change((models) => [...models]);
  const results = await Promise.all(
    ALL.map((t) => first(session.push(frame(t)))),
  );
  assert.deepEqual(results, EXPECTED);
  await host.close();
});

Deno.test("options of a frame may be of a class, and what is none rejects its promise", async () => {
  const reason = new Error("left");
  class Options {
    get signal() {
      return AbortSignal.abort(reason);
    }
  }
  const host = await hostOf();
  const session = host.open(SERVED, { deadlineMs: 60_000 });
  await assert.rejects(
    session.push(frame(0), new Options()),
    (error) => error === reason,
  );
  await assert.rejects(session.push(frame(0), null as never), TypeError);
  assert.equal(await first(session.push(frame(0))), EXPECTED[0]);
  await host.close();
});
