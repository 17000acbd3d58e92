import assert from "node:assert/strict";
import {
  defineCell,
  f32,
  i32,
  type Operators,
  type PortSpec,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";

function zeros(...shape: number[]) {
  return tensor(shape, new Float32Array(elementCount(shape)));
}

const inputs = { x: f32(3), h: f32(2), c: f32(2), id: i32(), ids: i32(2) };
type Inputs = Record<keyof typeof inputs, Value>;

/** Bodies that do not fit, and what the error says after the cell's name. */
const misfits: Record<
  string,
  [(op: Operators, inputs: Inputs) => unknown, RegExp]
> = {
  "Gather of a float": [
    (op, { x }) => op.Gather(zeros(4, 3), x),
    /Gather takes one i32 id, or axes of them, got f32\[3\]/,
  ],
  "Gather of two ids": [
    (op, { ids }) => op.Gather(zeros(4, 3), ids),
    /Gather takes one i32 id, or axes of them, got i32\[2\]/,
  ],
  "Gather from a row": [
    (op, { id }) => op.Gather(zeros(4), id),
    /Gather takes a table of shape \[count, width\], got \[4\]/,
  ],
  "Gemm of an id": [
    (op, { id }) => op.Gemm(id, zeros(2, 1)),
    /Gemm takes f32 rows, got i32/,
  ],
  "Gemm weight": [
    (op, { x }) => op.Gemm(x, zeros(4, 2)),
    /Gemm weight has shape \[4, 2\], expected \[4, 3\]/,
  ],
  "Gemm weight of one axis": [
    (op, { x }) => op.Gemm(x, zeros(3)),
    /Gemm weight has shape \[3\], expected \[3, 3\]/,
  ],
  "Gemm bias": [
    (op, { x }) => op.Gemm(x, zeros(4, 3), zeros(3)),
    /Gemm bias has shape \[3\], expected \[4\]/,
  ],
  "LSTM state": [
    (op, { x, h }) => op.LSTM(x, h, x, { w: zeros(8, 3), r: zeros(8, 2) }),
    /LSTM h \(2\) and c \(3\) have one width/,
  ],
  "LSTM W": [
    (op, { x, h, c }) => op.LSTM(x, h, c, { w: zeros(6, 3), r: zeros(8, 2) }),
    /LSTM W has shape \[6, 3\], expected \[8, 3\]/,
  ],
  "LSTM R": [
    (op, { x, h, c }) => op.LSTM(x, h, c, { w: zeros(8, 3), r: zeros(8, 3) }),
    /LSTM R has shape \[8, 3\], expected \[8, 2\]/,
  ],
  "LSTM B": [
    (op, { x, h, c }) =>
      op.LSTM(x, h, c, { w: zeros(8, 3), r: zeros(8, 2), b: zeros(8) }),
    /LSTM B has shape \[8\], expected \[16\]/,
  ],
  "GRU W": [
    (op, { x, h }) => op.GRU(x, h, { w: zeros(8, 3), r: zeros(6, 2) }),
    /GRU W has shape \[8, 3\], expected \[6, 3\]/,
  ],
  "GRU R": [
    (op, { x, h }) => op.GRU(x, h, { w: zeros(6, 3), r: zeros(6, 3) }),
    /GRU R has shape \[6, 3\], expected \[6, 2\]/,
  ],
  "GRU B": [
    (op, { x, h }) =>
      op.GRU(x, h, { w: zeros(6, 3), r: zeros(6, 2), b: zeros(6) }),
    /GRU B has shape \[6\], expected \[12\]/,
  ],
  "TreeLSTMLeaf W of no whole number of units": [
    (op, { x }) => op.TreeLSTMLeaf(x, { w: zeros(7, 3) }),
    /TreeLSTMLeaf W has 7 rows, expected three per unit/,
  ],
  "TreeLSTMLeaf W": [
    (op, { x }) => op.TreeLSTMLeaf(x, { w: zeros(6, 2) }),
    /TreeLSTMLeaf W has shape \[6, 2\], expected \[6, 3\]/,
  ],
  "TreeLSTMLeaf b": [
    (op, { x }) => op.TreeLSTMLeaf(x, { w: zeros(6, 3), b: zeros(3) }),
    /TreeLSTMLeaf b has shape \[3\], expected \[6\]/,
  ],
  "TreeLSTMNode without children": [
    (op) => op.TreeLSTMNode([], [], { u: zeros(1, 1) }),
    /TreeLSTMNode takes 1 to 8 children, each h and c, got 0 h and 0 c/,
  ],
  "TreeLSTMNode without a state": [
    (op, { h, c }) => op.TreeLSTMNode([h, h], [c], { u: zeros(10, 4) }),
    /TreeLSTMNode takes 1 to 8 children, each h and c, got 2 h and 1 c/,
  ],
  "TreeLSTMNode children": [
    (op, { h, c, x }) => op.TreeLSTMNode([h, x], [c, c], { u: zeros(10, 4) }),
    /TreeLSTMNode children have one width, got 2, 3, 2, 2/,
  ],
  "TreeLSTMNode U": [
    (op, { h, c }) => op.TreeLSTMNode([h, h], [c, c], { u: zeros(8, 4) }),
    /TreeLSTMNode U has shape \[8, 4\], expected \[10, 4\]/,
  ],
  "TreeLSTMNode b": [
    (op, { h, c }) =>
      op.TreeLSTMNode([h], [c], { u: zeros(8, 2), b: zeros(2) }),
    /TreeLSTMNode b has shape \[2\], expected \[8\]/,
  ],
  "Add": [(op, { x, h }) => op.Add(x, h), /Add of rows of 3 and 2 elements/],
  "Sub of an id": [
    (op, { id }) => op.Sub(id, id),
    /Sub takes f32 rows, got i32/,
  ],
  "Mul": [(op, { x, h }) => op.Mul(h, x), /Mul of rows of 2 and 3 elements/],
  "Relu of an id": [
    (op, { id }) => op.Relu(id),
    /Relu takes f32 rows, got i32/,
  ],
  "Softmax of an id": [
    (op, { id }) => op.Softmax(id),
    /Softmax takes f32 rows, got i32/,
  ],
  "Clip without a bound": [
    (op, { x }) => op.Clip(x, {}),
    /Clip takes a finite min, max or both, in this order, got undefined and undefined/,
  ],
  "Clip with bounds the wrong way round": [
    (op, { x }) => op.Clip(x, { min: 2, max: 1 }),
    /Clip takes .* got 2 and 1/,
  ],
  "Clip with a bound that is no f32": [
    (op, { x }) => op.Clip(x, { max: 1e39 }),
    /Clip takes .* got undefined and 1e\+39/,
  ],
  "Concat of nothing": [(op) => op.Concat(), /Concat takes at least one row/],
  "Concat with an id": [
    (op, { x, id }) => op.Concat(x, id),
    /Concat takes rows of f32 or of i32, got f32, i32/,
  ],
  "Slice beyond the end": [
    (op, { x }) => op.Slice(x, 1, 4),
    /Slice \[1, 4\) of a row of 3/,
  ],
  "Slice of nothing": [
    (op, { x }) => op.Slice(x, 1, 1),
    /Slice \[1, 1\) of a row of 3/,
  ],
  "Slice between elements": [
    (op, { x }) => op.Slice(x, 0.5, 1.5),
    /Slice \[0\.5, 1\.5\) of a row of 3/,
  ],
  "ArgMax of an id": [
    (op, { id }) => op.ArgMax(id),
    /ArgMax takes f32 rows, got i32/,
  ],
  "Constant of nothing": [
    (op) => op.Constant([]),
    /Constant takes at least one number/,
  ],
};

for (const [what, [body, message]] of Object.entries(misfits)) {
  Deno.test(`defineCell() refuses ${what}, naming cell, operator and shape`, () => {
    assert.throws(
      () =>
        defineCell({
          name: "misfit",
          inputs,
          body(op, ports) {
            body(op, ports);
            return { y: ports.x };
          },
        }),
      (error: Error) => {
        assert.equal(error.name, "RangeError");
        assert.match(error.message, /^Cell "misfit": /);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

Deno.test("defineCell() refuses weights that are not finite, naming cell, operator and element", () => {
  const bad = zeros(2, 3);
  bad.data[4] = NaN;
  const bodies: Record<string, (op: Operators, inputs: Inputs) => Value> = {
    "Gemm weight": (op, { x }) => op.Gemm(x, bad),
    "Gather table": (op, { id }) => op.Gather(bad, id),
    "Constant": (op) => op.Constant(bad),
  };
  for (const [what, body] of Object.entries(bodies)) {
    assert.throws(
      () =>
        defineCell({
          name: "nan",
          inputs,
          body: (op, ports) => ({ y: body(op, ports) }),
        }),
      {
        name: "RangeError",
        message:
          `Tensor "nan: ${what}" holds NaN at element 4; weights must be finite`,
      },
    );
  }
});

Deno.test("defineCell() refuses values of another cell", () => {
  let alien: Value | undefined;
  defineCell({
    name: "first",
    inputs,
    body: (op, { x }) => ({ y: alien = op.Relu(x) }),
  });
  const take = (body: (op: Operators, inputs: Inputs) => Value) => () =>
    defineCell({
      name: "second",
      inputs,
      body: (op, ports) => ({ y: body(op, ports) }),
    });
  assert.throws(take((op) => op.Tanh(alien!)), {
    name: "TypeError",
    message: 'Cell "second": an input of Tanh is not a value of this cell',
  });
  assert.throws(take(() => alien!), {
    name: "TypeError",
    message: 'Cell "second": output "y" is not a value of this cell',
  });
});

Deno.test("defineCell() refuses ports of no width, and cells without an output", () => {
  for (const width of [0, -1, 2.5, NaN]) {
    assert.throws(
      () =>
        defineCell({
          name: "empty",
          inputs: { x: f32(width) } as Record<"x", PortSpec>,
          body: (_, { x }) => ({ y: x }),
        }),
      {
        name: "RangeError",
        message:
          `Cell "empty": a row's width is a positive integer, got ${width}`,
      },
    );
  }
  assert.throws(() => defineCell({ name: "mute", inputs, body: () => ({}) }), {
    name: "RangeError",
    message: 'Cell "mute" has no output',
  });
});

Deno.test("defineCell() stops only on an i32 output of its own", () => {
  const stopping = (output: string) => () =>
    defineCell<"x", string>({
      name: "stops",
      inputs: { x: f32(3) },
      body: (op, { x }) => ({ x, id: op.ArgMax(x) }),
      stop: { output, token: 2 },
    });
  assert.deepEqual(stopping("id")().stop, { port: 1, token: 2 });
  for (const output of ["x", "missing"]) {
    assert.throws(stopping(output), {
      name: "RangeError",
      message:
        `Cell "stops" stops on "${output}", which is not one of its i32 outputs`,
    });
  }
});

Deno.test("defineCell() lists ports and operators in the order of their definition", () => {
  const cell = defineCell({
    name: "ordered",
    inputs: { b: f32(3), a: i32() },
    body: (op, { a, b }) => ({
      z: op.Add(b, op.Gather(zeros(4, 3), a)),
      y: op.ArgMax(b),
    }),
  });
  assert.deepEqual(cell.inputs, [
    { name: "b", dtype: "f32", width: 3 },
    { name: "a", dtype: "i32", width: 1 },
  ]);
  assert.deepEqual(cell.outputs, [
    { name: "z", dtype: "f32", width: 3 },
    { name: "y", dtype: "i32", width: 1 },
  ]);
  assert.deepEqual(cell.operators.map(({ op }) => op), [
    "Gather",
    "Add",
    "ArgMax",
  ]);
  assert.equal(cell.phase, "static");
  assert.equal(cell.recurrent, false);
  assert.equal(cell.priority, 0);
});
