import assert from "node:assert/strict";
import { stepFile } from "../../../bench/streams/step_file.ts";
import { ServingEngine } from "../../../src/engine/wall/serving.ts";
import { gruStream, lstmStream } from "../../../src/models/rnn_stream.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";

const SIZE = { hidden: 8, features: 5 };
const MODELS = { lstm: lstmStream(SIZE), gru: gruStream(SIZE) } as const;

for (const kind of ["lstm", "gru"] as const) {
  Deno.test(`the file that peers are given is the ${kind} that the engine runs`, async () => {
    const { bytes, states } = stepFile(kind, SIZE.hidden, SIZE.features, 1);
    const [file, model] = [await loadOnnx(bytes), MODELS[kind]];
    await using engine = await ServingEngine.create({
      ...{ models: [file, model], policy: cellular(), workers: 0 },
    });
    const stream = engine.open(model);
    const held: Record<string, Float32Array> = {};
    for (const name in states) held[name] = new Float32Array(SIZE.hidden);
    for (let frame = 0; frame < 3; frame++) {
      const x = Float32Array.from(
        { length: SIZE.features },
        (_, i) => Math.sin(1 + i + SIZE.features * frame),
      );
      const theirs = await engine.run(file, { x, ...held });
      for (const [name, next] of Object.entries(states)) {
        held[name] = Float32Array.from(theirs.outputs[next].data, Number);
      }
      const { outputs } = await stream.push({ x });
      const ours = Float32Array.from(outputs.h.data, Number);
      const differ = ours.map((value, i) => Math.abs(value - held.h[i]));
      assert(Math.max(...differ) < 1e-6, `frame ${frame}: ${differ}`);
      assert(ours.some((value) => Math.abs(value) > 0.01), `${ours}`);
    }
  });
}
