/** What padded runs compute and take, worked out by hand: 100 ns a row, one worker. */
import assert from "node:assert/strict";
import { bert } from "../../src/models/bert.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import type { TaskRecord } from "../../src/policy/records.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { runSimulated } from "./harness.ts";

const encoder = lstm({ hidden: 4, vocabulary: 9 });
const translation = seq2seq({ hidden: 4, sourceVocabulary: 9, eos: null });

/** Rows, padding, speculative rows and time of every task, in order. */
function run(
  arrivals: readonly Omit<VirtualArrival, "arrivalNs">[],
  policy: Policy,
) {
  const tasks: TaskRecord[] = [];
  const { records } = runSimulated({
    models: [encoder, translation],
    policy,
    arrivals: arrivals.map((arrival) => ({ ...arrival, arrivalNs: 0 })),
    cost: { latencyNs: (_cell, rows) => 100 * rows },
    observer: { task: (_task, record) => void tasks.push(record) },
  });
  return {
    tasks: tasks.map(({ rows, padding, speculative, startNs, endNs }) => [
      ...[rows, padding, speculative, endNs - startNs],
    ]),
    endsNs: records.map(({ endNs }) => endNs),
  };
}

const sentence = (tokens: number) => ({
  model: encoder,
  input: { tokens: new Array<number>(tokens).fill(1) },
});

Deno.test("a padded run has the same rows at every step: what short requests leave open is padding", () => {
  const { tasks, endsNs } = run(
    [sentence(1), sentence(2), sentence(3)],
    graph(),
  );
  assert.deepEqual(tasks, [[3, 0, 0, 300], [2, 1, 0, 300], [1, 2, 0, 300]]);
  assert.deepEqual(endsNs, [900, 900, 900]);
});

Deno.test("rows of nobody are computed and timed", () => {
  const policy = graph({ batchSizeMax: 4, dummyRows: true });
  const { tasks } = run([sentence(2), sentence(1)], policy);
  assert.deepEqual(tasks, [[2, 2, 0, 400], [1, 3, 0, 400]]);
});

Deno.test("a padded decoder keeps its rows when a request ends, and takes no time once all have", () => {
  const asked = (stepsFixed: number) => ({
    model: translation,
    input: { tokens: [1], maxSteps: 9 },
    stepsFixed,
  });
  const { tasks, endsNs } = run([asked(1), asked(3)], graph());
  assert.deepEqual(tasks.slice(0, 4), [
    ...[[2, 0, 0, 200], [2, 0, 0, 200]],
    // The first request is over: its row is padding.
    ...[[1, 1, 0, 200], [1, 1, 0, 200]],
  ]);
  // What was submitted ahead is void, and so is its padding: nothing is computed.
  assert.deepEqual(tasks.slice(4), [[0, 0, 0, 0]]);
  assert.deepEqual(endsNs, [800, 800]);
});

Deno.test("tokens of a step that only padding takes are computed, and counted", () => {
  const model = bert({
    ...{ layers: 1, hidden: 8, heads: 2, inner: 8 },
    ...{ vocabulary: 9, tokensMax: 8 },
  });
  const cell = model.cells.find(({ tokensMax }) => tokensMax !== undefined)!;
  const tokens: TaskRecord["tokens"][] = [];
  const inner = serial();
  runSimulated({
    models: [model],
    policy: {
      ...inner,
      schedule(view) {
        const decision = inner.schedule(view);
        if (decision.kind !== "launch") return decision;
        const steps = [{ cell, nodes: [] }, ...decision.launch.steps];
        const padded = { paddedRows: 2, paddedLength: 4, steps };
        return { kind: "launch", launch: { ...decision.launch, ...padded } };
      },
    },
    arrivals: [{ model, input: { tokens: [1, 2, 3] }, arrivalNs: 0 }],
    cost: { latencyNs: (_cell, rows) => rows },
    observer: { task: (_task, record) => void tokens.push(record.tokens) },
  });
  assert.deepEqual(tokens[0], { done: 0, padding: 2 * 4 });
});

Deno.test("what a run that is not padded submitted ahead is void, speculative, and takes no time", () => {
  const { tasks } = run(
    [{
      model: translation,
      input: { tokens: [1], maxSteps: 9 },
      stepsFixed: 2,
    }],
    serial(),
  );
  assert.deepEqual(tasks, [
    ...[[1, 0, 0, 100], [1, 0, 0, 100], [1, 0, 0, 100], [0, 0, 1, 0]],
  ]);
});
