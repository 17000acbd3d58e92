/** Inputs to draw from, with the answer that each gets alone: a soak cannot compute them as it goes. */
import type { Prng } from "../../src/base/prng.ts";
import { NS_PER_S } from "../../src/base/units.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { BAD_INPUTS, type SoakModel } from "./models.ts";

export interface Question {
  readonly model: Model;
  readonly input: unknown;
  readonly stepsFixed?: number;
  readonly answer: Result;
}

export interface BadQuestion {
  readonly model: Model;
  readonly input: unknown;
  /** What the model says of the input. */
  readonly error: Error;
}

/**
 * Runs `size` inputs of the model one after the other, each alone in an engine of one thread on virtual
 * time.
 * @param kernels a build over unshared memory
 * @throws Error of the first one that fails
 */
export function questions(
  { model, inputs }: SoakModel,
  size: number,
  prng: Prng,
  kernels: BufferSource,
): Question[] {
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    cost: { latencyNs: () => 1 },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: serial(),
    executor,
  });
  const asked: Question[] = [];
  const drawn = Array.from({ length: size }, () => inputs.next(prng));
  driveVirtual(
    engine,
    timeline,
    drawn.map((input, i) => ({
      ...input,
      model,
      // The next one comes long after the end of this one.
      arrivalNs: i * NS_PER_S,
      onEnd: ({ result, error }) => {
        if (result === undefined) throw error;
        asked.push({ ...input, model, answer: result });
      },
    })),
  );
  return asked;
}

/** @throws Error when a model takes one of the bad inputs */
export function badQuestions({ model }: SoakModel): BadQuestion[] {
  return BAD_INPUTS.map((input) => {
    const { check }: { check(input: unknown): void } = model;
    try {
      check(input);
    } catch (error) {
      return { model, input, error: error as Error };
    }
    throw new Error(
      `Model "${model.name}" takes ${
        JSON.stringify(input)
      }, which should be bad`,
    );
  });
}

/** Whether two results have the same names, shapes and bits. */
export function sameBits(a: Result, b: Result): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [left, right] = [a[name], b[name]];
    if (
      left.data.constructor !== right?.data.constructor ||
      String(left.shape) !== String(right.shape)
    ) return false;
    const [ours, theirs] = [words(left.data), words(right.data)];
    for (let i = 0; i < ours.length; i++) {
      if (ours[i] !== theirs[i]) return false;
    }
    return true;
  });
}

function words(row: Float32Array | Int32Array): Int32Array {
  return new Int32Array(row.buffer, row.byteOffset, row.length);
}
