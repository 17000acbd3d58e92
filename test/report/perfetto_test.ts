import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import type { Launch } from "../../src/policy/launch.ts";
import type { RequestRecord, TaskRecord } from "../../src/policy/records.ts";
import { perfettoTrace, type TraceEvent } from "../../src/report/perfetto.ts";
import { TraceRecorder } from "../../src/report/trace_recorder.ts";
import { lazy } from "../../src/policy/lazybatching/lazy.ts";
import {
  letters,
  simulateStatic,
  staticChain,
} from "../policy/static_chain.ts";
import { propertyRuns } from "../property_runs.ts";

function task(
  id: number,
  startNs: number,
  endNs: number,
  requests: readonly number[],
  worker = 0,
): TaskRecord {
  return {
    id,
    launchId: id,
    worker,
    cell: "step",
    rows: requests.length,
    padding: 0,
    speculative: 0,
    startNs,
    endNs,
    requests,
  };
}

function request(
  id: number,
  arrivalNs: number,
  startNs: number,
  endNs: number,
): RequestRecord {
  return {
    id,
    model: "lstm",
    arrivalNs,
    startNs,
    endNs,
    deadlineNs: Infinity,
    finishNs: Infinity,
    outcome: "done",
    nodes: 2,
  };
}

function record(
  requests: readonly RequestRecord[],
  tasks: readonly TaskRecord[],
  requestsMax?: number,
): TraceRecorder {
  const recorder = new TraceRecorder(requestsMax);
  for (const each of tasks) recorder.task(undefined, each);
  for (const each of requests) recorder.request(undefined, each);
  return recorder;
}

function eventsOf(trace: string): TraceEvent[] {
  return (JSON.parse(trace) as { traceEvents: TraceEvent[] }).traceEvents;
}

/** Every slice of a run with its depth; fails where begins and ends do not nest. */
function slices(events: readonly TraceEvent[], pid = 1) {
  const tracks = new Map<number, string>();
  const open = new Map<number, { name: string; fromUs: number }[]>();
  const found: {
    track: string;
    name: string;
    fromUs: number;
    toUs: number;
    depth: number;
  }[] = [];
  let last = new Map<number, number>();
  for (const event of events) {
    if (event.pid !== pid) continue;
    const { ph, tid, ts } = event;
    if (ph === "C" || ph === "i") continue;
    if (ph === "M") {
      if (event.name === "thread_name") {
        tracks.set(tid, event.args!["name"] as string);
        last = last.set(tid, -Infinity);
      }
      continue;
    }
    const stack = open.get(tid) ?? [];
    open.set(tid, stack);
    ok(ts! >= last.get(tid)!, `track ${tid} goes back in time`);
    last.set(tid, ts!);
    if (ph === "B") {
      stack.push({ name: event.name!, fromUs: ts! });
    } else {
      const begun = stack.pop();
      ok(begun !== undefined, "an end without a begin");
      found.push({
        track: tracks.get(tid)!,
        ...begun,
        toUs: ts!,
        depth: stack.length,
      });
    }
  }
  for (const stack of open.values()) deepEqual(stack, []);
  return found;
}

Deno.test("perfettoTrace() shows a request join a batch, swim along and leave", () => {
  const trace = perfettoTrace([{
    name: "cellular, low",
    recorder: record(
      [request(1, 2500, 4000, 6000), request(0, 1000, 2000, 8000)],
      [
        task(0, 2000, 4000, [0]),
        task(1, 4000, 6000, [0, 1]),
        task(2, 6000, 8000, [0, 1]),
      ],
    ),
  }]);
  deepEqual(slices(eventsOf(trace)), [
    { track: "worker 0", name: "step", fromUs: 1, toUs: 3, depth: 0 },
    { track: "worker 0", name: "step", fromUs: 3, toUs: 5, depth: 0 },
    { track: "worker 0", name: "step", fromUs: 5, toUs: 7, depth: 0 },
    { track: "request 0", name: "queued", fromUs: 0, toUs: 1, depth: 1 },
    { track: "request 0", name: "step (1 rows)", fromUs: 1, toUs: 3, depth: 1 },
    { track: "request 0", name: "step (2 rows)", fromUs: 3, toUs: 5, depth: 1 },
    { track: "request 0", name: "step (2 rows)", fromUs: 5, toUs: 7, depth: 1 },
    { track: "request 0", name: "request 0", fromUs: 0, toUs: 7, depth: 0 },
    // Its last row lay behind its end and does not show.
    { track: "request 1", name: "queued", fromUs: 1.5, toUs: 3, depth: 1 },
    { track: "request 1", name: "step (2 rows)", fromUs: 3, toUs: 5, depth: 1 },
    { track: "request 1", name: "request 1", fromUs: 1.5, toUs: 5, depth: 0 },
  ]);
});

Deno.test("perfettoTrace() names runs and gives rows, padding and requests of a task", () => {
  const recorder = record([request(0, 0, 0, 9)], [{
    ...task(0, 0, 9, [0]),
    padding: 3,
  }]);
  const events = eventsOf(
    perfettoTrace([{ name: "a", recorder }, { name: "b", recorder }]),
  );
  deepEqual(
    events.filter(({ name }) => name === "process_name").map((
      { pid, args },
    ) => [pid, args!["name"]]),
    [[1, "a"], [2, "b"]],
  );
  const begun = events.find(({ ph, tid, pid }) =>
    ph === "B" && tid === 0 && pid === 2
  )!;
  deepEqual(begun.args, {
    rows: 1,
    padding: 3,
    speculative: 0,
    launch: 0,
    requests: "0",
  });
});

Deno.test("perfettoTrace() puts rows of one request that run side by side on tracks of their own", () => {
  const recorder = record([request(0, 0, 0, 100)], [
    task(0, 0, 60, [0, 0], 0),
    task(1, 30, 90, [0], 1),
    task(2, 90, 100, [0], 1),
  ]);
  const found = slices(eventsOf(perfettoTrace([{ name: "tree", recorder }])));
  deepEqual(
    found.filter(({ track }) => track.startsWith("request")).map((
      { track, name },
    ) => [track, name]),
    [
      ["request 0", "step (2 rows)"],
      ["request 0", "step (1 rows)"],
      ["request 0", "request 0"],
      ["request 0, side by side 1", "step (1 rows)"],
    ],
  );
});

Deno.test("perfettoTrace() has a request's tasks as they began, whoever was told of them first", () => {
  const recorder = record([request(0, 0, 10, 90)], [
    task(0, 50, 90, [0], 1),
    task(1, 10, 50, [0], 0),
  ]);
  const found = slices(eventsOf(perfettoTrace([{ name: "a", recorder }])));
  deepEqual(
    found.filter(({ track, name }) =>
      track.startsWith("request") && name.startsWith("step")
    ).map(({ track, fromUs }) => [track, fromUs]),
    [["request 0", 0.01], ["request 0", 0.05]],
  );
});

Deno.test("perfettoTrace() shows one that never began as queued until it was given up", () => {
  const recorder = record([request(0, 0, NaN, 2000)], []);
  const found = slices(eventsOf(perfettoTrace([{ name: "a", recorder }])));
  deepEqual(
    found.map(({ name, fromUs, toUs }) => [name, fromUs, toUs]),
    [["queued", 0, 2], ["request 0", 0, 2]],
  );
});

Deno.test("perfettoTrace() shows one that was given up during its first task as queued until that began", () => {
  const recorder = record([request(0, 0, NaN, 2000)], [
    task(0, 1500, 2500, [0]),
  ]);
  const found = slices(eventsOf(perfettoTrace([{ name: "a", recorder }])));
  deepEqual(
    found.filter(({ track }) => track === "request 0")
      .map(({ name, fromUs, toUs }) => [name, fromUs, toUs]),
    [["queued", 0, 1.5], ["step (1 rows)", 1.5, 2], ["request 0", 0, 2]],
  );
});

Deno.test("TraceRecorder keeps the reason of a launch that its requests only follow in", () => {
  const recorder = new TraceRecorder(1);
  const launch = (id: number) =>
    ({
      ...{ worker: 0, steps: [], release: "end", why: "the batch is full" },
      tail: { requests: [{ id }] },
    }) as unknown as Launch;
  recorder.decided(0, launch(0), 0);
  recorder.decided(0, launch(1), 1);
  deepEqual([...recorder.reasons.keys()], [0]);
});

Deno.test("perfettoTrace() counts the requests that wait, those too that it does not show", () => {
  const recorder = record(
    [
      request(0, 0, 1000, 9000),
      request(1, 500, 3000, 4000),
      // Not shown, but in the way of the others; the last after all is over.
      request(2, 1000, 2000, 9000),
      request(3, 1500, NaN, 2500),
      request(4, 9500, 9600, 9900),
    ],
    [],
    2,
  );
  const counts = eventsOf(perfettoTrace([{ name: "a", recorder }])).filter((
    { ph },
  ) => ph === "C");
  deepEqual(
    counts.map(({ name, ts, args }) => [name, ts, args!["requests"]]),
    [
      [0, 1],
      [0.5, 2],
      [1, 2],
      [1.5, 3],
      [2, 2],
      [2.5, 1],
      [3, 0],
    ].map(([ts, depth]) => ["queue depth", ts, depth]),
  );
});

Deno.test("perfettoTrace() says where it stops and how much of the run it shows", () => {
  const all = Array.from(
    { length: 1000 },
    (_, id) => request(id, 10 * id, 10 * id, 10 * id + 5),
  );
  const trace = perfettoTrace([
    { name: "part", recorder: record(all, []) },
    { name: "all", recorder: record(all.slice(0, 200), []) },
  ]);
  const { otherData } = JSON.parse(trace);
  deepEqual(otherData.runs, [
    { name: "part", requests: 1000, requestsShown: 200 },
    { name: "all", requests: 200, requestsShown: 200 },
  ]);
  const said = eventsOf(trace).filter(({ ph, name }) =>
    ph === "i" || name === "process_labels"
  );
  const part = "first 200 of 1,000 requests";
  deepEqual(said.map(({ pid, name, ts, args }) => [pid, name, ts, args]), [
    [1, "process_labels", undefined, { labels: part }],
    [1, `the trace stops here: ${part}`, 2, undefined],
  ]);
});

Deno.test("perfettoTrace() gives every task the reason of its launch, and the policy's notes", () => {
  const recorder = new TraceRecorder(2);
  const MS = 1_000_000;
  simulateStatic(
    lazy({ slaNs: 1000 * MS, profile: () => MS }),
    [staticChain({ cells: letters(4) })],
    [0, 2, 20].map((at) => ({ arrivalNs: at * MS })),
    {
      cost: { latencyNs: () => MS },
      observer: {
        decided: (...all) => recorder.decided(...all),
        task: (...all) => recorder.task(...all),
        request: (...all) => recorder.request(...all),
      },
    },
  );
  const begun = eventsOf(perfettoTrace([{ name: "lazy", recorder }])).filter((
    { ph, tid },
  ) => ph === "B" && tid === 0);
  equal(begun.length, 6);
  for (const { ts, args } of begun) {
    ok(typeof args!["why"] === "string" && args!["why"] !== "");
    ok(args!["decidedUs"] as number <= ts!);
  }
  const notes = begun.flatMap(({ args }) => args!["notes"] ?? []).join("; ");
  match(notes, /preempt of 1: slack/);
  match(notes, /merge of 1: at node C/);
  // The launches of the third request are not kept.
  equal(recorder.reasons.size, 6);
});

Deno.test("TraceRecorder keeps the first requests and the tasks they are in", () => {
  const tasks = [task(0, 0, 1, [0]), task(1, 1, 2, [2]), task(2, 2, 3, [1, 2])];
  const recorder = record(
    [0, 1, 2].map((id) => request(id, 0, id, 9)),
    tasks,
    2,
  );
  deepEqual(recorder.requests.map(({ id }) => id), [0, 1]);
  deepEqual(recorder.tasks.map(({ id }) => id), [0, 2]);
  throws(() => new TraceRecorder(0), /got 0/);
});

Deno.test("perfettoTrace() nests on every track, whatever the run", () => {
  const run = fc.array(
    fc.record({
      worker: fc.nat(2),
      startNs: fc.nat(5000),
      tookNs: fc.nat(400),
      requests: fc.array(fc.nat(7), { minLength: 1, maxLength: 5 }),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(run, (drawn) => {
      const freeNs = [0, 0, 0];
      const tasks = drawn.map(({ worker, startNs, tookNs, requests }, id) => {
        const from = Math.max(startNs, freeNs[worker]);
        freeNs[worker] = from + tookNs;
        return task(id, from, from + tookNs, requests, worker);
      });
      const requests = Array.from({ length: 8 }, (_, id) => {
        const own = tasks.filter(({ requests }) => requests.includes(id));
        const startNs = own.length === 0
          ? NaN
          : Math.min(...own.map((each) => each.startNs));
        return request(
          id,
          0,
          startNs,
          Math.max(3000, ...own.map((each) => each.endNs)) - (id % 2) * 500,
        );
      });
      const inTime = requests.filter(({ startNs, endNs }) =>
        !(startNs > endNs)
      );
      const found = slices(
        eventsOf(
          perfettoTrace([{ name: "any", recorder: record(inTime, tasks) }]),
        ),
      );
      equal(
        found.filter(({ track }) => track.startsWith("worker")).length,
        tasks.length,
      );
      equal(
        found.filter(({ name }) => name.startsWith("request")).length,
        inTime.length,
      );
    }),
    { numRuns: propertyRuns(200) },
  );
});
