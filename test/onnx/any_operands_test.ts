/** A node of any operands becomes a model, or is refused by name. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { mostOf } from "../../src/onnx/shapes/arity.ts";
import { plainOperators } from "../../src/plain/registry.ts";
import { plainOf, type PlainType } from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { node, writeModel, type WrittenAttribute } from "./write_model.ts";

/** An input of a request, or a constant of small whole numbers; absent: left out. */
interface Operand {
  readonly type: PlainType;
  readonly dims: readonly number[];
  readonly isConstant: boolean;
}

interface Single {
  readonly op: string;
  readonly version: number;
  readonly operands: readonly (Operand | undefined)[];
  readonly attributes: Record<string, WrittenAttribute>;
}

/** @throws OnnxError, or what should not be */
function loaded({ op, version, operands, attributes }: Single): void {
  const named = operands.flatMap((operand, i) =>
    operand ? [[`x${i}`, operand] as const] : []
  );
  const constants = named.filter(([, { isConstant }]) => isConstant);
  const file = writeModel({
    graph: {
      inputs: named.filter(([, { isConstant }]) => !isConstant).map(
        ([name, { type, dims }]) => ({ name, type, dims }),
      ),
      initializers: Object.fromEntries(
        constants.map(([name, { type, dims }]) => [
          name,
          plainOf(
            type,
            dims,
            Array.from({ length: elementCount(dims) }, (_, i) => i % 3),
          ),
        ]),
      ),
      outputs: [{ name: "y" }],
      nodes: [
        node(
          op,
          operands.map((operand, i) => operand ? `x${i}` : ""),
          ["y"],
          attributes,
        ),
      ],
    },
    opsets: { "": version },
  });
  onnxModel(readModel(file, { label: "m.onnx" }));
}

const given = (...dims: number[]): Operand => ({
  ...{ type: "float32", dims, isConstant: false },
});
const whole = (...dims: number[]): Operand => ({
  ...{ type: "int64", dims, isConstant: true },
});

const FOUND: Record<string, [Single, why: RegExp]> = {
  "a slope that is larger than what it is for": [
    {
      ...{ op: "PRelu", version: 16, attributes: {} },
      operands: [given(2, 3, 1), given(3)],
    },
    /\(PRelu\): a slope of \[3\] over \[2, 3, 1\]$/,
  ],
  "a slope of more axes": [
    {
      ...{ op: "PRelu", version: 16, attributes: {} },
      operands: [given(2, 3), given(2, 1, 1)],
    },
    /\(PRelu\): a slope of \[2, 1, 1\] over \[2, 3\]$/,
  ],
  "columns of no channels": [
    {
      ...{ op: "Col2Im", version: 18, attributes: {} },
      operands: [given(3), whole(2), whole(2)],
    },
    /\(Col2Im\): columns of \[3\], expected three axes$/,
  ],
  "a shape of no sizes that a request brings": [
    {
      ...{ op: "Reshape", version: 19, attributes: {} },
      operands: [{ type: "int32", dims: [2, 1], isConstant: true }, given(0)],
    },
    /\(Reshape\): \[2, 1\] does not fit into \[\]$/,
  ],
  "a grid of no axes": [
    {
      ...{ op: "AffineGrid", version: 20, attributes: {} },
      operands: [given(1, 3, 3), whole(0)],
    },
    /\(AffineGrid\): a size of 0 axes, expected three or more$/,
  ],
  "a convolution of no positions": [
    {
      ...{ op: "CausalConvWithState", version: 27, attributes: {} },
      operands: [given(1, 3), given(1, 3, 3)],
    },
    /\(CausalConvWithState\): \[1, 3\] has no axis of positions$/,
  ],
};

for (const [what, [single, why]] of Object.entries(FOUND)) {
  Deno.test(`refused by name: ${what}`, () => {
    assert.throws(() => loaded(single), (error) => {
      assert(error instanceof OnnxError, `${error}`);
      assert.match(error.message, why);
      return true;
    });
  });
}

const DIMS = [
  ...[[], [0], [1], [2], [3], [1, 3], [2, 1], [2, 3], [2, 0], [3, 1], [2, 2]],
  ...[[2, 1, 1], [1, 2, 3], [2, 2, 3], [1, 3, 3], [1, 2, 4, 4], [4, 1, 1, 1]],
  [1, 1, 2, 2, 2],
];

const ATTRIBUTES: Record<string, readonly WrittenAttribute[]> = {
  ...{ axis: [-3, -1, 0, 1, 2, 7], axes: [[0], [-1], [0, 1], [5]] },
  ...{ keepdims: [0], kernel_shape: [[1], [2], [2, 2], [1, 3]], group: [0, 2] },
  ...{ strides: [[1], [2, 2], [0]], pads: [[1, 1], [0, 0, 1, 1], [-1, 0]] },
  ...{
    dilations: [[2], [1, 2]],
    perm: [[1, 0], [0, 2, 1], [0, 0]],
    to: [1, 7],
  },
  ...{ hidden_size: [1, 2], direction: ["bidirectional"], layout: [1] },
  ...{ mode: ["linear", "nearest", "cubic", "edge"], blocksize: [1, 2] },
  ...{ num_groups: [1, 2], transA: [1], transB: [1], num_outputs: [2] },
  ...{ equation: ["ij,jk->ik", "ii->i", "...i,i", "abc->cab"], p: [1] },
  ...{ q_num_heads: [1], kv_num_heads: [1], auto_pad: ["SAME_UPPER", "VALID"] },
  ...{ output_shape: [[3], [3, 3]], batch_dims: [1], ceil_mode: [1] },
};

const operands: fc.Arbitrary<Operand> = fc.record({
  type: fc.constantFrom<PlainType>(
    ...["float32", "float32", "int64", "int32", "uint8", "bool"] as const,
  ),
  dims: fc.constantFrom(...DIMS),
  isConstant: fc.boolean(),
});

const singles: fc.Arbitrary<Single> = fc.constantFrom(
  ...Object.keys(plainOperators),
).chain((op) =>
  fc.record({
    op: fc.constant(op),
    version: fc.constantFrom(...plainOperators[op].since),
    operands: fc.array(fc.option(operands, { nil: undefined, freq: 6 }), {
      maxLength: Math.min(8, mostOf(op).inputs),
    }),
    attributes: fc.uniqueArray(fc.constantFrom(...Object.keys(ATTRIBUTES)), {
      maxLength: 3,
    }).chain((names) =>
      fc.record(
        Object.fromEntries(
          names.map((name) => [name, fc.constantFrom(...ATTRIBUTES[name])]),
        ),
      )
    ),
  })
);

Deno.test("a node of any operands becomes a model, or is refused by name", () => {
  fc.assert(
    fc.property(singles, (single) => {
      try {
        loaded(single);
      } catch (error) {
        if (!(error instanceof OnnxError)) throw error;
        assert.match(error.message, /^Cannot load m\.onnx: ./);
      }
    }),
    { numRuns: propertyRuns(2000) },
  );
});
