/**
 * Attributes and inputs that an operator does not have: what nobody reads would be left out of the result without a
 * word.
 */
import { CONTRIB_DOMAIN } from "../domains.ts";
import type { OnnxAttributeKind } from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import type { VersionedNode } from "./inline_functions.ts";

const words = (text: string) => text.split(" ");

/** Names of attributes that are of one kind in every operator that has them. */
const KINDS: ReadonlyMap<string, OnnxAttributeKind> = new Map(
  Object.entries({
    int: "align_corners allowzero antialias axis batch_axis batch_dims " +
      "block_size blocksize broadcast ceil_mode center_point_box " +
      "count_include_pad detect_negative detect_positive do_rotary end " +
      "exclude_outside exclusive fmod group hidden_size input_forget " +
      "interleaved inverse is_causal is_test k keepdims kv_num_heads largest " +
      "layout linear_before_reset noop_with_empty_axes num_groups num_heads " +
      "num_outputs num_scan_inputs onesided output_dtype q_num_heads reverse " +
      "rotary_embedding_dim saturate select_last_index sorted spatial start " +
      "stash_type storage_order time_axis to training_mode transA transB " +
      "unidirectional upper",
    float: "alpha beta clip cubic_coeff_a epsilon extrapolation_value gamma " +
      "lambd mask_filter_value max min momentum ratio scale softcap " +
      "spatial_scale",
    string: "approximate auto_pad coordinate_transformation_mode direction " +
      "equation keep_aspect_ratio_policy mode nearest_mode padding_mode " +
      "reduction update_rule",
    ints: "axes dilations ends kernel_shape output_padding output_shape pads " +
      "perm scan_input_axes scan_input_directions scan_output_axes " +
      "scan_output_directions split starts strides",
    floats: "activation_alpha activation_beta scales",
    strings: "activations",
    graph: "body else_branch then_branch",
  }).flatMap(([kind, names]) =>
    words(names).map((name) => [name, kind as OnnxAttributeKind] as const)
  ),
);

/** Attributes of operators of `com.microsoft` that are of another kind there. */
const CONTRIB_KINDS: Readonly<
  Record<string, Readonly<Record<string, OnnxAttributeKind>>>
> = {
  FusedGemm: { activation_alpha: "float", activation_beta: "float" },
};

/** What kind an operator's attribute is of; undefined where it may be of any. */
function kindOf(
  { op, domain }: VersionedNode,
  name: string,
): OnnxAttributeKind | undefined {
  const own = domain === CONTRIB_DOMAIN && Object.hasOwn(CONTRIB_KINDS, op)
    ? CONTRIB_KINDS[op]
    : {};
  return Object.hasOwn(own, name) ? own[name] : KINDS.get(name);
}

/** By operator, attributes with the operator set from which on they are not there. */
type Gone = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** Inputs from then on, of operators that have one before. */
const MOVED: Gone = new Map([
  ...each("ReduceSum Squeeze Unsqueeze", { axes: 13 }),
  ...each(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean " +
      "ReduceMin ReduceProd ReduceSumSquare",
    { axes: 18 },
  ),
  ...each("Upsample", { scales: 9 }),
  ...each("Slice", { axes: 10, ends: 10, starts: 10 }),
  ...each("TopK", { k: 10 }),
  ...each("Clip", { max: 11, min: 11 }),
  ...each("Pad", { pads: 11, value: 11 }),
  ...each("Split", { split: 13 }),
]);

/** What they said is said no more. */
const REMOVED: Gone = new Map([
  ...each("Add And Div Equal Greater Less Mul Or Pow Sub Xor", {
    axis: 7,
    broadcast: 7,
  }),
  ...each("Gemm", { broadcast: 7 }),
  ...each("BatchNormalization", { spatial: 9 }),
]);

function each(
  ops: string,
  gone: Readonly<Record<string, number>>,
): [string, Readonly<Record<string, number>>][] {
  return words(ops).map((op) => [op, gone]);
}

/** @throws OnnxError when it has attributes of another kind or version, or inputs of a later version */
export function checkAttributes(node: VersionedNode, at: Place): void {
  const { op, domain, version, inputs, attributes } = node;
  if (domain !== "" && domain !== CONTRIB_DOMAIN) return;
  const moved = domain === "" ? MOVED.get(op) : undefined;
  const gone = moved ?? (domain === "" ? REMOVED.get(op) : undefined);
  for (const [name, { kind }] of attributes) {
    const where = at.in(`attribute ${quoted(name)}`);
    const expected = kindOf(node, name);
    if (expected !== undefined && kind !== expected) {
      where.fail(`it is of kind ${kind}, expected ${expected}`);
    }
    if (gone && Object.hasOwn(gone, name) && version >= gone[name]) {
      where.fail(
        `${op} has it before operator set ${
          gone[name]
        }, the node is of ${version}`,
      );
    }
  }
  if (!moved) return;
  const since = Math.max(...Object.values(moved));
  if (version < since && inputs.slice(1).some((name) => name !== "")) {
    at.fail(
      `it has ${inputs.length} inputs, ${op} has one before operator set ${since}, the node is of ${version}`,
    );
  }
}
