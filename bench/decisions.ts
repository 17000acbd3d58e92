/**
 * What a decision costs: time of `Policy.schedule` alone, while more and more requests run and one more
 * has just arrived, so that there is something to decide. Nothing is executed and no engine is between.
 * LazyBatching looks at the top of its stack (section VI-D: O(1)); launching a batch lists its rows, which
 * is linear and counted apart.
 *
 *     deno run -A bench/decisions.ts [--json]
 */
import { CellGraph, NODE } from "../src/graph/cell_graph.ts";
import { defineCell, f32 } from "../src/graph/cell_builder.ts";
import type { Model } from "../src/graph/model.ts";
import type { Launch } from "../src/policy/launch.ts";
import type { Policy } from "../src/policy/policy.ts";
import { dvabatch } from "../src/policy/dvabatch.ts";
import { eEbird } from "../src/policy/e_ebird.ts";
import { lazy, oracle } from "../src/policy/lazy.ts";
import { nEbird } from "../src/policy/n_ebird.ts";
import type { Request } from "../src/policy/request.ts";
import { tensor } from "../src/tensor/tensor.ts";

const ROUNDS = 300;
const RUNNING = [1, 4, 16, 64, 256];

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
  const graph = new CellGraph(model);
  model.unfold({}, graph);
  const made: Request = {
    id: ids++,
    model,
    graph,
    arrivalNs: 0,
    deadlineNs: Infinity,
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
    });
  }
  policy.finished?.(launch);
}

interface Case {
  readonly name: string;
  /** Layers of its network: a run lists its steps, which is linear in them and no decision. */
  readonly layers: number;
  build(running: number): Policy;
  /** Workers of the device, of which the first is idle at the decision. */
  readonly workers: (running: number) => number;
}

const profile = () => 1000;
const sizes = (running: number) =>
  [1, 1, 2, 4, 8, 16, 32, 64, 128].filter((s) => s <= Math.max(2, running));
const wide = { profile, slaNs: 1e15, batchSizeMax: 4096 };

const CASES: readonly Case[] = [
  { name: "lazy", layers: 50, build: () => lazy(wide), workers: () => 1 },
  {
    name: "lazy, refused",
    layers: 50,
    build: () => lazy({ ...wide, slaNs: 1 }),
    workers: () => 1,
  },
  { name: "oracle", layers: 50, build: () => oracle(wide), workers: () => 1 },
  {
    name: "dvabatch",
    layers: 4,
    build: () => dvabatch({ profile, batchSizeMax: 4096, compWaitNs: 1e15 }),
    workers: () => 4,
  },
  {
    name: "n-ebird",
    layers: 1,
    build: (running) => nEbird({ workers: sizes(running), maxInf: 4096 }),
    workers: () => 512,
  },
  {
    name: "e-ebird",
    layers: 1,
    build: () =>
      eEbird({
        configurations: {
          4: [0, 0, 1],
          64: [0, 0, 0, 2, 1, 1],
          512: [0, 0, 0, 0, 0, 4, 4],
        },
        maxInf: 4096,
      }),
    workers: () => 512,
  },
];

/** Median time of a decision with one request more than `running`, microseconds. */
function measure({ build, workers, layers }: Case, running: number): number {
  const model = network(layers);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
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
      view.workers[decision.launch.worker]!.queued++;
    }
    // What runs node by node stands at a boundary; what runs as a whole goes on.
    for (const launch of launches) {
      if (launch.release === "end" && launches.length > 1) continue;
      view.workers[launch.worker]!.queued--;
      complete(policy, launch);
    }
    policy.enqueue(request(model));
    const startMs = performance.now();
    const decision = policy.schedule(view);
    const tookMs = performance.now() - startMs;
    if (decision.kind === "wait") {
      throw new Error("nothing was to be waited for");
    }
    if (round >= ROUNDS / 3) times.push(tookMs * 1000);
  }
  return times.sort((a, b) => a - b)[times.length >> 1]!;
}

const results = CASES.map((each) => ({
  policy: each.name,
  us: RUNNING.map((running) => measure(each, running)),
}));
if (Deno.args.includes("--json")) {
  console.log(JSON.stringify({ running: RUNNING, results }));
} else {
  console.log("microseconds per decision (median), by running requests");
  console.log(
    ["".padEnd(14), ...RUNNING.map((n) => String(n).padStart(8))].join(""),
  );
  for (const { policy, us } of results) {
    console.log(
      policy.padEnd(14) + us.map((t) => t.toFixed(2).padStart(8)).join(""),
    );
  }
}
