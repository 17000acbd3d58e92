/**
 * Files of real networks as streams: what the file calls two inputs and two outputs is a frame and a state that stays.
 */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { isShape } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { modelFolder, withSequence } from "./reference_models.ts";
import { node, writeModel } from "./write_model.ts";

for (const name of ["dtln-model-1", "dtln-model-2", "silero-vad-16k"]) {
  Deno.test(`${name} as a stream: the bits of requests that bring the state of those before`, async () => {
    const folder = modelFolder(`stream of ${name}`, name);
    if (folder === undefined) return;
    const answers: Record<string, unknown>[] = [];
    const { model: file, references } = await withSequence(
      folder,
      {},
      (model, input) => {
        const [answer] = runRequests(model, [input], { slotBytes: 2 ** 28 });
        answers.push(answer);
        return answer;
      },
    );
    const [output, state] = file.results;
    const [{ name: stateIn }] = file.inputs.filter(({ name, shape }) =>
      isShape(shape, state.shape) && name !== file.inputs[0].name
    );
    const model = await loadOnnx(new URL("model.onnx", folder), {
      states: { [stateIn]: state.name },
    });
    assert.deepEqual(Object.keys(model.stream.outputs), [output.name]);
    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      warmUp: false,
    });
    const stream = engine.open(model);
    const other = engine.open(model);
    for (const [t, { input }] of references.entries()) {
      const frame = Object.fromEntries(
        Object.entries(input).filter(([name]) => name !== stateIn),
      ) as Record<string, Float32Array>;
      // Another stream a frame behind, in the same batches.
      const [{ outputs }] = await Promise.all([
        stream.push(frame),
        t > 0 && other.push(frame),
      ]);
      assert.deepEqual(outputs[output.name], answers[t][output.name], `${t}`);
    }
    assert.equal(stream.frames, references.length);
  });
}

const FILE = writeModel({
  graph: {
    inputs: [
      { name: "x", dims: [1, 2] },
      { name: "before", dims: [1, 2] },
      { name: "steps", type: "int64", dims: [1] },
    ],
    outputs: [
      { name: "y", dims: [1, 2] },
      { name: "after", dims: [1, 2] },
      { name: "count", type: "int64", dims: [1] },
    ],
    nodes: [
      node("Add", ["x", "before"], ["after"]),
      node("Neg", ["after"], ["y"]),
      node("Add", ["steps", "steps"], ["count"]),
    ],
  },
});

Deno.test("states of a file are the inputs and outputs that the caller names", async () => {
  const model = await loadOnnx(FILE, {
    states: {
      before: "after",
      steps: { from: "count", initial: BigInt64Array.of(3n) },
    },
  });
  assert.deepEqual(Object.keys(model.stream.inputs), ["x"]);
  assert.deepEqual(model.stream.outputs, { y: "f32" });
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
    workers: 0,
  });
  const stream = engine.open(model);
  const given: unknown[] = [];
  for (const x of [[1, 2], [3, 4], [5, 6]]) {
    const { outputs } = await stream.push({ x });
    given.push({ ...outputs });
  }
  assert.deepEqual(
    given,
    [[-1, -2], [-4, -6], [-9, -12]].map((y) => ({
      y: { shape: [1, 2], data: Float32Array.from(y) },
    })),
  );
  const state = (await stream.snapshot()).slice(-4 - 8 - 8, -4);
  assert.deepEqual(
    new Float32Array(state.slice(0, 8).buffer),
    Float32Array.of(9, 12),
  );
  assert.deepEqual(
    new BigInt64Array(state.slice(8).buffer),
    BigInt64Array.of(24n),
  );

  // As a request it brings what it is given.
  const { outputs } = await engine.run(model, {
    x: Float32Array.of(1, 2),
    before: Float32Array.of(10, 20),
    steps: BigInt64Array.of(5n),
  });
  assert.deepEqual(outputs["after"]?.data, Float32Array.of(11, 22));
});

Deno.test("states that a file does not have, or that do not fit, are refused by name", async () => {
  const load = (states: Record<string, string>) => loadOnnx(FILE, { states });
  await assert.rejects(load({ z: "after" }), /input "z"/);
  await assert.rejects(load({ before: "z" }), /output "z"/);
  await assert.rejects(load({ before: "count" }), RangeError);
  await assert.rejects(load({ before: "after", x: "after" }), /two states/);
  await assert.rejects(load({}), /has no state/);
});
