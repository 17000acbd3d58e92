/** What keeps a request to its own data and within bounds: whose a source is, when a graph is open, how large it gets. */
import assert from "node:assert/strict";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import {
  CellGraph,
  type NodeOutput,
  type Source,
} from "../../src/graph/cell_graph.ts";
import { NODES_MAX_CEILING } from "../../src/graph/nodes_max.ts";

const SPEC = { keyWidth: 2, valueWidth: 2, positionsMax: 4 };
const embed = defineCell({
  name: "embed",
  inputs: { id: i32() },
  body: (op) => ({ row: op.Constant([1, 2]) }),
});
const take = defineCell({
  name: "take",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Relu(x) }),
});
const keep = defineCell({
  name: "keep",
  inputs: { x: f32(2) },
  caches: { seen: SPEC },
  body: (op, { x }, { seen }) => {
    op.CacheAppend(x, x, seen);
    return { y: op.Relu(x) };
  },
});
const ragged = defineCell({
  name: "ragged",
  tokensMax: 3,
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Relu(x) }),
});
const model = { name: "test", cells: [embed, take, keep, ragged] };

Deno.test("CellGraph refuses data, caches and results of another request", () => {
  const other = new CellGraph(model);
  const [ids, rows] = [other.ids([1]), other.rows([1, 2])];
  const cache = other.cache(SPEC, 2);
  const node = other.node(take, { x: other.row(rows, 0, 2) });
  const graph = new CellGraph(model);
  graph.node(take, { x: graph.zeros(2) });
  const foreign: [() => unknown, string | RegExp][] = [
    [
      () => graph.node(embed, { id: graph.id(ids, 0) }),
      /^Input "id" of cell "embed" reads data of another request's graph/,
    ],
    [
      () => graph.node(take, { x: graph.row(rows, 0, 2) }),
      /^Input "x" of cell "take" reads data of another request's graph/,
    ],
    [
      () =>
        graph.node(keep, { x: graph.zeros(2) }, { caches: { seen: cache } }),
      'Cache "seen" of cell "keep" belongs to another request\'s graph',
    ],
    [
      () => graph.result("y", other.output(node, "y")),
      'Result "y" belongs to another request\'s graph',
    ],
  ];
  for (const [append, message] of foreign) {
    assert.throws(append, { name: "TypeError", message });
  }
  assert.equal(graph.nodes.length, 1);
  assert.equal(graph.results.size, 0);
  assert.deepEqual(node.keptPorts, []);
});

Deno.test("CellGraph refuses sources made by hand that name nothing of the request", () => {
  const graph = new CellGraph(model);
  const rows = graph.rows([1, 2, 3, 4]);
  const node = graph.node(take, { x: graph.zeros(2) });
  const long = graph.node(ragged, { x: graph.row(rows, 0, 2) }, { length: 2 });
  const sources: unknown[] = [
    null,
    5,
    {},
    { kind: "other" },
    { kind: "x".repeat(1e6) },
    new Proxy({}, {}),
    { kind: "node" },
    { kind: "node", node: 5, port: 0 },
    { kind: "node", node: { ...node }, port: 0 },
    ...[1, -1, 0.5, NaN, "0", undefined].map((port) => ({
      kind: "node",
      node,
      port,
    })),
    ...[0, -1, "0", null].map((token) => ({
      kind: "node",
      node,
      port: 0,
      token,
    })),
    ...[2, -1, 0.5, NaN, "0", 0n].map((token) => ({
      kind: "node",
      node: long,
      port: 0,
      token,
    })),
    ...[2, -1, 0.5, NaN, "0", 0n, Symbol()].map((index) => ({
      kind: "input",
      data: rows,
      index,
      width: 2,
    })),
    { kind: "input", data: rows, index: 0, width: 1 },
    { kind: "input", data: { ...rows }, index: 0, width: 2 },
    { kind: "input", data: new Float32Array(4), index: 0, width: 2 },
    { kind: "input", index: 0, width: 2 },
    { kind: "zeros", width: "2" },
  ];
  for (const source of sources) {
    for (
      const append of [
        () => graph.node(take, { x: source as Source }),
        () => graph.result("y", source as NodeOutput),
      ]
    ) {
      assert.throws(append, (error: Error) => {
        assert(error instanceof TypeError || error instanceof RangeError);
        assert.match(error.message, /^(Input "x" of cell "take"|Result "y") /);
        return error.message.length < 300;
      });
    }
  }
  for (const seen of [{ ...graph.cache(SPEC, 2) }, 5, null]) {
    assert.throws(
      () =>
        graph.node(keep, { x: graph.zeros(2) }, {
          caches: { seen: seen as ReturnType<typeof graph.cache> },
        }),
      { name: "TypeError", message: /is one that graph\.cache made, got / },
    );
  }
  assert.equal(graph.nodes.length, 2);
});

Deno.test("CellGraph copies the lists that a request brings, and refuses what is none", () => {
  const graph = new CellGraph(model);
  const memory = new Int32Array(new SharedArrayBuffer(8));
  const { data } = graph.ids(memory);
  memory[0] = 7;
  assert.deepEqual(data, new Int32Array(2));
  let length = 2;
  const growing = new Proxy([1, 2], {
    get: (list, key) =>
      key === "length" ? length *= 1000 : Reflect.get(list, key) ?? 0,
  });
  assert.equal(graph.rows(growing).data.length, 2000);
  for (const values of [5, "12", null, undefined, {}, { length: -1 }, 9n]) {
    assert.throws(() => graph.ids(values as unknown as number[]), {
      name: "TypeError",
      message: /^A request brings lists of numbers, got /,
    });
  }
  assert.throws(() => graph.ids({ length: 2 ** 31 }), {
    name: "RangeError",
    message: /brings up to 1073741824 numbers at once, got 2147483648/,
  });
});

Deno.test("what is no number, or an id that does not fit, is refused by its place", () => {
  const graph = new CellGraph(model);
  for (const none of ["1", undefined, null, 1n, true, [1]]) {
    for (const bring of ["ids", "rows"] as const) {
      assert.throws(() => graph[bring]([1, none as never]), {
        name: "TypeError",
        message: /^A request brings (ids of 32 bits|numbers), got .* at 1$/,
      });
    }
  }
  for (const id of [2 ** 31, -(2 ** 31) - 1, 2 ** 32 + 1, 0.5, NaN, Infinity]) {
    assert.throws(() => graph.ids([id, 1]), {
      name: "RangeError",
      message: `A request brings ids of 32 bits, got ${id} at 0`,
    });
  }
  const most = [2 ** 31 - 1, -(2 ** 31), -0];
  assert.deepEqual([...graph.ids(most).data], [2 ** 31 - 1, -(2 ** 31), 0]);
  const floats = [NaN, -Infinity, 0.5];
  assert.deepEqual([...graph.rows(floats).data], floats);
});

Deno.test("CellGraph is complete once it is sealed", () => {
  const graph = new CellGraph(model);
  const rows = graph.rows([1, 2]);
  const node = graph.node(take, { x: graph.row(rows, 0, 2) });
  graph.seal();
  const calls: (() => unknown)[] = [
    () => graph.node(take, { x: graph.output(node, "y") }),
    () => graph.result("y", graph.output(node, "y")),
    () => graph.ids([1]),
    () => graph.rows([1]),
    () => graph.cache(SPEC, 1),
    () => graph.grows(2),
  ];
  for (const call of calls) {
    assert.throws(call, {
      name: "TypeError",
      message:
        'The graph of a request to "test" is complete: a model appends to it while unfold or grow runs',
    });
  }
  assert.deepEqual(
    [graph.nodes.length, graph.inputs.length, graph.caches.length],
    [1, 1, 0],
  );
  assert(graph.closed);
});

Deno.test("CellGraph takes nodes and results, but no data, while it grows", () => {
  const graph = new CellGraph(model);
  const node = graph.node(take, { x: graph.zeros(2) });
  graph.seal();
  const brings: Record<string, () => unknown> = {
    ids: () => graph.ids([1]),
    rows: () => graph.rows([1]),
    cache: () => graph.cache(SPEC, 1),
    grows: () => graph.grows(2),
  };
  graph.growing(() => {
    const next = graph.node(take, { x: graph.output(node, "y") });
    graph.collect("y", graph.output(next, "y"));
    assert.throws(() => graph.result("z", graph.output(next, "y")), {
      name: "TypeError",
      message:
        'Model "test" calls graph.result() in grow: a step may turn out to lie behind the end, ' +
        "so graph.collect() takes rows of steps",
    });
    for (const [method, call] of Object.entries(brings)) {
      assert.throws(call, {
        name: "TypeError",
        message: new RegExp(
          `^Model "test" calls graph\\.${method}\\(\\) in grow: data, caches and growth`,
        ),
      });
    }
  });
  assert.equal(graph.nodes.length, 2);
  const fails = () => {
    throw new Error("of grow");
  };
  assert.throws(() => graph.growing(fails), { message: "of grow" });
  assert.throws(() => graph.node(take, { x: graph.zeros(2) }), {
    message: /is complete/,
  });
});

Deno.test("CellGraph takes as many nodes as the model allows", () => {
  const graph = new CellGraph({ ...model, nodesMax: 3 });
  const append = () => graph.node(take, { x: graph.zeros(2) });
  for (let i = 0; i < 3; i++) append();
  assert.throws(append, {
    name: "RangeError",
    message:
      'A request to "test" takes more than 3 nodes, the model\'s "nodesMax"; bring less at once, or raise it',
  });
  assert.equal(graph.nodes.length, 3);
  new CellGraph({ ...model, nodesMax: NODES_MAX_CEILING });
  for (const nodesMax of [0, -1, 1.5, NaN, NODES_MAX_CEILING + 1, "9"]) {
    assert.throws(
      () => new CellGraph({ ...model, nodesMax: nodesMax as number }),
      {
        name: "RangeError",
        message:
          /^"nodesMax" of model "test" is an integer from 1 to 16777214, got /,
      },
    );
  }
});
