/**
 * Graphs that are used again are nobody's business: under every policy, whatever arrives, fails, dies or is given up,
 * an engine that uses them again does all that one does which never does, at the same times and with the same bits.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { WorkerError } from "../../src/engine/core/errors.ts";
import type { Executor } from "../../src/engine/core/executor.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../src/graph/model.ts";
import type { TaskRecord } from "../../src/policy/records.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { staticChain } from "../policy/static_chain.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions, seldom } from "./arbitraries.ts";
import { fragileChain, fragileRow } from "./fragile_model.ts";
import { runPaired } from "./harness.ts";

const ROWS = 3;

type Brings = NonNullable<Model["brings"]>;

const bringsX: Brings = ({ x }) => [Float32Array.from(x)];
const bringsRows: Brings = (rows: number[][]) => [
  Float32Array.from(rows.flat()),
];

/** Requests all of which have the same nodes, and what brings them. */
const MODELS: readonly { model: Model; brings: Brings }[] = [
  { model: staticChain({ cells: ["A"] }), brings: bringsX },
  { model: staticChain({ cells: ["B", "C", "D"] }), brings: bringsX },
  {
    model: staticChain({
      name: "recurrent",
      cells: ["P", "Q*", "R", "S*", "T"],
    }),
    brings: bringsX,
  },
  { model: fragileChain, brings: bringsRows },
];

const request = fc.record({
  which: fc.nat(MODELS.length - 1),
  gapNs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4000 })),
  numbers: fc.tuple(...Array.from({ length: ROWS }, () => fc.nat(9))),
  fails: seldom(fc.nat(ROWS - 1)),
  cancelAfterNs: seldom(fc.integer({ min: 0, max: 20_000 })),
  deadlineAfterNs: seldom(fc.integer({ min: 1, max: 20_000 })),
  finishAfterNs: seldom(fc.integer({ min: 1, max: 30_000 })),
});

const requests = fc.array(request, { minLength: 2, maxLength: 24 });

function arrivalsOf(
  models: readonly Model[],
  drawn: readonly (typeof request extends fc.Arbitrary<infer T> ? T : never)[],
): VirtualArrival[] {
  let atNs = 0;
  return drawn.map(({ which, gapNs, numbers, fails, ...after }) => {
    const { cancelAfterNs, deadlineAfterNs, finishAfterNs } = after;
    atNs += gapNs;
    const model = models[which];
    const input = model.name === fragileChain.name
      ? numbers.map((number, t) => fragileRow(t === fails, number))
      : { x: numbers, steps: 2 };
    return {
      model,
      input,
      arrivalNs: atNs,
      ...(cancelAfterNs !== null && { cancelAtNs: atNs + cancelAfterNs }),
      ...(deadlineAfterNs !== null && { deadlineNs: atNs + deadlineAfterNs }),
      ...(finishAfterNs !== null && { finishNs: atNs + finishAfterNs }),
    };
  });
}

/** Every so many tasks one is given up, as one that has killed its workers is. */
function giveUp(every: number | null) {
  return (executor: Executor) => {
    if (every === null) return;
    const { settle } = executor;
    executor.settle = (task, node, request) =>
      task.id % every === every - 1
        ? new WorkerError(`Request ${request.id} was in task ${task.id}`)
        : settle.call(executor, task, node, request);
  };
}

for (const [name, entry] of Object.entries(POLICIES)) {
  Deno.test(`${name}: an engine that uses graphs again does what one does that never does`, () => {
    let unfolded = 0;
    let admitted = 0;
    fc.assert(
      fc.property(
        requests,
        anyOptions(name),
        fc.integer({ min: 1, max: 3 }),
        fc.nat(300),
        seldom(fc.integer({ min: 1, max: 9 })),
        (drawn, options, workers, rowNs, deadTasks) => {
          const play = (models: readonly Model[]) => {
            const tasks: TaskRecord[] = [];
            const { endings, records } = runPaired({
              models,
              policy: entry.build(options),
              arrivals: arrivalsOf(models, drawn),
              workers,
              cost: { latencyNs: (_cell, rows) => 1000 + rowNs * rows },
              observer: { task: (_task, record) => void tasks.push(record) },
              executor: giveUp(deadTasks),
            });
            assert.equal(records.length, drawn.length);
            return { endings, records, tasks };
          };
          const counted = MODELS.map(({ model, brings }): Model => ({
            ...model,
            brings,
            unfold(input, graph) {
              unfolded++;
              model.unfold(input, graph);
            },
          }));
          admitted += drawn.length;
          assert.deepStrictEqual(
            play(counted),
            play(MODELS.map(({ model }) => model)),
          );
        },
      ),
      { numRuns: propertyRuns(200) },
    );
    assert(unfolded < admitted, `${unfolded} graphs for ${admitted} requests`);
  });
}
