/** What callers call their requests, as observers find it. */
import assert from "node:assert/strict";
import { lstm } from "../../src/models/lstm.ts";
import { lstmStream } from "../../src/models/rnn_stream.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";

Deno.test("observers find a request's and a frame's label, in tasks, launches and records", async () => {
  const model = lstm({ hidden: 8, vocabulary: 9 });
  const live = lstmStream({ hidden: 8, features: 2 });
  const seen = {
    launched: new Set<string | undefined>(),
    ran: new Set<string | undefined>(),
    ended: [] as (string | undefined)[],
  };
  await using engine = await ServingEngine.create({
    models: [model, live],
    policy: cellular(),
    workers: 0,
    observer: {
      decided(_atNs, { steps }) {
        for (const { nodes } of steps) {
          for (const { graph } of nodes) seen.launched.add(graph.owner.label);
        }
      },
      task({ nodes }) {
        for (const { graph } of nodes) seen.ran.add(graph.owner.label);
      },
      request(request, record) {
        assert.equal(record.label, request.label);
        seen.ended.push(record.label);
      },
    },
  });
  await engine.run(model, { tokens: [1, 2] }, { label: "first" });
  await engine.run(model, { tokens: [1] });
  const stream = engine.open(live);
  await stream.push({ x: [1, 2] }, { label: "a frame" });
  await stream.push({ x: [1, 2] });
  await stream.close();
  const labels = ["first", undefined, "a frame", undefined];
  assert.deepEqual(seen.ended, labels);
  assert.deepEqual([...seen.launched], labels.slice(0, 3));
  assert.deepEqual([...seen.ran], labels.slice(0, 3));
});
