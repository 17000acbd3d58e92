/** A trial counts every frame that was due; nothing is timed. */
import assert from "node:assert/strict";
import { subjectMakers } from "../../../bench/streams/models.ts";
import { runTrial } from "../../../bench/streams/trial.ts";
import { cellular, ServingEngine } from "../../../src/mod.ts";

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
