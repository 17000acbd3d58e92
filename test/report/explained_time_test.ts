/** What a log tells of a request's time is all of it in which no task of it ran, under every policy. */
import fc from "fast-check";
import assert from "node:assert/strict";
import { inputsOf } from "../../src/cli/bench_models.ts";
import { submissions } from "../../src/cli/measure.ts";
import { MODELS } from "../../src/models/registry.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { TaskRecord } from "../../src/policy/records.ts";
import { DecisionLog } from "../../src/report/decision_log.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { workload } from "../../src/workload/workload.ts";
import { anyOptions } from "../engine/arbitraries.ts";
import { runSimulated } from "../engine/harness.ts";
import { propertyRuns } from "../property_runs.ts";

const REQUESTS = 30;
const MS = 1_000_000;

/** Milliseconds at the start of a line, in which nothing of the request ran. */
const TOLD =
  /^(?:waited|queued|held|there, tasks without it took) (\d+(?:\.\d+)?) ms/;

const SMALL: Readonly<Record<string, Record<string, unknown>>> = {
  lstm: { hidden: 2, vocabulary: 5 },
  seq2seq: { hidden: 2, sourceVocabulary: 5, targetVocabulary: 5 },
  treelstm: { hidden: 2, vocabulary: 5 },
};
const MODELS_TRIED = Object.entries(SMALL).map(([name, options]) => {
  const model = MODELS[name].build({ ...options, weights: shapesOnly() });
  return { model, inputs: inputsOf(name, options, model) };
});

/** Time from arrival to end without a task of the request. */
function idleNs(
  { id, arrivalNs, endNs }: { id: number; arrivalNs: number; endNs: number },
  tasks: readonly TaskRecord[],
): number {
  let sinceNs = arrivalNs;
  let idleNs = 0;
  const own = tasks.filter(({ requests }) => requests.includes(id));
  for (const task of own.sort((a, b) => a.startNs - b.startNs)) {
    idleNs += Math.max(0, Math.min(task.startNs, endNs) - sinceNs);
    sinceNs = Math.max(sinceNs, task.endNs);
  }
  return idleNs + Math.max(0, endNs - sinceNs);
}

for (const name of Object.keys(POLICIES)) {
  Deno.test(`explainRequest() tells all of the time in which nothing of a request ran: ${name}`, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...MODELS_TRIED),
        anyOptions(name),
        fc.integer({ min: 50, max: 3000 }),
        fc.integer({ min: 1, max: 3 }),
        fc.nat(1000),
        ({ model, inputs }, options, ratePerS, workers, seed) => {
          const build = () => POLICIES[name].build({ ...options });
          if (build().supports(model) !== undefined) return;
          const log = new DecisionLog(name);
          const tasks: TaskRecord[] = [];
          runSimulated({
            models: [model],
            workers,
            policy: build(),
            cost: { latencyNs: (_, rows) => MS / 10 + 1000 * rows },
            arrivals: submissions(
              model,
              workload({
                ...{ arrivals: poisson({ ratePerS }), inputs, seed },
                requests: REQUESTS,
              }),
            ).map((request, i) => ({
              ...request,
              // Some are given up, while they wait or while they run.
              ...(i % 5 === 1 && { cancelAtNs: request.arrivalNs + 2 * MS }),
              ...(i % 5 === 3 && { finishNs: request.arrivalNs + MS }),
            })),
            observer: {
              decided: (...all) => log.decided(...all),
              waited: (...all) => log.waited(...all),
              task(task, record) {
                tasks.push(record);
                log.task(task, record);
              },
              request: (...all) => log.request(...all),
            },
          });
          assert.equal(log.requests.size, REQUESTS);
          for (const record of log.requests.values()) {
            const lines = log.explainRequest(record.id);
            const toldNs = lines.reduce(
              (sum, line) => sum + MS * Number(TOLD.exec(line)?.[1] ?? 0),
              0,
            );
            assert.equal(
              Math.round(toldNs),
              idleNs(record, tasks),
              lines.join("\n"),
            );
          }
        },
      ),
      { numRuns: propertyRuns(8) },
    );
  });
}
