/** Models and attributes that are refused, and how. */
import assert from "node:assert/strict";
import { Place } from "../../src/onnx/place.ts";
import { FieldBudget, ProtoMessage } from "../../src/base/proto_message.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import {
  bytes,
  encode,
  integer,
  message,
  text,
  type WireMessage,
} from "./wire.ts";
import {
  modelMessage,
  node,
  writeModel,
  type WrittenGraph,
  type WrittenModel,
} from "./write_model.ts";

const LABEL = "m.onnx";
const X = { name: "x", dims: ["batch", 3, null] };
const RELU = node("Relu", ["x"], ["y"]);
const GOOD: WrittenGraph = {
  inputs: [X],
  outputs: [{ name: "y" }],
  nodes: [RELU],
};

function nested(depth: number): WrittenGraph {
  return depth === 0 ? { outputs: [{ name: "y" }], nodes: [] } : {
    outputs: [{ name: "x" }],
    nodes: [node("If", [], [], { then_branch: { graph: nested(depth - 1) } })],
  };
}

/** Functions that each call the next twice. */
function doubling(levels: number): WrittenModel {
  const call = (level: number, i: string, o: string) => ({
    ...node(`F${level}`, [i], [o]),
    domain: "f",
  });
  return {
    graph: { ...GOOD, nodes: [call(0, "x", "y")] },
    opsets: { "": 20, f: 1 },
    functions: Array.from({ length: levels }, (_, level) => ({
      name: `F${level}`,
      domain: "f",
      inputs: ["a"],
      outputs: ["c"],
      nodes: level === levels - 1
        ? [node("Relu", ["a"], ["c"])]
        : [call(level + 1, "a", "b"), call(level + 1, "b", "c")],
    })),
  };
}

/** One node that reads x and constants, of an operator set. */
function ofSet(
  opset: number,
  op: string,
  attributes: Parameters<typeof node>[3],
  constants: WrittenGraph["initializers"] = {},
): WrittenModel {
  const inputs = ["x", ...Object.keys(constants)];
  return {
    graph: {
      ...GOOD,
      initializers: constants,
      nodes: [node(op, inputs, ["y"], attributes)],
    },
    opsets: { "": opset },
  };
}

const REFUSED: Record<string, [WrittenModel | WireMessage, RegExp]> = {
  "nothing": [[], /it is no ONNX file: it has no graph/],
  "two graphs": [
    [...modelMessage({ graph: GOOD }), message(7, [])],
    /it has 2 graphs/,
  ],
  "an old format": [
    { graph: GOOD, irVersion: 2 },
    /it is of format 2; the oldest that is read is 3/,
  ],
  "a future operator set": [
    { graph: GOOD, opsets: { "": 99 } },
    /it is of operator set 99; the newest that is read is \d+$/,
  ],
  "an operator set below 1": [
    { graph: GOOD, opsets: { "": -1 } },
    /version of the operators of domain "" is a number from 1, got -1/,
  ],
  "a domain without a version": [
    { graph: { ...GOOD, nodes: [{ ...RELU, domain: "d" }] } },
    /node "y" \(Relu\): the model names no version of the operators of domain "d"/,
  ],
  "no output": [
    { graph: { ...GOOD, outputs: [] } },
    /its graph has no outputs/,
  ],
  "two outputs of one name": [
    { graph: { ...GOOD, outputs: [{ name: "y" }, { name: "y" }] } },
    /there are two outputs "y"/,
  ],
  "an output from nowhere": [
    { graph: { ...GOOD, outputs: [{ name: "z" }] } },
    /: the output "z" comes from nowhere/,
  ],
  "an input from nowhere": [
    { graph: { ...GOOD, nodes: [node("Add", ["x", "z"], ["y"])] } },
    /node "Add:y" \(Add\): its input "z" comes from nowhere/,
  ],
  "an input from nowhere inside": [
    {
      graph: {
        ...GOOD,
        nodes: [
          node("If", ["x"], ["y"], {
            then_branch: {
              graph: {
                outputs: [{ name: "i" }],
                nodes: [node("Op", ["z"], ["i"])],
              },
            },
          }),
        ],
      },
    },
    /node "If:y" \(If\), attribute "then_branch", node "Op:i" \(Op\): its input "z" comes/,
  ],
  "two values of one name": [
    { graph: { ...GOOD, nodes: [RELU, node("Op", ["x"], ["y"])] } },
    /node "Op:y" \(Op\), output "y": there is another value "y"/,
  ],
  "a node's result named like an input": [
    { graph: { ...GOOD, nodes: [RELU, node("Op", ["x"], ["x"])] } },
    /node "Op:x" \(Op\), output "x": there is another value "x"/,
  ],
  "two inputs of one name": [
    { graph: { ...GOOD, inputs: [X, X] } },
    /input "x": there are two of it/,
  ],
  "an input without a name": [
    { graph: { ...GOOD, inputs: [X, { name: "" }] } },
    /input "": it has no name/,
  ],
  "a circle": [
    {
      graph: {
        ...GOOD,
        nodes: [
          node("A", ["c"], ["y"]),
          node("B", ["y", "x"], ["b"]),
          node("C", ["b"], ["c"]),
        ],
      },
    },
    /node "A:y" \(A\): it needs its own result, through "A:y", "C:c", "B:b"/,
  ],
  "a node without an operator": [
    { graph: { ...GOOD, nodes: [node("", ["x"], ["y"])] } },
    /node "y" \(\): it names no operator/,
  ],
  "an attribute twice": [
    [
      integer(1, 9),
      message(7, [
        message(1, [
          text(4, "Op"),
          message(5, [text(1, "a"), integer(3, 1)]),
          message(5, [text(1, "a"), integer(3, 1)]),
        ]),
        message(12, [text(1, "y")]),
      ]),
      message(8, [integer(2, 20)]),
    ],
    /node "" \(Op\): it has two attributes "a"/,
  ],
  "an attribute of another kind than the operator's": [
    ofSet(13, "Softmax", { axis: { float: 0 } }),
    /\(Softmax\), attribute "axis": it is of kind float, expected int/,
  ],
  "an attribute that has become an input": [
    ofSet(13, "ReduceSum", { axes: [0] }),
    /attribute "axes": ReduceSum has it before operator set 13, the node is of 13/,
  ],
  "bounds that have become inputs": [
    ofSet(11, "Clip", { min: { float: 0 } }),
    /attribute "min": Clip has it before operator set 11, the node is of 11/,
  ],
  "an attribute that is gone": [
    ofSet(9, "BatchNormalization", { spatial: 0 }),
    /attribute "spatial": BatchNormalization has it before operator set 9/,
  ],
  "an input that is an attribute yet": [
    ofSet(13, "ReduceMean", {}, { axes: plainOf("int64", [1], [0]) }),
    /it has 2 inputs, ReduceMean has one before operator set 18, the node is of 13/,
  ],
  "a sequence": [
    modelMessage({ graph: GOOD }).map((field) =>
      field[0] !== 7 ? field : message(7, [
        message(11, [text(1, "x"), message(2, [message(4, [])])]),
        message(12, [text(1, "x")]),
      ])
    ),
    /input "x": it is a sequence; only tensors are read/,
  ],
  "strings": [
    modelMessage({ graph: GOOD }).map((field) =>
      field[0] !== 7 ? field : message(7, [
        message(11, [
          text(1, "x"),
          message(2, [message(1, [integer(1, 8)])]),
        ]),
        message(12, [text(1, "x")]),
      ])
    ),
    /input "x": its elements are of string, which is not read/,
  ],
  "sparse initializers": [
    [integer(1, 9), message(7, [message(15, [])])],
    /it has sparse initializers, which are not read/,
  ],
  "graphs nested too deep": [
    { graph: nested(40) },
    /graphs are nested deeper than 32/,
  ],
  "a function that calls itself": [
    {
      graph: { ...GOOD, nodes: [{ ...RELU, domain: "f", name: "call" }] },
      opsets: { "": 20, f: 1 },
      functions: [{
        name: "Relu",
        domain: "f",
        inputs: ["a"],
        outputs: ["b"],
        nodes: [{ ...node("Relu", ["a"], ["b"]), domain: "f" }],
      }],
    },
    /\(Relu\): the function "Relu" calls itself/,
  ],
  "functions without end": [
    doubling(30),
    /put in place of their calls, have no end/,
  ],
  "functions nested too deep": [
    doubling(40),
    /have no end|nested deeper than 32/,
  ],
  "more inputs than the function has": [
    {
      ...doubling(1),
      graph: {
        ...GOOD,
        nodes: [{ ...node("F0", ["x", "x"], ["y"]), domain: "f" }],
      },
    },
    /it has 2 inputs, the function "F0" 1/,
  ],
  "a caller's attribute of another kind than the function's": [
    {
      graph: {
        ...GOOD,
        nodes: [{ ...node("F", ["x"], ["y"], { alpha: 1 }), domain: "f" }],
      },
      opsets: { "": 20, f: 1 },
      functions: [{
        name: "F",
        domain: "f",
        inputs: ["a"],
        outputs: ["b"],
        attributes: ["alpha"],
        nodes: [
          node("Op", ["a"], ["b"], { alpha: { reference: "alpha", type: 1 } }),
        ],
      }],
    },
    /it is the caller's "alpha", which is int, expected float/,
  ],
  "two functions of one name": [
    {
      ...doubling(1),
      functions: [...doubling(1).functions!, ...doubling(1).functions!],
    },
    /there are two functions "F0"/,
  ],
  "a reference outside of a function": [
    {
      graph: {
        ...GOOD,
        nodes: [node("Op", ["x"], ["y"], { a: { reference: "b", type: 1 } })],
      },
    },
    /attribute "a": it refers to an attribute outside of a function/,
  ],
};

/** Fields of an attribute "a", and what is said of it. */
const REFUSED_ATTRIBUTES: Record<string, [WireMessage, RegExp]> = {
  "no value": [[], /it has no value/],
  "several values": [[integer(3, 1), text(4, "")], /it has several values/],
  "another kind than declared": [
    [integer(20, 2), [2, { float: 1 }]],
    /it is declared as int, but has float/,
  ],
  "an unknown kind": [[integer(20, 77)], /it is of kind 77, which is not read/],
  "a sparse tensor": [
    [integer(20, 11), message(22, [])],
    /it is a sparse tensor, which is not read/,
  ],
  "a type": [
    [integer(20, 13), message(14, [])],
    /it is a type, which is not read/,
  ],
  "no tensor": [[integer(20, 4)], /it has 0 values, expected 1/],
  "text that is no UTF-8": [
    [integer(20, 3), bytes(4, Uint8Array.of(0xff))],
    /it is cut off or no ONNX file/,
  ],
  "a tensor that is refused": [
    [integer(20, 4), message(5, [integer(2, 8)])],
    /its elements are of string, which is not read/,
  ],
  "a number where a list is": [
    [integer(20, 8), integer(9, 1)],
    /field 9 is an integer, expected bytes/,
  ],
  "a circle's graph": [
    [
      integer(20, 5),
      message(6, [
        message(1, [text(1, "i"), text(2, "i"), text(4, "Op")]),
        message(12, [text(1, "i")]),
      ]),
    ],
    /, node "Op:i" \(Op\): it needs its own result/,
  ],
};

function refused(fields: WireMessage, message: RegExp) {
  assert.throws(() => readModel(encode(fields), { label: LABEL }), (error) => {
    assert(error instanceof RangeError, `${error}`);
    assert.match(error.message, /^Cannot load m\.onnx: /);
    assert.match(error.message, message);
    return true;
  });
}

for (const [what, [model, message]] of Object.entries(REFUSED)) {
  Deno.test(`a model is refused with ${what}`, () =>
    refused("graph" in model ? modelMessage(model) : model, message));
}

for (const [what, [fields, expected]] of Object.entries(REFUSED_ATTRIBUTES)) {
  Deno.test(`an attribute is refused with ${what}`, () =>
    refused(
      [
        integer(1, 9),
        message(8, [integer(2, 20)]),
        message(7, [
          message(1, [
            text(2, "y"),
            text(3, "n"),
            text(4, "Op"),
            message(5, [text(1, "a"), ...fields]),
          ]),
          message(12, [text(1, "y")]),
        ]),
      ],
      new RegExp(`node "n" \\(Op\\), attribute "a".*${expected.source}`),
    ));
}

Deno.test("a file that is cut off anywhere is refused or another model, never something else", () => {
  const file = writeModel({
    graph: {
      ...GOOD,
      initializers: { w: plainOf("float32", [4], [1, 2, 3, 4]) },
    },
  });
  for (let length = 0; length < file.length; length++) {
    try {
      readModel(file.subarray(0, length), { label: LABEL });
    } catch (error) {
      assert.equal((error as Error).name, "OnnxError", `${length}: ${error}`);
    }
  }
});

Deno.test("what is no bytes is no file", () => {
  for (const given of [null, "model.onnx", [8, 1], new Float32Array(2)]) {
    assert.throws(() => readModel(given as never, { label: LABEL }), {
      name: "TypeError",
      message: /^Cannot load m\.onnx: a file is a Uint8Array or an ArrayBuffer/,
    });
  }
});

Deno.test("a file may lie in shared memory, or in an ArrayBuffer", () => {
  const file = writeModel({ graph: GOOD });
  const shared = new SharedArrayBuffer(file.length);
  new Uint8Array(shared).set(file);
  for (const given of [shared, new Uint8Array(shared), file.buffer]) {
    assert.deepEqual(readModel(given), readModel(file));
  }
});

Deno.test("what a file repeats without end is not read to the end", () => {
  const fields = encode(
    Array.from({ length: 100 }, () => message(1, [text(1, "x")])),
  );
  const place = new Place("m.onnx");
  const read = (most: number) =>
    new ProtoMessage(fields, place, new FieldBudget(most))
      .messages(1, (inside) => inside.text(1)).length;
  // A message counts as 8, itself, its 100 fields, and those inside as 9 each.
  assert.equal(read(8 + 100 + 900), 100);
  assert.throws(() => read(8 + 100 + 899), /has more than 1007 fields/);
  assert.throws(() => read(8 + 99), /has more than 107 fields/);
});
