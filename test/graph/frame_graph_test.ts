/** What a frame of a stream may not be: models that contradict themselves are refused by name, when they are opened. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { defineCell, f32, i32, row } from "../../src/graph/cell_builder.ts";
import { type CellGraph, NODE } from "../../src/graph/cell_graph.ts";
import { FrameGraph } from "../../src/graph/frame_graph.ts";
import type { InputData } from "../../src/graph/input_data.ts";
import {
  defineStream,
  readRow,
  type StreamDefinition,
  type StreamModel,
} from "../../src/graph/stream_model.ts";
import type { OutputTypes } from "../../src/graph/result.ts";
import { DTYPES } from "../../src/tensor/tensor.ts";
import { assertRefuses } from "../option_refusals.ts";
import { propertyRuns } from "../property_runs.ts";

const cell = defineCell({
  name: "mixer",
  inputs: { x: f32(2), h: f32(2) },
  body: (op, { x, h }) => {
    const sum = op.Add(x, h);
    return { h: op.Tanh(sum), place: op.ArgMax(sum) };
  },
});

const SPEC = { keyWidth: 2, valueWidth: 2, positionsMax: 4 };
const cached = defineCell({
  name: "cached",
  inputs: { x: f32(2) },
  caches: { seen: SPEC },
  body: (op, { x }, { seen }) => {
    op.CacheAppend(x, x, seen);
    return { h: op.Relu(x) };
  },
});

type Given = Readonly<Record<string, InputData>>;

type Parts = Partial<StreamDefinition<string, OutputTypes>>;

function defined(parts: Parts = {}): StreamModel {
  return defineStream<string, OutputTypes>({
    name: "mixed",
    cells: [cell, cached],
    inputs: { x: f32(2) },
    states: { h: { ...f32(2), from: "h" } },
    outputs: { h: "f32" },
    frame(graph, given) {
      graph.result("h", mixed(graph, given, "h"));
    },
    ...parts,
  });
}

/** An output of a node that reads the frame and the state. */
function mixed(graph: CellGraph, { x, h }: Given, output: "h" | "place") {
  const node = graph.node(cell, {
    x: graph.row(x, 0, 2),
    h: graph.row(h, 0, 2),
  });
  return graph.output(node, output);
}

const opened = (parts: Parts) => () => new FrameGraph(defined(parts));

Deno.test("frames' graphs say which data a frame brings, which stays, and which is the model's own", () => {
  const graph = new FrameGraph(defined({
    frame(graph, { x, h }) {
      const own = graph.rows([3, 4]);
      const first = mixed(graph, { x, h }, "h");
      const node = graph.node(cell, { x: graph.row(own, 0, 2), h: first });
      graph.result("h", graph.output(node, "h"));
    },
  }));
  assert.deepEqual(graph.constants.map(({ data }) => [...data]), [[3, 4]]);
  assert.deepEqual(graph.inputs.map(({ name }) => name), ["x"]);
  assert.equal(graph.stateBytes, 8);
});

Deno.test("a frame finds the nodes as those of a fresh request are", () => {
  const frames = new FrameGraph(defined());
  const [node] = frames.graph.nodes;
  const owner = {};
  frames.begin(owner);
  Object.assign(node, {
    state: NODE.done,
    worker: 3,
    tag: "a policy's",
    pending: 2,
    next: node,
  });
  frames.graph.remaining = 0;
  frames.begin(owner);
  const { state, worker, tag, pending, next, graph } = node;
  assert.deepEqual({ state, worker, tag, pending, next }, {
    state: NODE.waiting,
    worker: -1,
    tag: undefined,
    pending: 0,
    next: undefined,
  });
  assert.equal(graph.remaining, 1);
  assert.equal(graph.owner, owner);
});

Deno.test("a frame whose steps are not known, or that has a cache, is refused", () => {
  assert.throws(
    opened({
      frame(graph, given) {
        graph.result("h", mixed(graph, given, "h"));
        graph.grows(3);
      },
    }),
    { name: "RangeError", message: /"mixed" grows: how many steps/ },
  );
  assert.throws(
    opened({
      frame(graph, { x }) {
        const seen = graph.cache(SPEC, 4);
        const node = graph.node(cached, { x: graph.row(x, 0, 2) }, {
          caches: { seen },
        });
        graph.result("h", graph.output(node, "h"));
      },
    }),
    { name: "RangeError", message: /"mixed" has a cache/ },
  );
  assert.throws(opened({ frame() {} }), /"mixed" is declared|no node at all/);
  assert.throws(
    opened({
      frame: (async () => {}) as unknown as StreamDefinition<
        string,
        OutputTypes
      >["frame"],
    }),
    {
      name: "TypeError",
      message: /"frame" of model "mixed" returned a promise/,
    },
  );
});

Deno.test("results that states and outputs are declared as are checked", () => {
  assert.throws(opened({ outputs: { h: "f32", logits: "f32" } }), {
    name: "RangeError",
    message:
      /Result "logits" of model "mixed" is declared, but a frame has none/,
  });
  assert.throws(
    opened({
      frame(graph, given) {
        graph.collect("h", mixed(graph, given, "h"));
      },
    }),
    {
      name: "TypeError",
      message: /Result "h" .* rows of a frame's own number/,
    },
  );
  assert.throws(
    opened({
      states: { h: { ...f32(3), from: "h" } },
    }),
    {
      name: "RangeError",
      message: /Result "h" .* state of f32\[3\], got f32\[2\]/,
    },
  );
  assert.throws(
    opened({
      states: {
        h: { ...f32(2), from: "h" },
        place: { ...f32(1), from: "place" },
      },
      outputs: { place: "i32" },
      frame(graph, given) {
        graph.result("h", mixed(graph, given, "h"));
        graph.result("place", mixed(graph, given, "place"));
      },
    }),
    { name: "RangeError", message: /"place" .* state of f32\[1\], got i32/ },
  );
  assert.throws(
    opened({
      states: {
        h: { ...f32(2), from: "h" },
        again: { ...f32(2), from: "again" },
      },
      frame(graph, given) {
        const h = mixed(graph, given, "h");
        graph.result("h", h);
        graph.result("again", h);
      },
    }),
    { name: "RangeError", message: /one output as two states, "again"/ },
  );
});

Deno.test("declarations that contradict themselves are refused before any frame", () => {
  const h = { ...f32(2), from: "h" };
  const refused = (parts: Parts, message: RegExp) =>
    assert.throws(() => defined(parts), { message });
  refused({ states: {} }, /"mixed" has no state/);
  refused({ states: { x: h } }, /"x" of .* is a state and an input/);
  refused({ states: { h, again: h } }, /Result "h" .* two states/);
  refused({ states: { h: { ...h, initial: new Float32Array(3) } } }, /"h"/);
  const list = [1, 2] as unknown as Float32Array;
  refused(
    { states: { h: { ...h, initial: list } } },
    /first frame of .*"mixed" brings "h", an array of f32\[2\], got \[1,2\]/,
  );
  refused({ states: { h: f32(2) as typeof h } }, /comes "from" a result/);
  refused({ states: { h: { ...h, width: 0 } } }, /is a row of elements/);
  refused({ inputs: { x: { ...i32(), width: 0.5 } } }, /is a row of elements/);
});

/** The least and the greatest of each type of integers. */
const BOUNDS = {
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  i8: [-128n, 127n],
  u8: [0n, 255n],
  bool: [0n, 1n],
} as const;

const anyNumber = fc.oneof(
  fc.integer({ min: -300, max: 300 }),
  fc.constantFrom(2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32),
  fc.double(),
);

const anyBigInt = fc.oneof(
  fc.bigInt(-3n, 3n),
  fc.bigInt(-(2n ** 64n), 2n ** 64n),
  fc.constantFrom(2n ** 63n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 63n) - 1n),
);

Deno.test("a list of numbers is the row that it says, or refused by the first one that does not fit", () => {
  const anyList = fc.constantFrom(...DTYPES).chain((dtype) =>
    fc.record({
      dtype: fc.constant(dtype),
      list: fc.array<number | bigint>(
        dtype === "i64" ? anyBigInt : anyNumber,
        { minLength: 3, maxLength: 3 },
      ),
    })
  );
  fc.assert(
    fc.property(anyList, ({ dtype, list }) => {
      const read = () => readRow("A frame", "x", row(dtype, [3]), list);
      const misfit = list.findIndex((value) => {
        if (dtype === "f32") return false;
        const [least, most] = BOUNDS[dtype];
        const isWhole = typeof value === "bigint" || Number.isInteger(value);
        return !isWhole || BigInt(value) < least || BigInt(value) > most;
      });
      if (misfit >= 0) {
        assert.throws(read, {
          name: "RangeError",
          message: new RegExp(`"x", ${dtype}\\[3\\], got .* at ${misfit}$`),
        });
        return;
      }
      const expected = dtype === "f32" ? list.map(Math.fround as never) : list;
      const taken: readonly (number | bigint)[] = [...read()];
      // 0 and -0 are one integer.
      const isSame = dtype === "f32"
        ? Object.is
        : (a: unknown, b: unknown) => a === b;
      assert(taken.every((value, i) => isSame(value, expected[i])));
    }),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("defineStream() names what a definition does not have, or has of another type", async () => {
  const good = {
    name: "mixed",
    cells: [cell],
    inputs: { x: f32(2) },
    states: { h: { ...f32(2), from: "h" } },
    outputs: { h: "f32" },
    frame() {},
  };
  const missing = (field: string, what: string) => ({
    with: { [field]: undefined },
    name: "TypeError" as const,
    message: `"${field}" is ${what}, got undefined`,
  });
  await assertRefuses(good, defineStream, [
    {
      with: { state: {} },
      name: "TypeError",
      message:
        'defineStream() has no option "state"; it takes name, cells, shape, inputs, states, outputs, frame',
    },
    {
      with: { shape: "tree" },
      name: "RangeError",
      message: '"shape" is one of chain, dag, got "tree"',
    },
    missing("name", "a string"),
    missing("cells", "an array"),
    missing("inputs", "an object"),
    missing("states", "an object"),
    missing("outputs", "an object"),
    missing("frame", "a function"),
  ]);
});
