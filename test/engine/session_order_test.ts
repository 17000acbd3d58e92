/** Order within a session, and what may go on with a snapshot, in an engine that is told when what happens. */
import assert from "node:assert/strict";
import { fnv1a } from "../../src/base/hash.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { ClosedError } from "../../src/engine/core/errors.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveTimeline } from "../../src/engine/virtual/virtual_driver.ts";
import type { Result } from "../../src/graph/result.ts";
import type { StreamModel } from "../../src/graph/stream_model.ts";
import { gruStream } from "../../src/models/rnn_stream.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { kernels } from "./harness.ts";
import { aloneFrames, STREAMED } from "./stream_models.ts";

const [{ model, frame }] = STREAMED;

/** A batch takes so long. */
const BATCH_NS = 1000;

/** An engine with one session of a model. */
function started(model: StreamModel, snapshot?: Uint8Array) {
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    slotBytes: 2 ** 16,
    cost: { latencyNs: () => BATCH_NS },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: cellular(),
    executor,
  });
  const { sessions } = engine;
  const session = sessions.open(model, 8, snapshot);
  /** Results in the order of their ends. */
  const done: { number: number; result: Result }[] = [];
  const push = (number: number, onEnd = () => {}) =>
    engine.submit({
      model,
      session,
      input: frame(number),
      arrivalNs: timeline.nowNs,
      onEnd({ outcome, result }) {
        if (outcome === "done") done.push({ number, result: result! });
        onEnd();
      },
    });
  /** Does something so many ns from now, and lets happen what follows. */
  const run = (inNs: number, what: () => void) => {
    timeline.at(timeline.nowNs + inNs, 1, what);
    driveTimeline(engine, timeline);
  };
  /** These frames were done in this order, each with the bits of a stream alone. */
  const gave = (...numbers: number[]) => {
    assert.deepEqual(done.map(({ number }) => number), numbers);
    assert.deepEqual(
      done.map(({ result }) => result),
      aloneFrames(model, numbers.map(frame)),
    );
    done.length = 0;
  };
  return { timeline, engine, sessions, session, push, run, done, gave };
}

Deno.test("a frame that is pushed as another ends does not overtake those that wait", () => {
  const { sessions, session, push, run, gave } = started(model);
  run(0, () => {
    push(0, () => push(2));
    push(1);
  });
  gave(0, 1, 2);
  const framesDone: number[] = [];
  const look = { run: () => framesDone.push(session.framesDone), abandon() {} };
  run(0, () => {
    push(3, () => sessions.after(session, look));
    push(4);
  });
  assert.deepEqual(framesDone, [5], "what is asked for waits, too");
});

Deno.test("the frame behind a cancelled one begins when nothing of that is in flight", () => {
  const { timeline, engine, push, run, gave } = started(model);
  run(0, () => push(0));
  const endsNs: number[] = [];
  run(0, () => {
    const request = push(1);
    timeline.at(timeline.nowNs + BATCH_NS / 2, 1, () => {
      assert.equal(request.inFlight, 1);
      engine.cancel(request, timeline.nowNs, new Error("no more"));
      push(2, () => endsNs.push(timeline.nowNs));
    });
  });
  gave(0, 2);
  assert.deepEqual(endsNs, [3 * BATCH_NS]);
});

Deno.test("a frame that is late names its own deadline, and says what it waited for", () => {
  const { engine, session, run } = started(model);
  const errors: string[] = [];
  run(0, () => {
    for (const finishNs of [BATCH_NS / 2, BATCH_NS / 4]) {
      engine.submit({
        model,
        session,
        input: frame(0),
        arrivalNs: 0,
        finishNs,
        onEnd: ({ error }) => errors.push(error!.message),
      });
    }
  });
  const late = "had not finished by its deadlineMs";
  assert.deepEqual(errors, [
    `Frame 1 ${late}, 0.00025 ms: it waited for the frames before it`,
    `Frame 0 ${late}, 0.0005 ms: 0 of its 1 nodes were done`,
  ]);
});

Deno.test("frames that wait have a copy each, whatever waited before them", () => {
  const { push, run, gave } = started(model);
  run(0, () => [0, 1].forEach((number) => push(number)));
  run(0, () => [2, 3, 4, 5].forEach((number) => push(number)));
  gave(0, 1, 2, 3, 4, 5);
});

Deno.test("frames that have begun make room for others to wait", () => {
  const { session, push, run, gave } = started(model);
  for (const round of [0, 1, 2]) {
    run(0, () => [0, 1, 2, 3, 4, 5].forEach((i) => push(6 * round + i)));
    assert.equal(session.waiting, 0);
  }
  gave(...Array.from({ length: 18 }, (_, i) => i));
});

Deno.test("results stay what they were when further frames are done", () => {
  // Short rows and long ones are copied differently.
  for (const hidden of [4, 40]) {
    const { push, run, done } = started(gruStream({ hidden, features: 3 }));
    const bits = () => done.map(({ result }) => structuredClone(result));
    const seen: Result[] = [];
    run(
      0,
      () =>
        [0, 1, 2, 3].forEach((number) =>
          push(number, () => seen.push(bits().at(-1)!))
        ),
    );
    assert.equal(seen.length, 4);
    assert.deepEqual(bits(), seen);
  }
});

Deno.test("a session that was reset while it was parked begins again", () => {
  const { sessions, session, push, run, gave } = started(model);
  run(0, () => push(0));
  gave(0);
  sessions.park(session);
  sessions.reset(session);
  const fresh = started(model);
  assert.deepEqual(
    sessions.snapshot(session),
    fresh.sessions.snapshot(fresh.session),
  );
  run(0, () => push(1));
  gave(1);
});

Deno.test("a closed session takes no frame", () => {
  const { engine, sessions, session, push } = started(model);
  sessions.close(session);
  assert.throws(() => push(0), ClosedError);
  assert.equal(engine.active, 0);
});

Deno.test("a snapshot of another version, model, or form of states is refused", () => {
  const { sessions, session, run, push } = started(model);
  run(0, () => push(0));
  const snapshot = sessions.snapshot(session);
  assert.equal(started(model, snapshot).session.framesDone, 1);
  const later = snapshot.slice();
  later[7]++;
  const end = later.length - 4;
  const sum = fnv1a(later.subarray(0, end));
  new DataView(later.buffer).setUint32(end, sum, true);
  assert.throws(() => started(model, later), /damaged, or none of this/);

  const named = (name: string) => ({ ...model, name });
  assert.throws(() => started(named("other"), snapshot), {
    name: "RangeError",
    message: /is of model "lstm-stream" .* the stream is of "other"/,
  });
  // As many bytes of state.
  const gru = gruStream({ hidden: 10, features: 3 });
  assert.equal(
    started(gru).session.frame.stateBytes,
    session.frame.stateBytes,
  );
  assert.throws(
    () => started({ ...gru, name: model.name }, snapshot),
    RangeError,
  );
});
