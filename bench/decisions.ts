/**
 * What a decision costs: time of `Policy.schedule` alone, while more and more requests run and one more
 * has just arrived, so that there is something to decide. Nothing is executed and no engine is between.
 * Launching a batch lists its rows, which is linear; here the decision launches the newcomer alone.
 *
 * LazyBatching looks at the top of its stack (section VI-D: O(1)). E2bird's authors keep M live workers in
 * a red-black tree: O(log M) a decision, O(M log M) when the load changes and the tree is built anew
 * (sections 7.2.2, 7.3.3). Here sizes are powers of two and a count and a bit per size do
 * (src/policy/e2bird/idle_workers.ts): a decision takes the highest bit that fits, however many workers
 * there are, and a change of load looks at every size once. So both are flat in M, which is below what
 * the paper states and not a growth that the measurement misses: the benchmark has as many live workers
 * as running requests, all of size 1, and e-ebird changes its configuration at every decision. What is
 * left of growth at thousands of requests is memory that no cache holds.
 *
 * `auto` and the rivals launch whoever they can: the requests run on one worker, and the newcomer is for another. Of
 * `auto` 64 run at most, as nobody beyond the first 192 is looked at, of `length-sorted` those that are planned, under
 * `aimd` one; the others wait, and more than the newcomer may be launched.
 *
 *     deno task bench:decisions [--json]
 */
import { taskSettings } from "../src/cli/options.ts";
import { CellGraph, NODE } from "../src/graph/cell_graph.ts";
import { defineCell, f32 } from "../src/graph/cell_builder.ts";
import type { Model } from "../src/graph/model.ts";
import type { Launch } from "../src/policy/launch.ts";
import type { Policy } from "../src/policy/policy.ts";
import { dvabatch } from "../src/policy/dvabatch/dvabatch.ts";
import { eEbird } from "../src/policy/e2bird/e_ebird.ts";
import { POLICIES } from "../src/policy/registry.ts";
import { lazy, oracle } from "../src/policy/lazybatching/lazy.ts";
import { nEbird } from "../src/policy/e2bird/n_ebird.ts";
import type { Request } from "../src/policy/request.ts";
import { tensor } from "../src/tensor/tensor.ts";

const HELP = `bench:decisions [--json]

What a decision of each policy costs while more and more requests run.

  --json            the figures as JSON
`;

const { json } = taskSettings({
  name: "bench:decisions",
  help: HELP,
  options: { json: { type: "boolean", default: false } },
}, ({ values }) => values);

const RUNNING = [1, 4, 16, 64, 256, 1024, 4096];
/** Requests that are made for a point, about. */
const REQUESTS = 40_000;
const ROUNDS_MIN = 25;
const ROUNDS_MAX = 500;

const weight = tensor([1, 1], new Float32Array([1]));

/** A static network: a chain of layers. */
function network(layers: number): Model<unknown> {
  const cells = Array.from({ length: layers }, (_, i) =>
    defineCell({
      name: `layer${i}`,
      inputs: { x: f32(1) },
      body: (op, { x }) => ({ y: op.Gemm(x, weight) }),
    }));
  return {
    name: "static",
    cells,
    shape: "chain",
    check: (_input): asserts _input is unknown => {},
    unfold(_input, graph) {
      let x = graph.row(graph.rows([0]), 0, 1);
      for (const cell of cells) x = graph.output(graph.node(cell, { x }), "y");
    },
  };
}

let ids = 0;

function request(model: Model): Request {
  const graph = new CellGraph<Request>(model);
  model.unfold({}, graph);
  const made: Request = {
    id: ids++,
    model,
    graph,
    arrivalNs: 0,
    deadlineNs: Infinity,
    finishNs: Infinity,
    tag: undefined,
  };
  graph.owner = made;
  return made;
}

/** As far as a policy can tell, the launch is done. */
function complete(policy: Policy, launch: Launch): void {
  for (const [id, { cell, nodes }] of launch.steps.entries()) {
    for (const node of nodes) node.state = NODE.done;
    policy.completed?.({
      id,
      launchId: 0,
      worker: launch.worker,
      cell,
      nodes,
      padding: 0,
      padsDone: false,
      paddedLength: 0,
    }, 1);
  }
  policy.finished?.(launch);
}

interface Case {
  readonly name: string;
  build(running: number): Policy;
  /** Workers of the device. */
  readonly workers: (running: number) => number;
  /** What runs is in the middle of it, so that the newcomer is for a worker that is idle. */
  readonly isUnderWay?: boolean;
  /** Most that run; the others wait. Default: all of them. */
  readonly runsAtMost?: number;
}

/** A run lists its steps, which is linear in them and no decision. */
const LAYERS = 4;

const profile = () => 1000;
const wide = { profile, slaNs: 1e15, batchSizeMax: 8192 };
const maxInf = 8192;

const CASES: readonly Case[] = [
  { name: "lazy", build: () => lazy(wide), workers: () => 1 },
  {
    name: "lazy, refused",
    // Asked of an empty table too, so that one runs and the others wait: a refused batch would list all its rows.
    build: () => lazy({ ...wide, slaNs: 1, emptyTable: "check" }),
    workers: () => 1,
  },
  { name: "oracle", build: () => oracle(wide), workers: () => 1 },
  {
    name: "dvabatch",
    build: () => dvabatch({ profile, batchSizeMax: 8192, compWaitNs: 1e15 }),
    workers: () => 4,
  },
  {
    name: "n-ebird",
    build: (running) =>
      nEbird({ workers: new Array(running + 1).fill(1), maxInf }),
    workers: (running) => running + 4,
  },
  {
    name: "e-ebird",
    build: (running) =>
      eEbird({
        configurations: {
          [running]: [running],
          [running + 1]: [running + 1, 1],
        },
        maxInf,
        // Of what is pending there is one, now and then.
        memState: "unanswered",
      }),
    workers: (running) => running + 4,
  },
  ...[
    { policy: "auto", slaNs: 1e15, batchSizeMax: 64 },
    {
      ...{ policy: "auto", name: "auto, no target" },
      ...{ slaNs: Infinity, batchSizeMax: 64 },
    },
    {
      ...{ policy: "auto", name: "auto, one runs" },
      ...{ slaNs: 1e15, batchSizeMax: 1 },
    },
    { policy: "iteration" },
    { policy: "token-budget" },
    { policy: "length-sorted", runsAtMost: 1024 },
    { policy: "shortest-first" },
    { policy: "earliest-deadline" },
    // Nobody waits for company, as all are late.
    { policy: "deferred" },
    { policy: "aimd", runsAtMost: 1 },
  ].map((
    { policy, slaNs = 1000, batchSizeMax = 8192, ...rest },
  ): Case => ({
    name: policy,
    build: () => {
      const { build, options } = POLICIES[policy];
      return build({
        ...("batchSizeMax" in options && { batchSizeMax }),
        ...("tokensMax" in options && { tokensMax: 8192 }),
        ...("profile" in options && { profile }),
        ...("slaNs" in options && { slaNs }),
      });
    },
    workers: () => 2,
    isUnderWay: true,
    runsAtMost: batchSizeMax,
    ...rest,
  })),
];

/** A policy with `running` requests under way and one more that has just arrived. */
function prepare(
  { name, build, workers, isUnderWay = false, runsAtMost = Infinity }: Case,
  model: Model,
  running: number,
) {
  const policy = build(running);
  const view = {
    nowNs: 0,
    workers: Array.from(
      { length: workers(running) },
      (_, id) => ({ id, queued: 0 }),
    ),
  };
  for (let i = 0; i < running; i++) policy.enqueue(request(model));
  const launches: Launch[] = [];
  for (;;) {
    const decision = policy.schedule(view);
    if (decision.kind !== "launch") break;
    launches.push(decision.launch);
    view.workers[decision.launch.worker].queued++;
    if (isUnderWay) policy.submitted?.(decision.launch);
    const rows = decision.launch.steps[0].nodes.length;
    if (isUnderWay && rows !== Math.min(running, runsAtMost)) {
      throw new Error(`${name} runs ${rows} of ${running} requests`);
    }
    if (view.workers.length === 1 || isUnderWay) break;
  }
  // What runs node by node stands at a boundary; what runs as a whole goes on.
  const isElastic = launches.length === running && running > 1;
  for (const launch of launches) {
    if (isUnderWay || (launch.release === "end" && isElastic)) continue;
    view.workers[launch.worker].queued--;
    complete(policy, launch);
  }
  policy.enqueue(request(model));
  return { policy, view };
}

/** Median time of a decision, microseconds. */
function measure(each: Case, running: number): number {
  const model = network(LAYERS);
  const times: number[] = [];
  const rounds = Math.min(
    ROUNDS_MAX,
    Math.max(ROUNDS_MIN, Math.floor(REQUESTS / running)),
  );
  for (let round = 0; round < rounds; round++) {
    const { policy, view } = prepare(each, model, running);
    // Making thousands of requests leaves nothing in the caches that serving would have there.
    const other = prepare(each, model, 1);
    other.policy.schedule(other.view);
    const startMs = performance.now();
    const { kind } = policy.schedule(view);
    times.push((performance.now() - startMs) * 1000);
    if (kind !== "launch") {
      throw new Error(`${each.name} was to launch something, not to ${kind}`);
    }
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

for (const each of CASES) measure(each, 16);
const results = CASES.map((each) => ({
  policy: each.name,
  us: RUNNING.map((running) => measure(each, running)),
}));
if (json) {
  console.log(JSON.stringify({ running: RUNNING, results }));
} else {
  console.log("microseconds per decision (median), by running requests");
  console.log(
    ["".padEnd(18), ...RUNNING.map((n) => String(n).padStart(8))].join(""),
  );
  for (const { policy, us } of results) {
    console.log(
      policy.padEnd(18) + us.map((t) => t.toFixed(2).padStart(8)).join(""),
    );
  }
  console.log(
    "n-ebird, e-ebird: the papers state O(log M) and O(M log M) for a red-black tree of M live\n" +
      "workers; a count per power of two makes both flat in M (see the head of bench/decisions.ts)",
  );
}
