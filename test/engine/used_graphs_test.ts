/** Graphs of requests that are over, used again by models that say what their requests bring. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import type {
  ActiveRequest,
  Ending,
} from "../../src/engine/core/active_request.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveTimeline } from "../../src/engine/virtual/virtual_driver.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { type CellGraph, CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Launch } from "../../src/policy/launch.ts";
import { IDLE, type Policy } from "../../src/policy/policy.ts";
import type { NodeOf } from "../../src/policy/request.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { kernels, type RunOptions, runPaired } from "./harness.ts";

const NS = 1000;

const double = defineCell({
  name: "double",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});
const shift = defineCell({
  name: "shift",
  inputs: { x: f32(2), by: f32(2) },
  body: (op, { x, by }) => ({ y: op.Add(x, by) }),
});

/** Twice x, and as much more as is the same for all requests; and the graphs that it was unfolded into. */
function model(
  brings: Model<number[]>["brings"] = (
    x,
  ) => [undefined, Float32Array.from(x)],
): { model: Model<number[]>; graphs: CellGraph[] } {
  const graphs: CellGraph[] = [];
  return {
    graphs,
    model: {
      name: "twice",
      cells: [double, shift],
      shape: "chain",
      check() {},
      brings,
      unfold(x, graph) {
        graphs.push(graph);
        const by = graph.row(graph.rows([100, 200]), 0, 2);
        const twice = graph.node(double, { x: graph.row(graph.rows(x), 0, 2) });
        const y = graph.node(shift, { x: graph.output(twice, "y"), by });
        graph.result("y", graph.output(y, "y"));
      },
    },
  };
}

const answer = ([a, b]: number[]) =>
  tensor([2], Float32Array.of(2 * a + 100, 2 * b + 200));

/** Requests at given times, all of which have to be right. */
function run(
  { model, policy, inputs, ...options }:
    & { model: Model<number[]>; inputs: [atNs: number, x: number[]][] }
    & Pick<RunOptions, "policy" | "observer" | "workers">,
): void {
  const { endings } = runPaired({
    ...options,
    models: [model],
    policy,
    cost: constantCost(NS),
    arrivals: inputs.map(([arrivalNs, input]) => ({ model, input, arrivalNs })),
  });
  endings.forEach((ending, i) =>
    assert.deepEqual(ending?.result, { y: answer(inputs[i][1]) })
  );
}

/** One request behind the other, each when the one before is over. */
const inTurn = (count: number) =>
  Array.from(
    { length: count },
    (_, i): [number, number[]] => [5 * NS * i, [i, -i]],
  );

Deno.test("a request has the graph of one that is over, with what it brings itself", () => {
  const { model: twice, graphs } = model();
  run({ model: twice, policy: cellular(), inputs: inTurn(20) });
  assert.equal(graphs.length, 1);
  const [graph] = graphs;
  assert.equal(graph.owner, undefined, "what is over is not kept by its graph");
});

Deno.test("requests at once have a graph each", () => {
  const { model: twice, graphs } = model();
  const inputs = Array.from(
    { length: 12 },
    (_, i): [number, number[]] => [Math.floor(i / 4) * 5 * NS, [i, 2 * i]],
  );
  run({ model: twice, policy: cellular(), inputs });
  assert.equal(graphs.length, 4);
});

Deno.test("a graph that nobody uses again is taken apart, so that no part of it keeps the others", () => {
  const { model: { brings: _, ...twice } } = model();
  const { ask, finish } = started(twice);
  const request = ask([1, 2]);
  const { graph } = request;
  const { nodes, inputs } = graph;
  const [first, second] = nodes;
  assert.deepEqual(finish(), [{ y: answer([1, 2]) }]);
  assert.equal(request.graph.nodes.length, 0);
  assert.notEqual(request.graph, graph);
  assert.equal(graph.owner, undefined);
  assert.deepEqual([nodes.length, inputs.length], [0, 0]);
  assert.deepEqual(graph.results.get("y")!.sources, []);
  for (const node of [first, second]) {
    assert.deepEqual(partsOf(node).filter((part) => part !== node), []);
  }
});

/** Nodes that an object leads to. */
function partsOf(start: object): CellNode[] {
  const seen = new Set<object>();
  const look = (value: unknown) => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    if (ArrayBuffer.isView(value)) return;
    seen.add(value);
    for (const inside of Object.values(value)) look(inside);
  };
  look(start);
  return [...seen].filter((one) => one instanceof CellNode);
}

Deno.test("graphs are unfolded anew where a model does not say what its requests bring", () => {
  const { model: { brings: _, ...twice }, graphs } = model();
  run({ model: twice, policy: cellular(), inputs: inTurn(3) });
  assert.equal(graphs.length, 3);
});

/** An engine that is given requests to one model, and what has become of each. */
function started(
  model: Model<number[]>,
  { policy = cellular(), workers = 1, slotBytes = 2 ** 20, hasTime } = {} as {
    policy?: Policy;
    workers?: number;
    slotBytes?: number;
    hasTime?: () => boolean;
  },
) {
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    slotBytes,
    workers,
    cost: constantCost(NS),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    ...hasTime && { hasTime },
  });
  const endings: Ending[] = [];
  const ask = (
    input: number[],
    whenFull?: "wait" | "refuse",
  ): ActiveRequest =>
    engine.submit({
      model,
      input,
      arrivalNs: timeline.nowNs,
      whenFull,
      onEnd: (ending) => void endings.push(ending),
    });
  const finish = () => {
    engine.pump(timeline.nowNs);
    driveTimeline(engine, timeline);
    assert.equal(engine.active, 0);
    return endings.splice(0).map(({ result, error }) => error ?? result);
  };
  return { ask, finish };
}

const brought = (x: number[]) => [undefined, Float32Array.from(x)];

/** A list that is one of floats twice as long as it says. */
function longer(): Float32Array {
  return Object.defineProperty(new Float32Array(4), "length", { value: 2 });
}

const ANOTHER = /gave data 1 of another type or length than "unfold" brought/;
const NO_LIST = /is a list of the 2 data that "unfold" brings, got/;

const wrong: Record<string, [brings: (x: number[]) => unknown, RegExp]> = {
  "more elements": [() => [undefined, new Float32Array(3)], ANOTHER],
  "elements of another type": [() => [undefined, new Int32Array(2)], ANOTHER],
  "more elements than they say": [() => [undefined, longer()], ANOTHER],
  "no array": [() => [undefined, [1, 2]], ANOTHER],
  "what looks like an array": [
    () => [undefined, Object.create(Float32Array.prototype)],
    ANOTHER,
  ],
  "fewer data": [() => [undefined], NO_LIST],
  "more data": [(x) => [...brought(x), undefined], NO_LIST],
  "nothing": [() => {}, NO_LIST],
  "a promise": [(x) => Promise.resolve(brought(x)), NO_LIST],
  "an error": [() => {
    throw new TypeError(`"brings" of model "twice" is not in the mood`);
  }, /is not in the mood/],
};

/** What only a request finds out that is not the first one, or only the first one. */
const later: typeof wrong = {
  "nothing in place of what others bring": [
    () => [undefined, undefined],
    ANOTHER,
  ],
  "what others leave as it is": [
    (x) => [new Float32Array(2), Float32Array.from(x)],
    /gave data 0, which other requests leave as they are/,
  ],
};
const first: typeof wrong = {
  "data in another order": [
    (x) => brought(x).toReversed(),
    /gave other numbers as data 0 than "unfold" brought: they are in the order/,
  ],
};

for (
  const [what, [brings, message]] of Object.entries({ ...wrong, ...later })
) {
  Deno.test(`a request that brings ${what} is refused, and nobody else`, () => {
    const { model: twice, graphs } = model((x) =>
      x[0] < 0 ? brings(x) as [] : brought(x)
    );
    const { ask, finish } = started(twice);
    ask([1, 2]);
    assert.deepEqual(finish(), [{ y: answer([1, 2]) }]);
    assert.throws(() => ask([-1, 0]), (error) => {
      assert(error instanceof TypeError);
      assert.match(error.message, /^"brings" of model "twice" /);
      assert.match(error.message, message);
      return true;
    });
    ask([3, 4]);
    assert.deepEqual(finish(), [{ y: answer([3, 4]) }]);
    assert.equal(graphs.length, 1, "its graph is there for others");
  });
}

for (
  const [what, [brings, message]] of Object.entries({ ...wrong, ...first })
) {
  Deno.test(`a model whose first request brings ${what} is told at once`, () => {
    const { model: twice } = model((x) =>
      x[0] < 0 ? brings(x) as [] : brought(x)
    );
    const { ask, finish } = started(twice);
    assert.throws(() => ask([-1, 0]), message);
    ask([3, 4]);
    assert.deepEqual(finish(), [{ y: answer([3, 4]) }]);
  });
}

const more: Record<string, (graph: CellGraph) => void> = {
  data: (graph) => void graph.rows([1]),
  nodes: (graph) =>
    void graph.node(double, { x: graph.output(graph.nodes[1], "y") }),
};

for (const [what, add] of Object.entries(more)) {
  Deno.test(`a request that is unfolded into more ${what} than the one before is refused, while that is under way, too`, () => {
    const { model: twice } = model();
    const { ask, finish } = started({
      ...twice,
      unfold(x, graph) {
        twice.unfold(x, graph);
        if (x[0] < 0) add(graph);
      },
    });
    ask([1, 2]);
    assert.throws(
      () => ask([-1, 2]),
      /^TypeError: "brings" of model "twice" is given, but "unfold" made other nodes or brought other data/,
    );
    assert.deepEqual(finish(), [{ y: answer([1, 2]) }]);
  });
}

Deno.test("a model may submit requests while it says what one brings", () => {
  let also: (() => void) | undefined;
  const { model: twice } = model((x) => {
    const ask = also;
    also = undefined;
    ask?.();
    return brought(x);
  });
  const { ask, finish } = started(twice);
  for (let round = 0; round < 3; round++) {
    also = () => void ask([5, 6]);
    ask([1, 2]);
    assert.deepEqual(finish(), [
      { y: answer([5, 6]) },
      { y: answer([1, 2]) },
    ]);
  }
});

Deno.test("what a caller writes into its arrays once its request is taken is not seen", () => {
  const { model: twice } = model((x) => [
    undefined,
    x as unknown as Float32Array,
  ]);
  const { ask, finish } = started(twice);
  for (let round = 0; round < 3; round++) {
    const x = Float32Array.of(round, 2);
    ask(x as unknown as number[]);
    x.fill(99);
    assert.deepEqual(finish(), [{ y: answer([round, 2]) }]);
  }
});

Deno.test("who waits to be unfolded gets a used graph as anybody does, and fails alone", () => {
  const { model: twice, graphs } = model((x) =>
    x[0] < 0 ? [undefined] : brought(x)
  );
  const policy = cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 });
  const { ask, finish } = started(twice, { policy, hasTime: () => true });
  const inputs = [[0, 0], [1, 2], [3, 4], [-1, 0], [5, 6], [-1, 1], [7, 8]];
  const made: number[] = [];
  for (let round = 0; round < 3; round++) {
    for (const input of inputs) {
      const x = [...input];
      ask(x);
      x.fill(99);
    }
    const ended = finish();
    assert.deepEqual(
      ended.filter((end) => !(end instanceof Error)),
      inputs.filter(([a]) => a >= 0).map((x) => ({ y: answer(x) })),
    );
    const refused = ended.filter((end) => end instanceof Error);
    assert.equal(refused.length, 2);
    for (const { message } of refused) assert.match(message, NO_LIST);
    made.push(graphs.length);
  }
  assert.deepEqual(made, [made[0], made[0], made[0]]);
});

Deno.test("engines of one model have graphs of their own", () => {
  const { model: twice, graphs } = model();
  const [a, b] = [started(twice), started(twice)];
  for (let round = 0; round < 3; round++) {
    a.ask([round, 1]);
    b.ask([round, 2]);
    assert.deepEqual(b.finish(), [{ y: answer([round, 2]) }]);
    assert.deepEqual(a.finish(), [{ y: answer([round, 1]) }]);
  }
  assert.equal(graphs.length, 2);
});

Deno.test("nothing that a request has brought is kept with its graph, nor its graph with it", () => {
  const { model: twice } = model();
  const { ask, finish } = started(twice);
  const request = ask([1, 2]);
  const { graph } = request;
  assert.deepEqual(
    graph.inputs.map(({ data }) => [...data]),
    [[100, 200], []],
    "what is the same for all is still needed",
  );
  assert.equal(request.brought, undefined);
  finish();
  const next = ask([3, 4]);
  assert.equal(next.graph, graph);
  assert.equal(next.brought, undefined);
  assert.equal(request.graph.nodes.length, 0, "it would be another's");
  finish();
});

Deno.test("a request for which there is no room does not use a graph up", () => {
  const { model: twice, graphs } = model();
  // The smallest slot has 256.
  const { ask, finish } = started(twice, { slotBytes: 256 });
  for (let round = 0; round < 5; round++) {
    ask([round, 1]);
    assert.throws(() => ask([9, 9], "refuse"), { name: "QueueFullError" });
    assert.deepEqual(finish(), [{ y: answer([round, 1]) }]);
  }
  assert.equal(graphs.length, 2);
});

Deno.test("a request that waits for room has the graph that it is unfolded into, and what it brought", () => {
  // Its caller's own array.
  const { model: twice, graphs } = model((x) => [undefined, x as never]);
  const { ask, finish } = started(twice, { slotBytes: 256 });
  const floats = (...x: number[]) => Float32Array.from(x) as never as number[];
  const all = [[1, 2], [3, 4], [5, 6], [7, 8]];
  for (const x of all) ask(floats(...x));
  // The first of those that wait; others are unfolded when it is their turn.
  assert.equal(graphs.length, 2);
  assert.deepEqual(finish(), all.map((x) => ({ y: answer(x) })));
  assert.equal(graphs.length, 2, "of those that are over");
  ask(floats(1, 2));
  const mine = floats(3, 4);
  const request = ask(mine);
  assert.equal(request.graph, graphs[0], "which was used before");
  mine.fill(9);
  assert.deepEqual(finish(), [{ y: answer([1, 2]) }, { y: answer([3, 4]) }]);
  assert.equal(request.brought, undefined);
  assert.equal(graphs.length, 2);
});

Deno.test("graphs are used again though there is always a launch under way that the policy has not heard the end of", () => {
  const { model: twice, graphs } = model();
  const inputs = Array.from(
    { length: 40 },
    (_, i): [number, number[]] => [NS * i, [i, -i]],
  );
  // Of two nodes each, one of which is always there when another is over.
  run({ model: twice, policy: serial(), inputs, workers: 2 });
  assert(graphs.length <= 6, `${graphs.length} graphs`);
});

type Node = NodeOf<ActiveRequest>;

/** All requests that there are in one launch, node by node, and what it finds in the launch when that is over. */
function nodeByNode(): {
  policy: Policy;
  owners: [before: number[], after: number[]][];
} {
  const owners: [number[], number[]][] = [];
  let ready: Node[] = [];
  let running: { launch: Launch; ids: number[] } | undefined;
  const idsOf = ({ steps }: Launch) =>
    steps.flatMap(({ nodes }) => nodes.map(({ graph }) => graph.owner?.id));
  return {
    owners,
    policy: {
      name: "node by node",
      supports: () => undefined,
      enqueue: (request) =>
        void ready.push(...(request as ActiveRequest).graph.nodes),
      schedule() {
        if (running || ready.length === 0) return IDLE;
        const launch: Launch = {
          worker: 0,
          steps: ready.map((node) => ({ cell: node.cell, nodes: [node] })),
          release: "step",
          why: "all there is",
        };
        ready = [];
        running = { launch, ids: idsOf(launch) };
        return { kind: "launch", launch };
      },
      finished(launch) {
        owners.push([running!.ids, idsOf(launch)]);
        running = undefined;
      },
    },
  };
}

Deno.test("a policy finds the nodes of a launch as they were until it has heard of the launch's end", () => {
  const { model: twice, graphs } = model();
  const { policy, owners } = nodeByNode();
  // The first is over after two of the launch's four nodes, when the third comes.
  const inputs: [number, number[]][] = [
    [0, [1, 2]],
    [0, [3, 4]],
    [NS, [5, 6]],
    [NS, [7, 8]],
    [4 * NS, [9, 10]],
    [20 * NS, [11, 12]],
    [30 * NS, [13, 14]],
  ];
  run({ model: twice, policy, inputs });
  for (const [before, after] of owners) assert.deepEqual(after, before);
  assert(graphs.length < inputs.length, "graphs are used again then");
  const { brings: _, ...others } = twice;
  const { policy: another, owners: found } = nodeByNode();
  run({ model: others, policy: another, inputs });
  for (const [before, after] of found) assert.deepEqual(after, before);
});
