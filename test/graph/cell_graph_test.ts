import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import { CellGraph, NODE } from "../../src/graph/cell_graph.ts";

const join = defineCell({
  name: "join",
  inputs: { a: f32(2), b: f32(2) },
  body: (op, { a, b }) => ({ sum: op.Add(a, b), id: op.ArgMax(a) }),
});
const embed = defineCell({
  name: "embed",
  inputs: { id: i32() },
  body: (op) => ({ row: op.Constant([1, 2]) }),
});
const model = { name: "test", cells: [join, embed] };

function diamond() {
  const graph = new CellGraph(model);
  const ids = graph.ids([3, 4]);
  const left = graph.node(embed, { id: graph.id(ids, 0) });
  const right = graph.node(embed, { id: graph.id(ids, 1) });
  const top = graph.node(join, {
    a: graph.output(left, "row"),
    b: graph.output(right, "row"),
  });
  const twice = graph.node(join, {
    a: graph.output(top, "sum"),
    b: graph.output(top, "sum"),
  });
  return { graph, left, right, top, twice };
}

Deno.test("what a request brings is copied, also where its own slice copies nothing", () => {
  const bytes = Buffer.from([1, 2, 3]);
  const brought = new CellGraph(model).data(bytes);
  bytes.fill(9);
  assert.deepEqual(brought.data, Uint8Array.of(1, 2, 3));
});

Deno.test("CellGraph knows the neighbours of a node, each once", () => {
  const { graph, left, right, top, twice } = diamond();
  assert.deepEqual(graph.nodes.map(({ index }) => index), [0, 1, 2, 3]);
  assert.equal(graph.remaining, 4);
  assert.deepEqual(left.predecessors, []);
  assert.deepEqual(top.predecessors, [left, right]);
  assert.deepEqual(twice.predecessors, [top]);
  assert.deepEqual(top.successors, [twice]);
  assert.deepEqual(twice.successors, []);
});

Deno.test("CellNode is ready for a worker when its inputs are done or queued on that worker", () => {
  const { left, right, top } = diamond();
  assert(left.readyFor(0));
  assert(!top.readyFor(0));
  left.state = NODE.done;
  assert(!top.readyFor(0));
  right.state = NODE.submitted;
  right.worker = 1;
  assert(!right.readyFor(1), "submitted already");
  assert(top.readyFor(1));
  assert(!top.readyFor(0), "queued on another worker");
  right.state = NODE.done;
  assert(top.readyFor(0));
  right.state = NODE.void;
  assert(!top.readyFor(0));
});

Deno.test("CellGraph refuses inputs that are missing, or of another type or width than the port", () => {
  const graph = new CellGraph(model);
  const ids = graph.ids([1]);
  const rows = graph.rows([1, 2, 3]);
  const a = graph.zeros(2);
  assert.throws(() => graph.node(join, { a }), {
    name: "TypeError",
    message: 'A node of cell "join" lacks its input "b"',
  });
  assert.throws(() => graph.node(join, { a, b: graph.zeros(3) }), {
    name: "TypeError",
    message: 'Input "b" of cell "join" is f32[2], got zeros[3]',
  });
  assert.throws(() => graph.node(join, { a, b: graph.row(rows, 0, 3) }), {
    name: "TypeError",
    message: 'Input "b" of cell "join" is f32[2], got f32[3]',
  });
  assert.throws(() => graph.node(join, { a, b: graph.id(ids, 0) }), {
    name: "TypeError",
    message: 'Input "b" of cell "join" is f32[2], got i32[1]',
  });
  assert.throws(() => graph.node(embed, { id: graph.row(rows, 0, 1) }), {
    name: "TypeError",
    message: 'Input "id" of cell "embed" is i32[1], got f32[1]',
  });
  const node = graph.node(join, { a, b: a });
  assert.throws(
    () => graph.node(join, { a, b: graph.output(node, "id") }),
    {
      name: "TypeError",
      message: 'Input "b" of cell "join" is f32[2], got i32[1]',
    },
  );
  assert.equal(graph.nodes.length, 1, "nothing was appended");
});

Deno.test("CellGraph refuses rows outside the data that a request brings", () => {
  const graph = new CellGraph(model);
  const ids = graph.ids([7, 8]);
  const rows = graph.rows([1, 2, 3, 4, 5]);
  for (const index of [2, -1, 0.5, NaN]) {
    assert.throws(() => graph.node(embed, { id: graph.id(ids, index) }), {
      name: "RangeError",
      message: `Input "id" of cell "embed" is row ${index} of data that hold 2`,
    });
    assert.throws(
      () =>
        graph.node(join, {
          a: graph.zeros(2),
          b: graph.row(rows, index, 2),
        }),
      {
        name: "RangeError",
        message: `Input "b" of cell "join" is row ${index} of data that hold 2`,
      },
    );
  }
  graph.node(embed, { id: graph.id(ids, 1) });
});

Deno.test("CellGraph refuses cells that the model does not list", () => {
  const graph = new CellGraph({ name: "forgetful", cells: [embed] });
  assert.throws(
    () => graph.node(join, { a: graph.zeros(2), b: graph.zeros(2) }),
    {
      name: "TypeError",
      message: 'Cell "join" is not listed in the cells of model "forgetful"',
    },
  );
});

Deno.test("CellGraph refuses nodes of another request", () => {
  const { top } = diamond();
  const graph = new CellGraph(model);
  assert.throws(
    () =>
      graph.node(join, {
        a: graph.zeros(2),
        b: graph.output(top, "sum"),
      }),
    {
      name: "TypeError",
      message: 'Input "b" of cell "join" belongs to another request\'s graph',
    },
  );
});

Deno.test("CellGraph collects the rows of a result in order, all of one type and width", () => {
  const { graph, left, right, top } = diamond();
  graph.collect("rows", graph.output(right, "row"));
  graph.collect("rows", graph.output(left, "row"));
  const { port, collected, sources } = graph.results.get("rows")!;
  assert.deepEqual([port.dtype, port.width, collected], ["f32", 2, true]);
  assert.deepEqual(sources.map(({ node }) => node), [right, left]);
  assert.deepEqual(right.keptPorts, [0]);
  assert.deepEqual(top.keptPorts, []);
  assert.throws(() => graph.collect("rows", graph.output(top, "id")), {
    name: "TypeError",
    message: 'Result "rows" is f32[2], got a row i32[1]',
  });
  graph.result("id", graph.output(top, "id"));
  assert.equal(graph.results.get("id")!.collected, false);
  assert.throws(() => graph.result("id", graph.output(top, "id")), {
    name: "TypeError",
    message:
      'A request to "test" has result "id" already; graph.collect() makes rows of one result',
  });
  assert.throws(() => graph.collect("id", graph.output(top, "id")), {
    name: "TypeError",
    message:
      'Result "id" is one row, given by graph.result(); nothing can be added to it',
  });
  assert.throws(() => graph.output(top, "row"), {
    name: "TypeError",
    message: 'Cell "join" has no output "row"',
  });
});

Deno.test("CellGraph grows by a positive number of steps that keep a whole number of elements", () => {
  const graph = new CellGraph(model);
  assert(graph.closed);
  graph.grows(5, 3);
  assert(!graph.closed);
  assert.deepEqual([graph.stepsMax, graph.keptPerStep], [5, 3]);
  for (const steps of [0, -1, 1.5, Infinity]) {
    assert.throws(() => graph.grows(steps), {
      name: "RangeError",
      message:
        `A growing graph takes at least one step, got a limit of ${steps}`,
    });
  }
  for (const kept of [-1, 0.5, NaN]) {
    assert.throws(() => graph.grows(1, kept), {
      name: "RangeError",
      message: `A growing step keeps a whole number of elements, got ${kept}`,
    });
  }
});
