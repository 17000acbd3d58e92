import assert from "node:assert/strict";
import { dvabatch } from "../../src/policy/dvabatch/dvabatch.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy } from "../../src/policy/lazybatching/lazy.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { DecisionLog } from "../../src/report/decision_log.ts";
import {
  letters,
  simulateStatic,
  staticChain,
} from "../policy/static_chain.ts";

const MS = 1_000_000;

function logged(policy: Policy, arrivals: readonly number[]): DecisionLog {
  const log = new DecisionLog(policy.name);
  simulateStatic(
    policy,
    [staticChain({ cells: letters(4) })],
    arrivals.map((at) => ({ arrivalNs: at * MS })),
    {
      cost: { latencyNs: () => MS },
      // The methods are on the prototype: the observer is spread by the harness.
      observer: {
        decided: (...all) => log.decided(...all),
        waited: (...all) => log.waited(...all),
        task: (...all) => log.task(...all),
        request: (...all) => log.request(...all),
      },
    },
  );
  return log;
}

/** The first line that has all the words. */
function line(lines: readonly string[], ...words: string[]): string {
  const found = lines.find((line) =>
    words.every((word) => line.includes(word))
  );
  assert(found !== undefined, `${words} in\n${lines.join("\n")}`);
  return found;
}

Deno.test("explainRequest() names the slack that refused a request", () => {
  const log = logged(
    lazy({ slaNs: 6 * MS, profile: () => MS }),
    [0, 1],
  );
  const lines = log.explainRequest(1);
  assert.equal(
    lines[0],
    "lazy: request 1 (ABCD) arrived at 1 ms, done at 8 ms: 7 ms in all",
  );
  line(lines, "waited 3 ms from 1 ms on");
  line(lines, "1 ms  refuse of 1: slack would be -2000000 ns");
});

Deno.test("explainRequest() tells preemption and merge", () => {
  const log = logged(lazy({ slaNs: 1000 * MS, profile: () => MS }), [0, 2]);
  const first = log.explainRequest(0);
  line(first, "waited 2 ms from 2 ms on");
  line(first, "2 ms  preempt of 1: slack");
  line(log.explainRequest(1), "at 4 ms merge of 1: at node C");
});

Deno.test("explainRequest() tells the window that was waited for and the end of the run", () => {
  const log = logged(graph({ windowNs: 5 * MS }), [0]);
  const lines = log.explainRequest(0);
  line(lines, "0 ms  wait until 5 ms");
  line(
    lines,
    "at 5 ms in launch 0 on worker 0: A, B, C, D, 1 rows (the window is over)",
  );
});

Deno.test("explainBatch() says where everybody else was", () => {
  const log = logged(graph({ batchSizeMax: 2 }), [0, 0, 0]);
  const lines = log.explainBatch(0);
  assert.match(
    lines[0],
    /launch 0 on worker 0: A, B, C, D, 2 rows \(the batch is full\)/,
  );
  line(lines, "request 2 waited, since 0 ms in the system");
  assert.deepEqual(log.explainBatch(1).slice(1), [
    "  nobody else was in the system",
  ]);
});

Deno.test("explainBatch() tells stretches", () => {
  const log = logged(dvabatch({ policy: "III" }), [0, 2]);
  const launch = [...log.launches.values()].find(({ notes }) =>
    notes.some(({ op }) => op === "stretch")
  )!;
  line(log.explainBatch(launch.id), "stretch of 1: Policy III");
});

Deno.test("ids that are not there are named", () => {
  const log = logged(graph(), [0]);
  assert.throws(() => log.explainRequest(7), /No request 7; there are 0 to 0/);
  assert.throws(() => log.explainBatch(3), /No launch 3; there are 0 to 0/);
});
