/** Products, activations, normalisations and embeddings of `com.microsoft`. */
import { zerosOf } from "../../tensor/plain_tensor.ts";
import type { Expand, Expansion } from "./expansion.ts";

const result = ({ node: { outputs } }: Expansion, i = 0) => outputs[i];

const turned = (given: Expansion, i: number, attribute: string): string => {
  const name = given.input(i);
  if (given.int(attribute) === 0) return name;
  const rank = given.dims(i).length;
  if (rank < 2) return name;
  const perm = Array.from({ length: rank }, (_, axis) => axis);
  return given.add("Transpose", [name], {
    perm: perm.with(rank - 2, rank - 1).with(rank - 1, rank - 2),
  });
};

const fusedMatMul: Expand = (given) => {
  for (const name of ["transBatchA", "transBatchB"]) {
    given.refuse(given.int(name) !== 0, name);
  }
  const alpha = given.float("alpha", 1);
  const operands = [turned(given, 0, "transA"), turned(given, 1, "transB")];
  if (alpha === 1) given.add("MatMul", operands, {}, result(given));
  else {
    const product = given.add("MatMul", operands);
    given.add("Mul", [product, given.floats(alpha)], {}, result(given));
  }
};

/** With a bias, which may be left out. */
const gelu = (approximate: "none" | "tanh"): Expand => (given) => {
  const x = given.has(1)
    ? given.add("Add", [given.input(0), given.input(1)])
    : given.input(0);
  given.add("Gelu", [x], { approximate }, result(given));
};

const quickGelu: Expand = (given) => {
  const alpha = { float: given.float("alpha", 1.702) };
  given.add("Swish", [given.input(0)], { alpha }, result(given), 24);
};

/** (x + skip + bias) normalised. */
const skipNormalization = (isSimplified: boolean): Expand => (given) => {
  const biasAt = isSimplified ? 3 : 4;
  const both = [given.input(0), given.input(1)];
  const isSum = given.wants(3);
  const sum = given.has(biasAt)
    ? given.add(
      "Add",
      [given.add("Add", both), given.input(biasAt)],
      {},
      isSum ? result(given, 3) : undefined,
    )
    : given.add("Add", both, {}, isSum ? result(given, 3) : undefined);
  const weights = [sum, given.input(2)];
  const attributes = {
    axis: -1,
    epsilon: { float: given.float("epsilon", 1e-12) },
  };
  if (isSimplified) {
    const isMore = given.wants(1) || given.wants(2);
    given.refuse(isMore, "its mean or deviation as a result");
    given.add("RMSNormalization", weights, attributes, result(given), 23);
    return;
  }
  given.several(
    "LayerNormalization",
    [...weights, ...(given.has(3) ? [given.input(3)] : [])],
    attributes,
    given.node.outputs.slice(0, given.wants(2) ? 3 : given.wants(1) ? 2 : 1),
  );
};

const simplifiedNormalization: Expand = (given) => {
  given.refuse(given.wants(1), "its deviation as a result");
  const inputs = [given.input(0), given.input(1)];
  const attributes = {
    axis: given.int("axis", -1),
    epsilon: { float: given.float("epsilon", 1e-5) },
  };
  given.add("RMSNormalization", inputs, attributes, result(given), 23);
};

/** As ONNX has it since version 17. */
const layerNormalization: Expand = (given) => {
  const attributes = {
    axis: given.int("axis", -1),
    epsilon: { float: given.float("epsilon", 1e-5) },
  };
  const { inputs, outputs } = given.node;
  given.several("LayerNormalization", inputs, attributes, outputs);
};

const embedding: Expand = (given) => {
  const [ids, segments, words, positions, kinds, scale, shift, mask, places] =
    given.node.inputs;
  given.refuse(given.int("mask_index_type") > 1, "this kind of mask_index");
  const rowsOf = (table: string, at: string) =>
    given.add("Gather", [table, at], { axis: 0 });
  const position = (places ?? "") === ""
    ? given.add("Slice", [
      positions,
      given.whole(0),
      given.whole(given.size(0, 1)),
      given.whole(0),
    ])
    : rowsOf(positions, places);
  const both = [rowsOf(words, ids), position];
  const hasKinds = (segments ?? "") !== "";
  const sumName = given.wants(2) ? result(given, 2) : undefined;
  const sum = hasKinds
    ? given.add(
      "Add",
      [given.add("Add", both), rowsOf(kinds, segments)],
      {},
      sumName,
    )
    : given.add("Add", both, {}, sumName);
  if (given.wants(1)) {
    const to = result(given, 1);
    if ((mask ?? "") === "") {
      const none = given.constant(zerosOf("int32", [given.size(0, 0)]));
      given.add("Identity", [none], {}, to);
    } else {
      given.add("ReduceSum", [mask, given.whole(1)], { keepdims: 0 }, to);
    }
  }
  given.add("LayerNormalization", [sum, scale, shift], {
    axis: -1,
    epsilon: { float: given.float("epsilon", 1e-12) },
  }, result(given));
};

/** Activations of FusedConv and FusedGemm by name, with what their parameters are called. */
const ACTIVATIONS: Readonly<Record<string, readonly string[]>> = {
  Relu: [],
  Tanh: [],
  Sigmoid: [],
  LeakyRelu: ["alpha"],
  HardSigmoid: ["alpha", "beta"],
};

function activated(
  given: Expansion,
  x: string,
  name: string,
  parameters: readonly number[],
): void {
  if (name === "Clip") {
    const [least = -Infinity, most = Infinity] = parameters;
    const bounds = [given.floats(least), given.floats(most)];
    given.add("Clip", [x, ...bounds], {}, result(given));
    return;
  }
  const isKnown = Object.hasOwn(ACTIVATIONS, name);
  given.refuse(!isKnown, `activation ${JSON.stringify(name)}`);
  const attributes = Object.fromEntries(
    ACTIVATIONS[name].slice(0, parameters.length).map((called, i) =>
      [called, { float: parameters[i] }] as const
    ),
  );
  given.add(name, [x], attributes, result(given));
}

const fusedConv: Expand = (given) => {
  const { attributes } = given.node;
  const own: Record<string, string | number | readonly number[]> = {};
  for (const [name, { kind, value }] of attributes) {
    if (name.startsWith("activation")) continue;
    if (kind === "int" || kind === "ints" || kind === "string") {
      own[name] = value as string | number | readonly number[];
    }
  }
  const inputs = given.node.inputs.slice(0, 3);
  const sums = given.add("Conv", inputs, own);
  const all = given.has(3) ? given.add("Add", [sums, given.input(3)]) : sums;
  const name = given.attribute("activation", "string", "");
  if (name === "") {
    given.add("Identity", [all], {}, result(given));
    return;
  }
  const parameters = given.attribute("activation_params", "floats", []);
  activated(given, all, name, parameters);
};

const fusedGemm: Expand = (given) => {
  const sums = given.add("Gemm", given.node.inputs, {
    transA: given.int("transA"),
    transB: given.int("transB"),
    alpha: { float: given.float("alpha", 1) },
    beta: { float: given.float("beta", 1) },
  });
  const parameters = ["alpha", "beta"].flatMap((name) =>
    given.attribute(`activation_${name}`, "float", NaN)
  ).filter((value) => !Number.isNaN(value));
  const name = given.attribute("activation", "string", "");
  activated(given, sums, name, parameters);
};

export const LAYERS: Readonly<Record<string, Expand>> = {
  FusedMatMul: fusedMatMul,
  TransposeMatMul: fusedMatMul,
  FusedConv: fusedConv,
  FusedGemm: fusedGemm,
  Gelu: gelu("none"),
  BiasGelu: gelu("none"),
  FastGelu: gelu("tanh"),
  QuickGelu: quickGelu,
  LayerNormalization: layerNormalization,
  SimplifiedLayerNormalization: simplifiedNormalization,
  SkipLayerNormalization: skipNormalization(false),
  SkipSimplifiedLayerNormalization: skipNormalization(true),
  EmbedLayerNormalization: embedding,
};
