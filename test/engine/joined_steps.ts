/** What the steps of a growing request come to. */
import assert from "node:assert/strict";
import type { DoneStep } from "../../src/engine/core/step_rows.ts";
import type { Result } from "../../src/graph/result.ts";
import { elements, type Tensor } from "../../src/tensor/tensor.ts";

type Step = Pick<DoneStep, "index" | "outputs">;

/** The results whose rows came step by step. */
export function joinedSteps(steps: readonly Step[]): Result {
  const parts = new Map<string, Tensor[]>();
  steps.forEach(({ index, outputs }, i) => {
    assert.equal(index, i, "steps come in order, each once");
    for (const [name, part] of Object.entries(outputs)) {
      parts.set(name, [...parts.get(name) ?? [], part as Tensor]);
    }
  });
  return Object.fromEntries(
    [...parts].map(([name, all]) => [name, all.reduce(joined)]),
  ) as Result;
}

/** Rows of both, one after the other. */
function joined(a: Tensor, b: Tensor): Tensor {
  const [rows, ...sizes] = a.shape;
  const [more, ...others] = b.shape;
  assert.deepEqual(sizes, others);
  const dtype = a.data instanceof Int32Array ? "i32" : "f32";
  const data = elements(dtype, a.data.length + b.data.length);
  data.set(a.data);
  data.set(b.data, a.data.length);
  return { shape: [rows + more, ...sizes], data: data as Tensor["data"] };
}

/** Asserts that steps are the first ones of a request with this result, or, when it is done, all of them. */
export function assertSteps(
  steps: readonly Step[],
  result: Result,
  isDone: boolean,
  message: string,
): void {
  if (isDone) {
    return assert.deepStrictEqual(joinedSteps(steps), result, message);
  }
  for (const [name, part] of Object.entries(joinedSteps(steps))) {
    const { data, shape } = part as Tensor;
    const whole = result[name] as Tensor;
    assert.deepStrictEqual(data, whole.data.slice(0, data.length), message);
    assert.deepEqual(shape.slice(1), whole.shape.slice(1));
  }
}
