/** Deadlines for starting, and who still has one. */
import assert from "node:assert/strict";
import { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { Deadlines } from "../../src/engine/core/deadlines.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { lstm } from "../../src/models/lstm.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { runSimulated } from "./harness.ts";

const model = lstm({ hidden: 4, vocabulary: 9 });

function requestOf(id: number, deadlineNs: number, finishNs = Infinity) {
  return new ActiveRequest(
    ...[id, model, new CellGraph<ActiveRequest>(model), 0] as const,
    ...[deadlineNs, finishNs, undefined, undefined] as const,
  );
}

Deno.test("rows that are under way keep a deadline for starting, before it is known when they started", () => {
  const { endings } = runSimulated({
    models: [model],
    policy: serial(),
    arrivals: [0, 0].map((arrivalNs) => ({
      ...{ model, input: { tokens: [1, 2] } },
      ...{ arrivalNs, deadlineNs: 500 },
    })),
    cost: { latencyNs: () => 1000 },
  });
  assert.deepEqual(endings.map((end) => end?.outcome), ["done", "expired"]);
});

Deno.test("requests that are there keep their deadlines while others come and go", () => {
  for (const kind of ["start", "finish"] as const) {
    const deadlines = new Deadlines();
    const late = (id: number, atNs: number) =>
      kind === "start" ? requestOf(id, atNs) : requestOf(id, Infinity, atNs);
    const stays = [late(0, 7000), late(1, 9000)];
    for (const request of stays) deadlines.add(request);
    for (let id = 2; id < 2000; id++) {
      const request = late(id, 5000 + id);
      deadlines.add(request);
      request.departed = true;
      deadlines.drop(request);
    }
    assert.equal(deadlines.nextNs(), 7000);
    assert.equal(deadlines.takeMissed(6999), undefined);
    for (const request of stays) {
      const missed = deadlines.takeMissed(9000);
      assert.equal(missed?.request.id, request.id);
      assert.equal(missed?.missed, kind);
    }
    assert.equal(deadlines.takeMissed(1e6), undefined);
    assert.equal(deadlines.nextNs(), Infinity);
  }
});

Deno.test("a deadline is missed when its time has come, not a nanosecond before", () => {
  const deadlines = new Deadlines();
  deadlines.add(requestOf(0, 100));
  assert.equal(deadlines.takeMissed(99), undefined);
  assert.equal(deadlines.takeMissed(100)?.request.id, 0);
});
