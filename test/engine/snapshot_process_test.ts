/** A snapshot of a stream is resumed in another process, with the bits of the stream that went on. */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { resultsOf, STREAMED } from "./stream_models.ts";

const SCRIPT = new URL("resume_snapshot.ts", import.meta.url);
/** Of the fragile one, none of these fails. */
const BEFORE = [0, 1, 2, 3];
const AFTER = [4, 6, 7];

async function resumed(which: number, snapshot: Uint8Array): Promise<unknown> {
  const encoded = btoa(String.fromCharCode(...snapshot));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", SCRIPT.pathname],
      ...[`${which}`, encoded, ...AFTER.map(String)],
    ],
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.equal(code, 0, text(stderr));
  return JSON.parse(text(stdout));
}

for (const [which, { model, frame }] of STREAMED.entries()) {
  Deno.test(`a snapshot resumed in another process goes on with the same bits: ${model.name}`, async () => {
    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      workers: 1,
      warmUp: false,
    });
    await using stream = engine.open(model);
    await resultsOf(stream, BEFORE.map(frame));
    const snapshot = await stream.snapshot();
    const expected = await resultsOf(stream, AFTER.map(frame));
    assert.deepEqual(await resumed(which, snapshot), expected);
    // Its state is what makes them.
    await stream.reset();
    assert.notDeepEqual(await resultsOf(stream, AFTER.map(frame)), expected);
  });
}
