/**
 * Operators given anything: tensors and attributes that need not fit. What comes of it is tensors that are whole, or
 * an error that says which operator does not like what.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { PlainAttribute } from "../../src/plain/operator.ts";
import { plainOperators, runPlain } from "../../src/plain/registry.ts";
import {
  PLAIN_TYPES,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { tensorOf } from "./run_operator.ts";

/** Attributes of all operators, with values that some of them like. */
const ATTRIBUTES: Record<string, fc.Arbitrary<PlainAttribute>> = {
  ...of(
    "int",
    fc.oneof(
      fc.integer({ min: -3, max: 4 }),
      fc.constantFrom(2 ** 31, 2 ** 53, -(2 ** 63)),
    ),
    ...["axis", "keepdims", "to", "group", "p", "k", "upper", "exclusive"],
    ...["blocksize", "size", "ceil_mode", "count_include_pad", "largest"],
    ...["transA", "transB", "inverse", "onesided", "batch_dims", "num_outputs"],
    ...[
      "hidden_size",
      "layout",
      "linear_before_reset",
      "num_groups",
      "block_size",
    ],
    ...["q_num_heads", "kv_num_heads", "num_heads", "is_causal", "periodic"],
    ...["output_height", "output_width", "num_scan_inputs", "dtype", "start"],
    ...["output_datatype", "fmod", "allowzero", "training_mode", "sorted"],
  ),
  ...of(
    "ints",
    fc.array(
      fc.oneof(fc.integer({ min: -3, max: 4 }), fc.constant(2 ** 40)),
      { maxLength: 4 },
    ),
    ...[
      "axes",
      "pads",
      "strides",
      "dilations",
      "kernel_shape",
      "perm",
      "split",
    ],
    ...["output_shape", "output_padding", "value_ints", "scan_input_axes"],
  ),
  ...of(
    "float",
    fc.float(),
    ...["alpha", "beta", "epsilon", "scale", "softcap", "clip", "gamma"],
    ...["spatial_scale", "cubic_coeff_a", "value_float"],
  ),
  ...of(
    "string",
    fc.constantFrom(
      ...["", "linear", "cubic", "reflect", "wrap", "SAME_UPPER", "LEFT"],
      ...["bidirectional", "reverse", "tf_crop_and_resize", "ij,jk->ik", "..."],
    ),
    ...["mode", "auto_pad", "direction", "equation", "reduction"],
    ...["coordinate_transformation_mode", "padding_mode", "approximate"],
  ),
};

function of(
  kind: string,
  value: fc.Arbitrary<unknown>,
  ...names: string[]
): Record<string, fc.Arbitrary<PlainAttribute>> {
  return Object.fromEntries(
    names.map((name) => [name, value.map((drawn) => ({ kind, value: drawn }))]),
  );
}

/** Floats mostly, so that many operators get past their types. */
const types = fc.constantFrom<PlainType>(
  ...PLAIN_TYPES,
  ...new Array(8).fill("float32"),
  ...new Array(6).fill("int64"),
);
const dims = fc.array(fc.nat({ max: 3 }), { maxLength: 4 });
/** Operators want inputs of the same dims, or small lists, more often than not. */
const inputs = fc.tuple(types, dims).chain(([type, shape]) => {
  const same = tensorOf(type, shape) as fc.Arbitrary<PlainTensor>;
  const list = fc.tuple(types, fc.nat({ max: 4 })).chain(([type, size]) =>
    tensorOf(type, [size]) as fc.Arbitrary<PlainTensor>
  );
  const any = fc.tuple(types, dims).chain(([type, dims]) =>
    tensorOf(type, dims) as fc.Arbitrary<PlainTensor>
  );
  const scalar = types.chain((type) =>
    tensorOf(type, []) as fc.Arbitrary<PlainTensor>
  );
  return fc.array(
    fc.oneof(same, same, list, scalar, any, fc.constant(undefined)),
    { maxLength: 8 },
  ).chain((others) => same.map((first) => [first, ...others]));
});

/** Messages of the language itself: an operator that looks before it reads has its own. */
const UNSAID = /of undefined|not a function|not iterable|Cannot/;

Deno.test("operators given anything give whole tensors, or say what they do not like", () => {
  const drawn = fc.tuple(
    fc.constantFrom(...Object.keys(plainOperators)),
    inputs,
    fc.record(ATTRIBUTES, { requiredKeys: [] }),
    fc.constantFrom(6, 9, 11, 13, 18, 28),
  );
  fc.assert(
    fc.property(drawn, ([op, inputs, attributes, opset]) => {
      const given = new Map(
        Object.entries(attributes) as [string, PlainAttribute][],
      );
      let results: PlainTensor[];
      try {
        results = runPlain(op, inputs, given, {
          opset,
          outputs: 2,
          runGraph: (_, inner) => inner.slice(1),
        });
      } catch (error) {
        const { message } = error as Error;
        assert.match(message, new RegExp(`^(${op}: |There is no operator )`));
        assert.doesNotMatch(message.slice(op.length), UNSAID);
        return;
      }
      for (const result of results) {
        plainTensor(result.type, result.dims, result.data as never);
      }
    }),
    { numRuns: propertyRuns(3000) },
  );
});
