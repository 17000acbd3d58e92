import assert from "node:assert/strict";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { lstm } from "../../src/models/lstm.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { dvabatch } from "../../src/policy/dvabatch/dvabatch.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { late } from "../../src/policy/late_batching/late.ts";
import { lazy } from "../../src/policy/lazybatching/lazy.ts";
import type { Launch, Task } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { RequestRecord, TaskRecord } from "../../src/policy/records.ts";
import type { Request } from "../../src/policy/request.ts";
import {
  DecisionLog,
  type DecisionLogLimits,
} from "../../src/report/decision_log.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { completeTree } from "../../src/workload/complete_tree.ts";
import { runSimulated } from "../engine/harness.ts";
import { letters, staticChain } from "../policy/static_chain.ts";

const MS = 1_000_000;

function logged(policy: Policy, arrivals: readonly number[]): DecisionLog {
  const model = staticChain({ cells: letters(4) });
  return loggedOf(
    policy,
    arrivals.map((at) => ({ model, input: {}, arrivalNs: at * MS })),
  );
}

/** Every task takes a millisecond. */
function loggedOf(
  policy: Policy,
  arrivals: readonly VirtualArrival[],
): DecisionLog {
  const log = new DecisionLog(policy.name);
  runSimulated({
    policy,
    models: [...new Set(arrivals.map(({ model }) => model))],
    arrivals,
    cost: { latencyNs: () => MS },
    // The methods are on the prototype: the observer is spread by the harness.
    observer: {
      decided: (...all) => log.decided(...all),
      waited: (...all) => log.waited(...all),
      task: (...all) => log.task(...all),
      request: (...all) => log.request(...all),
    },
  });
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

Deno.test("explainRequest() tells what one that was given up waited for, and of no run that held it", () => {
  const model = staticChain({ cells: letters(4) });
  const log = loggedOf(graph({ batchSizeMax: 1 }), [
    { model, input: {}, arrivalNs: 0 },
    { model, input: {}, arrivalNs: MS, deadlineNs: 3 * MS },
    { model, input: {}, arrivalNs: MS, cancelAtNs: 2 * MS },
  ]);
  const behind = "  0 ms  on worker 0: A, B, C, D, 1 rows (the batch is full)";
  assert.deepEqual(log.explainRequest(1), [
    "graph: request 1 (ABCD) arrived at 1 ms, expired at 3 ms: 2 ms in all",
    "waited 2 ms from 1 ms on:",
    behind,
  ]);
  assert.deepEqual(log.explainRequest(2).slice(1), [
    "waited 1 ms from 1 ms on:",
    behind,
  ]);
});

Deno.test("the cells of a tail are told, and that a policy gave no reason", () => {
  const model = seq2seq({
    ...{ hidden: 2, sourceVocabulary: 4 },
    weights: shapesOnly(),
  });
  const [encoder, decoder] = model.cells as [Cell, Cell];
  const inner = serial();
  const log = loggedOf({
    ...inner,
    schedule(view) {
      const decision = inner.schedule(view);
      if (decision.kind !== "launch") return decision;
      const { worker, release, steps, tail } = decision.launch;
      assert.deepEqual(tail?.cells, [decoder]);
      const launch = {
        ...{ worker, release, tail },
        steps: steps.filter(({ cell }) => cell === encoder),
      } as unknown as Launch;
      return { kind: "launch", launch };
    },
  }, [{ model, input: { tokens: [1] }, arrivalNs: 0, stepsFixed: 2 }]);
  assert.deepEqual(log.explainRequest(0), [
    "serial: request 0 (seq2seq) arrived at 0 ms, done at 3 ms: 3 ms in all",
    "at 0 ms in launch 0 on worker 0: encoder, decoder, 1 rows (no reason given)",
  ]);
});

/** A chain of so many steps for each request. */
function chains(
  policy: Policy,
  requests: readonly (readonly [came: number, steps: number])[],
): DecisionLog {
  const model = lstm({ hidden: 2, vocabulary: 4, weights: shapesOnly() });
  return loggedOf(
    policy,
    requests.map(([came, steps]) => ({
      model,
      input: { tokens: new Array<number>(steps).fill(0) },
      arrivalNs: came * MS,
    })),
  );
}

Deno.test("explainRequest() tells how long a batch held the results of a short request", () => {
  const log = chains(graph({ batchSizeMax: 2 }), [[0, 1], [0, 3]]);
  assert.deepEqual(log.explainRequest(0), [
    "graph: request 0 (lstm) arrived at 0 ms, done at 3 ms: 3 ms in all",
    "at 0 ms in launch 0 on worker 0: lstm_step, 2 rows (the batch is full)",
    "held 2 ms until 3 ms, the end of its run",
  ]);
  assert.equal(log.explainRequest(1).length, 2);
});

Deno.test("explainRequest() tells behind what a launch was queued on its worker", () => {
  const log = chains(late({ pushAhead: 2 }), [[0, 3], [0.5, 3]]);
  const lines = log.explainRequest(1);
  line(lines, "waited 0.5 ms from 0.5 ms on:");
  const at = lines.indexOf(
    line(lines, "at 1 ms in launch 2 on worker 0: lstm_step, 2 rows"),
  );
  assert.equal(lines[at + 1], "queued 1 ms from 1 ms on, behind launch 1");
});

Deno.test("rows of a launch are rows, of which a tree has several", () => {
  const model = treeLstm({ hidden: 2, vocabulary: 4 });
  const tree = completeTree(4);
  const arrivals = [{ model, input: { tree }, arrivalNs: 0 }];
  const told = loggedOf(cellular(), arrivals).explainRequest(0).slice(1);
  assert.deepEqual(told.map((line) => line.split(" (")[0].slice(8)), [
    "in launch 0 on worker 0: tree_leaf, 4 rows of 1 request",
    "in launch 1 on worker 0: tree_node, 2 rows of 1 request",
    "in launch 2 on worker 0: tree_node, 1 rows",
  ]);
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

/** What a log was told: launches of requests, with the end of each task; and requests from arrival to end. */
function told(
  { launches, requests, waits = [], limits }: {
    launches: readonly {
      at: number;
      of: readonly number[];
      ends: readonly number[];
      tail?: readonly number[];
      notes?: Launch["notes"];
    }[];
    requests: readonly (readonly [id: number, came: number, left: number])[];
    waits?: readonly (readonly [at: number, until: number, why: string])[];
    limits?: DecisionLogLimits;
  },
): DecisionLog {
  const log = new DecisionLog("own", limits);
  launches.forEach(({ at, of, ends, tail, notes }, id) => {
    const owned = (id: number) => ({ id });
    const launch = {
      worker: 0,
      steps: [{
        cell: { name: "A" },
        nodes: of.map((id) => ({ graph: { owner: owned(id) } })),
      }],
      ...(tail && { tail: { requests: tail.map(owned) } }),
      ...(notes && { notes }),
      release: "step",
      why: `launch of ${[...of, ...tail ?? []].join()}`,
    } as unknown as Launch;
    log.decided(at * MS, launch, id);
    ends.forEach((end, k) => {
      log.task(
        undefined as unknown as Task,
        {
          ...{ launchId: id, endNs: end * MS },
          startNs: (ends[k - 1] ?? at) * MS,
          requests: [...of, ...tail ?? []],
        } as unknown as TaskRecord,
      );
    });
  });
  for (const [at, until, why] of waits) log.waited(at * MS, until * MS, why);
  for (const [id, came, left] of requests) {
    log.request(
      undefined as unknown as Request,
      {
        ...{ id, model: "m", arrivalNs: came * MS, endNs: left * MS },
        outcome: "done",
      } as RequestRecord,
    );
  }
  return log;
}

Deno.test("explainRequest() tells each gap with what was decided in it, and nothing of others", () => {
  const log = told({
    launches: [
      { at: 0, of: [0], ends: [1, 3] },
      {
        at: 3,
        of: [0, 1],
        ends: [5],
        notes: [{ op: "merge", requests: [1], why: "at A" }],
      },
      { at: 5, of: [9], ends: [6] },
      { at: 7, of: [0], ends: [8] },
    ],
    waits: [[0.5, 1, "before it came"], [2, 3, "for more"]],
    requests: [[0, 0, 9], [1, 1, 5]],
  });
  assert.deepEqual(log.explainRequest(0), [
    "own: request 0 (m) arrived at 0 ms, done at 9 ms: 9 ms in all",
    "at 0 ms in launch 0 on worker 0: A, 1 rows (launch of 0)",
    "at 3 ms in launch 1 on worker 0: A, 2 rows (launch of 0,1)",
    "waited 2 ms from 5 ms on:",
    "  5 ms  on worker 0: A, 1 rows (launch of 9)",
    "at 7 ms in launch 3 on worker 0: A, 1 rows (launch of 0)",
    "held 1 ms until 9 ms, the end of its run",
  ]);
  assert.deepEqual(log.explainRequest(1), [
    "own: request 1 (m) arrived at 1 ms, done at 5 ms: 4 ms in all",
    "waited 2 ms from 1 ms on:",
    "  0 ms  on worker 0: A, 1 rows (launch of 0)",
    "  2 ms  wait until 3 ms: for more",
    "at 3 ms merge of 1: at A",
    "at 3 ms in launch 1 on worker 0: A, 2 rows (launch of 0,1)",
  ]);
});

Deno.test("explainRequest() tells decisions in their order, twelve of them, and counts the others", () => {
  const waits = Array.from(
    { length: 15 },
    (_, i) =>
      [i < 12 ? i : 12 + i / 100, 20, `wait ${Math.min(i, 12)}`] as const,
  );
  const log = told({
    launches: [
      { at: 3.5, of: [1], ends: [4] },
      { at: 20, of: [0], ends: [21] },
    ],
    waits,
    requests: [[0, 0, 21], [1, 3, 4]],
  });
  const lines = log.explainRequest(0).slice(2, -1);
  assert.deepEqual(
    lines.slice(3, 6).map((text) => text.split("  ")[1]),
    ["3 ms", "3.5 ms", "4 ms"],
  );
  // Of 16 decisions 12 lines: the 13th of the waits is there three times.
  assert.equal(lines.length, 13);
  assert.equal(lines[12], "  and 4 decisions more");
});

Deno.test("explainBatch() names who was there, and nobody who had left or was to come", () => {
  const log = told({
    launches: [{ at: 3, of: [0], ends: [5] }, { at: 4, of: [3], ends: [6] }],
    requests: [[0, 0, 5], [1, 1, 2], [2, 4, 9], [3, 2, 6]],
  });
  assert.deepEqual(log.explainBatch(0).slice(1), [
    "  request 3 waited, since 2 ms in the system",
  ]);
});

Deno.test("who follows in a launch's tail is in the launch", () => {
  const log = told({
    launches: [{ at: 1, of: [0], tail: [1], ends: [2] }],
    requests: [[0, 0, 2], [1, 0, 2]],
  });
  assert.deepEqual(log.launches.get(0)?.requests, [0, 1]);
  assert.match(log.explainRequest(1).join("\n"), /in launch 0/);
});

Deno.test("a log with limits forgets the oldest", () => {
  const log = told({
    limits: { requestsMax: 2, decisionsMax: 2 },
    launches: [0, 1, 2].map((at) => ({ at, of: [at], ends: [at + 1] })),
    waits: [[0, 1, "a"], [1, 2, "b"], [2, 3, "c"]],
    requests: [0, 1, 2].map((id) => [id, id, id + 1] as const),
  });
  assert.deepEqual([...log.launches.keys()], [1, 2]);
  assert.deepEqual([...log.requests.keys()], [1, 2]);
  assert.deepEqual([...log.waits].map(({ why }) => why), ["b", "c"]);
});

Deno.test("of a request whose launches are forgotten no wait is told, and that they are", () => {
  const log = told({
    limits: { decisionsMax: 2 },
    launches: [0, 1, 2, 4].map((at) => ({ at, of: [0], ends: [at + 1] })),
    requests: [[0, 0, 5], [1, 1, 2], [2, 3, 5]],
  });
  assert.deepEqual(log.explainRequest(0).slice(1), [
    "launches that ran until 2 ms are forgotten",
    "at 2 ms in launch 2 on worker 0: A, 1 rows (launch of 0)",
    "waited 1 ms from 3 ms on:",
    "at 4 ms in launch 3 on worker 0: A, 1 rows (launch of 0)",
  ]);
  assert.deepEqual(log.explainRequest(1).slice(1), [
    "launches that ran until 2 ms are forgotten",
  ]);
  // Nothing that is forgotten ran when it came.
  assert.match(log.explainRequest(2)[1], /^held 2 ms until 5 ms/);
});

Deno.test("DecisionLog refuses limits that are not", () => {
  assert.throws(
    () => new DecisionLog("own", { requestsMax: 0 }),
    {
      name: "RangeError",
      message: '"requestsMax" is a positive integer, or Infinity, got 0',
    },
  );
  assert.throws(
    () => new DecisionLog("own", { requests: 5 } as never),
    {
      name: "TypeError",
      message:
        'DecisionLog has no option "requests"; it takes requestsMax, decisionsMax',
    },
  );
});
