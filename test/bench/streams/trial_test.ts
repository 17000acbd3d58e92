/** A trial counts every frame that was due; nothing is timed. */
import assert from "node:assert/strict";
import { subjectMakers } from "../../../bench/streams/models.ts";
import { runTrial } from "../../../bench/streams/trial.ts";
import { cellular, type Result, ServingEngine } from "../../../src/mod.ts";

Deno.test("frames of a trial are counted, and its sessions are closed", async () => {
  const subject = await subjectMakers({}, 1)["gru-64"]();
  await using engine = await ServingEngine.create({
    models: [subject.model],
    policy: cellular(),
    workers: 0,
    warmUp: false,
  });
  const trial = await runTrial(engine, subject, {
    streams: 3,
    seconds: 0.1,
    seed: 1,
  });
  // A frame every 10 ms of each; fewer where a busy machine gave up, three times as many where all of it was disturbed.
  assert(trial.frames > 0 && trial.frames <= 99, `${trial.frames} frames`);
  // Where the machine kept up at all, frames have latencies, and a count of those in time.
  if (trial.late < 1) {
    assert(trial.p50Ms > 0 && trial.p50Ms < Infinity);
    const onTime = (1 - trial.late) * trial.frames;
    assert(Math.abs(onTime - Math.round(onTime)) < 1e-6, `${onTime} frames`);
  }
  assert(trial.cores > 0);
  assert.equal(engine.active, 0);
});

Deno.test("frames that an engine refuses are not done, and late", async () => {
  const subject = await subjectMakers({}, 1)["gru-64"]();
  const outputs = {
    h: { dtype: "f32", shape: [1], data: new Float32Array(1) },
  };
  const engine = {
    threads: 0,
    open: () => {
      let pushed = 0;
      return {
        push: () =>
          pushed++ % 2 === 0
            ? Promise.resolve({ outputs } as unknown as { outputs: Result })
            : Promise.reject(new Error("refused")),
        close: () => Promise.resolve(),
      };
    },
  };
  const trial = await runTrial(engine, subject, {
    ...{ streams: 4, seconds: 0.2, secondsMax: 0.2, seed: 1, lateMax: 1 },
  });
  // Of each stream every second one, whichever comes first.
  assert(Math.abs(trial.done - 0.5) <= 2 / trial.frames, `${trial.done}`);
  assert(trial.late >= 1 - trial.done);
});
