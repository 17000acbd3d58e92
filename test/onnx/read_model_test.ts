/** What is read of a model: names, order, attributes, functions; and what is refused. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { attributeOf } from "../../src/onnx/ir.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  bytes,
  encode,
  integer,
  message,
  text,
  type WireMessage,
} from "./wire.ts";
import {
  node,
  writeModel,
  type WrittenGraph,
  type WrittenModel,
  type WrittenNode,
} from "./write_model.ts";

const LABEL = "m.onnx";

function read(model: WrittenModel) {
  return readModel(writeModel(model), { label: LABEL });
}

function readGraph(graph: WrittenGraph) {
  return read({ graph }).graph;
}

const X = { name: "x", dims: ["batch", 3, null] };

Deno.test("readModel() refuses what is no option", () => {
  const file = writeModel({ graph: { inputs: [X], outputs: [X], nodes: [] } });
  assert.throws(
    () => readModel(file, { files: () => undefined } as never),
    {
      name: "TypeError",
      message: 'readModel() has no option "files"; it takes label, external',
    },
  );
  assert.throws(
    () => readModel(file, { external: {} } as never),
    { name: "TypeError", message: '"external" is a function, got {}' },
  );
});

Deno.test("a pointer that Git LFS leaves in a file's place is told from a file that is none", () => {
  const pointer = "version https://git-lfs.github.com/spec/v1\n" +
    `oid sha256:${"4d".repeat(32)}\nsize 12345\n`;
  const refusal = (text: string, message: RegExp) =>
    assert.throws(
      () => readModel(new TextEncoder().encode(text), { label: LABEL }),
      message,
    );
  refusal(pointer, /^OnnxError: Cannot load m.onnx: Git LFS .* git lfs pull$/);
  refusal(pointer.slice(0, 20), /it is cut off or no ONNX file/);
});

Deno.test("a model has what its file says", () => {
  const axes = plainOf("int64", [1], [1]);
  const model = read({
    graph: {
      name: "main",
      inputs: [X, { name: "open" }, { name: "i", type: "int64", dims: [] }],
      outputs: [{ name: "y", type: "float16", dims: [-1, 0] }],
      initializers: { axes },
      nodes: [{
        ...node("Op", ["x", "", "axes"], ["y", ""], {
          float: { float: 0.5 },
          int: -(2 ** 63),
          string: "straße",
          floats: { floats: [0.25, -1] },
          ints: [-1, 2 ** 40],
          strings: { strings: ["a", ""] },
          tensor: { tensor: axes },
        }),
        name: "the node",
        domain: "a.domain",
      }],
      values: [{ name: "y", type: "int32", dims: [1] }],
    },
    opsets: { "ai.onnx": 17, "a.domain": 3 },
    metadata: { key: "value" },
  });
  assert.deepEqual(model, {
    label: LABEL,
    irVersion: 9,
    producer: "a test",
    opsets: new Map([["", 17], ["a.domain", 3]]),
    metadata: new Map([["key", "value"]]),
    notes: ['1 tensor or value of float16 as float32, the first "y"'],
    graph: {
      name: "main",
      inputs: [
        { name: "x", type: "float32", dims: ["batch", 3, null] },
        { name: "open", type: "float32", dims: null },
        { name: "i", type: "int64", dims: [] },
      ],
      outputs: [{ name: "y", type: "float32", dims: [null, 0] }],
      initializers: new Map([["axes", axes]]),
      captured: [],
      declared: new Map([["y", { name: "y", type: "int32", dims: [1] }]]),
      nodes: [{
        name: "the node",
        op: "Op",
        domain: "a.domain",
        version: 3,
        inputs: ["x", "", "axes"],
        outputs: ["y", ""],
        attributes: new Map<string, unknown>([
          ["float", { kind: "float", value: 0.5 }],
          ["int", { kind: "int", value: -(2 ** 63) }],
          ["string", { kind: "string", value: "straße" }],
          ["floats", { kind: "floats", value: [0.25, -1] }],
          ["ints", { kind: "ints", value: [-1, 2 ** 40] }],
          ["strings", { kind: "strings", value: ["a", ""] }],
          ["tensor", { kind: "tensor", value: axes }],
        ]),
      }],
    },
  } as unknown);
});

Deno.test("numbers of an attribute may be packed, and an absent one is its kind's zero", () => {
  const attributes = (fields: WireMessage) =>
    readModel(
      encode([
        integer(1, 9),
        message(8, [integer(2, 20)]),
        message(7, [
          message(1, [
            text(2, "y"),
            text(4, "Op"),
            message(5, [text(1, "a"), ...fields]),
          ]),
          message(12, [text(1, "y")]),
        ]),
      ]),
    ).graph.nodes[0].attributes.get("a");
  assert.deepEqual(
    attributes([integer(20, 7), bytes(8, Uint8Array.of(1, 2)), integer(8, 3)]),
    { kind: "ints", value: [1, 2, 3] },
  );
  const zeros = { 1: 0, 2: 0, 3: "", 6: [], 7: [], 8: [] };
  for (const [type, value] of Object.entries(zeros)) {
    assert.deepEqual(attributes([integer(20, Number(type))])?.value, value);
  }
  // As before kinds were written.
  assert.deepEqual(attributes([integer(3, 4)]), { kind: "int", value: 4 });
});

Deno.test("nodes are put in an order in which they can run, the file's where that is one", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat(), { maxLength: 3 }), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.infiniteStream(fc.nat()),
      (inputs, order) => {
        const sorted = inputs.map((chosen, i) =>
          node(
            "Op",
            chosen.map((k) => i === 0 ? "x" : `v${k % i}`),
            [`v${i}`],
          )
        );
        const graph = (nodes: WrittenNode[]) =>
          readGraph({ inputs: [X], outputs: [{ name: "v0" }], nodes });
        const outputs = graph(sorted).nodes.map((each) => each.outputs[0]);
        assert.deepEqual(outputs, sorted.map((each) => each.outputs[0]));

        const shuffled = sorted.map((each) => ({
          each,
          key: order.next().value,
        }))
          .sort((a, b) => a.key - b.key).map(({ each }) => each);
        const seen = new Set(["x"]);
        const { nodes } = graph(shuffled);
        assert.equal(nodes.length, sorted.length);
        for (const each of nodes) {
          for (const name of each.inputs) assert(seen.has(name), name);
          each.outputs.forEach((name) => seen.add(name));
        }
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("a node waits for what the graphs inside it read", () => {
  const branch: WrittenGraph = {
    outputs: [{ name: "inner" }],
    nodes: [node("Op", ["late"], ["inner"])],
  };
  const { nodes } = readGraph({
    inputs: [X],
    outputs: [{ name: "y" }],
    nodes: [
      node("If", ["x"], ["y"], {
        then_branch: { graph: branch },
        else_branch: { graph: branch },
      }),
      node("Op", ["x"], ["late"]),
    ],
  });
  assert.deepEqual(nodes.map(({ op }) => op), ["Op", "If"]);
  const attribute = nodes[1].attributes.get("else_branch");
  assert(attribute?.kind === "graph");
  assert.deepEqual(attribute.value.captured, ["late"]);
});

Deno.test("names of nodes are made up where they lack, and unique", () => {
  const { nodes } = readGraph({
    inputs: [X],
    outputs: [{ name: "c" }],
    nodes: [
      { ...node("Op", ["x"], ["a"]), name: "n" },
      { ...node("Op", ["x"], ["b"]), name: "n" },
      node("Op", ["x"], ["c"]),
    ],
  });
  assert.deepEqual(nodes.map(({ name }) => name), ["n", "n#2", "Op:c"]);
});

Deno.test("values of graphs inside have names of their own", () => {
  const branch = (read: string): WrittenGraph => ({
    outputs: [{ name: "y" }],
    initializers: { c: plainOf("float32", [], [1]) },
    nodes: [node("Add", [read, "c"], ["y"])],
    values: [{ name: "y", dims: [2] }],
  });
  const { nodes: [found] } = readGraph({
    inputs: [X],
    outputs: [{ name: "y" }],
    nodes: [
      node("If", ["x"], ["y"], {
        then_branch: { graph: branch("x") },
        else_branch: { graph: branch("c") },
      }),
    ],
  });
  assert.deepEqual(found.outputs, ["y"]);
  const [then, otherwise] = ["then_branch", "else_branch"].map((name) =>
    attributeOf(found, name, "graph")!
  );
  assert.deepEqual(then.captured, ["x"]);
  assert.deepEqual(then.nodes[0].inputs, ["x", "c"]);
  assert.deepEqual(then.nodes[0].outputs, ["y#2"]);
  assert.deepEqual(then.outputs.map(({ name }) => name), ["y#2"]);
  assert.deepEqual(otherwise.captured, []);
  assert.deepEqual([...otherwise.initializers.keys()], ["c#2"]);
  assert.deepEqual(otherwise.nodes[0].inputs, ["c#2", "c#2"]);
  assert.deepEqual([...otherwise.declared.keys()], ["y#3"]);
});

Deno.test("initializers are no inputs, and the model says which inputs had values", () => {
  const graph = {
    inputs: [X, { name: "w" }],
    outputs: [{ name: "y" }],
    initializers: { w: plainOf("float32", [1], [1]) },
    nodes: [node("Add", ["x", "w"], ["y"])],
  };
  const model = read({ graph });
  assert.deepEqual(model.graph.inputs.map(({ name }) => name), ["x"]);
  assert.deepEqual(model.notes, [
    '1 inputs have values in the file and are taken as constants, the first "w"',
  ]);
  assert.deepEqual(read({ graph, irVersion: 3 }).notes, []);
});

Deno.test("functions are put in place of their calls, with the caller's values and attributes", () => {
  const model = read({
    graph: {
      inputs: [X],
      outputs: [{ name: "y" }, { name: "same" }],
      nodes: [
        {
          ...node("Outer", ["x"], ["y", "same"], { alpha: { float: 2 } }),
          domain: "f",
          name: "call",
        },
      ],
    },
    opsets: { "": 20, f: 1 },
    functions: [{
      name: "Outer",
      domain: "f",
      inputs: ["a", "left out"],
      outputs: ["b", "a"],
      attributes: ["alpha"],
      defaults: { beta: { float: 3 } },
      opsets: { "": 18, f: 1 },
      nodes: [
        { ...node("Inner", ["a", "left out"], ["t"]), domain: "f" },
        { ...node("Inner", ["t"], ["u"]), domain: "f" },
        node("Last", ["u"], ["b"], {
          alpha: { reference: "alpha", type: 1 },
          beta: { reference: "beta", type: 1 },
          gamma: { reference: "gamma", type: 1 },
          body: {
            graph: {
              outputs: [{ name: "o" }],
              nodes: [node("Op", ["t"], ["o"])],
            },
          },
        }),
      ],
    }, {
      name: "Inner",
      domain: "f",
      inputs: ["a", "b"],
      outputs: ["t"],
      nodes: [node("Op", ["a", "b"], ["t"])],
    }],
  });
  const [first, second, last, passed] = model.graph.nodes;
  assert.equal(model.graph.nodes.length, 4);
  assert.deepEqual([first.op, first.inputs, first.version], [
    "Op",
    ["x", ""],
    20,
  ]);
  assert.deepEqual(second.inputs, [first.outputs[0], ""]);
  assert.notEqual(first.outputs[0], second.outputs[0]);
  assert.deepEqual([last.inputs, last.outputs, last.version], [
    second.outputs,
    ["y"],
    18,
  ]);
  assert.deepEqual([passed.op, passed.inputs, passed.outputs], [
    "Identity",
    ["x"],
    ["same"],
  ]);
  const { attributes } = last;
  assert.deepEqual([...attributes.keys()], ["alpha", "beta", "body"]);
  assert.equal(attributes.get("alpha")?.value, 2);
  assert.equal(attributes.get("beta")?.value, 3);
  const body = attributes.get("body");
  assert(body?.kind === "graph");
  assert.deepEqual(body.value.captured, first.outputs);
});

Deno.test("what a call says of an attribute goes before what its function says", () => {
  const calls: Record<string, { float: number }>[] = [
    { alpha: { float: 2 } },
    {},
  ];
  const alphas = calls.map((attributes) =>
    read({
      graph: {
        inputs: [X],
        outputs: [{ name: "y" }],
        nodes: [{ ...node("F", ["x"], ["y"], attributes), domain: "f" }],
      },
      opsets: { "": 20, f: 1 },
      functions: [{
        name: "F",
        domain: "f",
        inputs: ["a"],
        outputs: ["b"],
        defaults: { alpha: { float: 3 } },
        nodes: [
          node("Op", ["a"], ["b"], { alpha: { reference: "alpha", type: 1 } }),
        ],
      }],
    }).graph.nodes[0].attributes.get("alpha")?.value
  );
  assert.deepEqual(alphas, [2, 3]);
});

Deno.test("names inside of a function are each call's own, those of graphs within, too", () => {
  const inner = {
    inputs: [{ name: "i" }],
    outputs: [{ name: "o" }],
    nodes: [node("Op", ["i"], ["m"]), node("Op", ["m"], ["o"])],
  };
  const { nodes } = read({
    graph: {
      inputs: [X],
      outputs: [{ name: "y" }],
      // Names of nodes mean nothing, so that two may have the same.
      nodes: [
        { ...node("F", ["x"], ["t"]), domain: "f", name: "call" },
        { ...node("F", ["t"], ["y"]), domain: "f", name: "call" },
      ],
    },
    opsets: { "": 20, f: 1 },
    functions: [{
      name: "F",
      domain: "f",
      inputs: ["a"],
      outputs: ["b"],
      nodes: [
        node("Op", ["a"], ["mid"]),
        node("Loop", ["mid"], ["b"], { body: { graph: inner } }),
      ],
    }],
  }).graph;
  assert.deepEqual(nodes.map(({ op }) => op), ["Op", "Loop", "Op", "Loop"]);
  assert.deepEqual(nodes[1].inputs, nodes[0].outputs);
  assert.deepEqual(nodes[2].inputs, nodes[1].outputs);
  assert.deepEqual(nodes[3].inputs, nodes[2].outputs);
  for (const { attributes } of [nodes[1], nodes[3]]) {
    const body = attributes.get("body");
    assert(body?.kind === "graph");
    const [first, second] = body.value.nodes;
    assert.deepEqual(body.value.captured, []);
    assert.deepEqual(first.inputs, body.value.inputs.map(({ name }) => name));
    assert.deepEqual(second.inputs, first.outputs);
    assert.deepEqual(second.outputs, body.value.outputs.map((o) => o.name));
  }
});

Deno.test("of one domain under its two names the newest version counts", () => {
  for (const opsets of [{ "": 20, "ai.onnx": 18 }, { "ai.onnx": 20, "": 18 }]) {
    const graph = {
      inputs: [X],
      outputs: [{ name: "y" }],
      nodes: [node("Op", ["x"], ["y"])],
    };
    assert.equal(read({ graph, opsets }).graph.nodes[0].version, 20);
  }
});
