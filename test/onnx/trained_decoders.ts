/** The trained decoders that lie beside the checkout, as ONNX files of a step each, in the ways of exporters. */
import { readFileSync } from "node:fs";
import { readPlainSafetensors } from "../../src/tensor/safetensors.ts";
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { gpt, type GptModel, type GptOptions } from "../../src/models/gpt.ts";
import { type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { namedWeights } from "../../src/tensor/weights.ts";
import { FileParts } from "./file_parts.ts";
import { node, writeModel, type WrittenValue } from "./write_model.ts";

/** A file of a model's folder. */
function tensorsOf(folder: URL): ReadonlyMap<string, PlainTensor> {
  return readPlainSafetensors(
    readFileSync(new URL("weights.safetensors", folder)),
    folder.pathname,
  );
}

/** From gate order r, z, n to ONNX's z, r, h; one direction. */
function gates({ dims, data }: PlainTensor): PlainTensor {
  const gate = data.length / 3;
  const numbers = [...data as Float32Array];
  const [r, z, n] = [0, 1, 2].map((i) =>
    numbers.slice(i * gate, (i + 1) * gate)
  );
  return plainOf("float32", [1, ...dims], [...z, ...r, ...n]);
}

function gru(
  parts: FileParts,
  tensors: ReadonlyMap<string, PlainTensor>,
  prefix: string,
  x: string,
  h = "",
): { y: string; last: string } {
  const of = (name: string) => gates(tensors.get(`${prefix}_${name}`)!);
  const bias = plainOf("float32", [1, 6 * 256], [
    ...[...of("b_ih").data, ...of("b_hh").data].map(Number),
  ]);
  parts.nodes.push(node(
    "GRU",
    [
      x,
      parts.constant(of("w_ih")),
      parts.constant(of("w_hh")),
      parts.constant(bias),
      ...(h === "" ? [] : ["", h]),
    ],
    [`${prefix} y`, `${prefix} last`],
    {
      hidden_size: 256,
      linear_before_reset: 1,
    },
  ));
  return { y: `${prefix} y`, last: `${prefix} last` };
}

/** Letters, as many as `sizes.letters` says, to the state behind the last one. */
export function g2pEncoderFile(folder: URL): Uint8Array<ArrayBuffer> {
  const tensors = tensorsOf(folder);
  const parts = new FileParts();
  const x = parts.add("Gather", [
    parts.constant(tensors.get("enc_emb")!),
    parts.add("Transpose", ["letters"], { perm: [1, 0] }),
  ]);
  const { last } = gru(parts, tensors, "enc", x);
  parts.add("Identity", [last], {}, "state");
  return writeModel({
    graph: {
      inputs: [{ name: "letters", type: "int64", dims: ["n", "letters"] }],
      outputs: [{ name: "state" }],
      ...parts,
    },
  });
}

/** A phoneme and the state to scores of the next one, and the state. */
export function g2pDecoderFile(folder: URL): Uint8Array<ArrayBuffer> {
  const tensors = tensorsOf(folder);
  const parts = new FileParts();
  const x = parts.add("Unsqueeze", [
    parts.add("Gather", [parts.constant(tensors.get("dec_emb")!), "phoneme"]),
    parts.ints(0),
  ]);
  const { last } = gru(parts, tensors, "dec", x, "state");
  parts.add("Identity", [last], {}, "next_state");
  parts.add(
    "Gemm",
    [
      parts.add("Squeeze", [last, parts.ints(0)]),
      parts.constant(tensors.get("fc_w")!),
      parts.constant(tensors.get("fc_b")!),
    ],
    { transB: 1 },
    "scores",
  );
  return writeModel({
    graph: {
      inputs: [
        { name: "phoneme", type: "int64", dims: ["n"] },
        { name: "state", dims: [1, "n", 256] },
      ],
      outputs: [{ name: "scores" }, { name: "next_state" }],
      ...parts,
    },
  });
}

const LAYERS = 2;
const HIDDEN = 64;
const HEADS = 2;

/** A token and the keys and values of those before; int8 weights are dequantised in the file. */
export function languageModelFile(folder: URL): Uint8Array<ArrayBuffer> {
  const tensors = tensorsOf(folder);
  const parts = new FileParts();
  const at = (name: string) => parts.constant(tensors.get(name)!, name);
  /** w[i, j] = q[i, j] / scale[i]. */
  const weight = (name: string) => {
    const scale = tensors.get(`${name}_scale`)!;
    const factor = plainOf(
      "float32",
      scale.dims,
      [...scale.data].map((one) => 1 / Number(one)),
    );
    return parts.add(
      "DequantizeLinear",
      [at(name), parts.constant(factor)],
      { axis: 0 },
    );
  };
  const linear = (x: string, name: string) =>
    parts.add("Add", [
      parts.add("MatMul", [
        x,
        parts.add("Transpose", [weight(`${name}/weight`)], { perm: [1, 0] }),
      ]),
      at(`${name}/bias`),
    ]);
  const norm = (x: string, name: string) =>
    parts.add("LayerNormalization", [
      x,
      at(`${name}/gamma`),
      at(`${name}/beta`),
    ], {
      axis: -1,
      epsilon: { float: 1e-6 },
    });
  const mask = parts.add("Mul", [
    parts.add("Sub", [
      parts.float(1),
      parts.add("Cast", [
        parts.add("Unsqueeze", ["attention_mask", parts.ints(1, 2)]),
      ], { to: 1 }),
    ]),
    parts.float(-3.4028234663852886e38),
  ]);
  let x = parts.add("Add", [
    parts.add("Mul", [
      parts.add("Gather", [weight("embeddings/weight"), "input_ids"]),
      parts.float(Math.sqrt(HIDDEN)),
    ]),
    parts.add("Gather", [at("position_encodings/encodings"), "position_ids"]),
  ]);
  const caches: WrittenValue[] = [];
  const presents: WrittenValue[] = [];
  for (let layer = 0; layer < LAYERS; layer++) {
    const own = `layer_${layer}/self_attention`;
    const normed = norm(x, `${own}/layer_norm`);
    const qkv = [0, 1, 2].map((i) => `qkv ${layer} ${i}`);
    parts.nodes.push(node("Split", [linear(normed, `${own}/linear_0`)], qkv, {
      axis: -1,
      num_outputs: 3,
    }));
    const [q, k, v] = qkv.map((part) =>
      parts.add("Transpose", [
        parts.add("Reshape", [
          part,
          parts.ints(0, 0, HEADS, HIDDEN / HEADS),
        ]),
      ], { perm: [0, 2, 1, 3] })
    );
    const join = (part: string, fresh: string) => {
      const [past, present] = [
        `past_key_values.${layer}.${part}`,
        `present.${layer}.${part}`,
      ];
      caches.push({
        name: past,
        dims: ["batch_size", HEADS, "past_sequence_length", HIDDEN / HEADS],
      });
      presents.push({ name: present });
      return parts.add("Concat", [past, fresh], { axis: 2 }, present);
    };
    const [keys, values] = [join("key", k), join("value", v)];
    const scores = parts.add("Div", [
      parts.add("MatMul", [
        q,
        parts.add("Transpose", [keys], { perm: [0, 1, 3, 2] }),
      ]),
      parts.float(Math.sqrt(HIDDEN / HEADS)),
    ]);
    const mixed = parts.add("MatMul", [
      parts.add("Softmax", [parts.add("Add", [scores, mask])], { axis: -1 }),
      values,
    ]);
    const together = parts.add("Reshape", [
      parts.add("Transpose", [mixed], { perm: [0, 2, 1, 3] }),
      parts.ints(0, 0, HIDDEN),
    ]);
    x = parts.add("Add", [x, linear(together, `${own}/linear_1`)]);
    const ffn = `layer_${layer}/ffn`;
    const inner = parts.add("Relu", [
      linear(norm(x, `${ffn}/layer_norm`), `${ffn}/linear_0`),
    ]);
    x = parts.add("Add", [x, linear(inner, `${ffn}/linear_1`)]);
  }
  parts.add(
    "Identity",
    [linear(norm(x, "layer_norm"), "projection")],
    {},
    "logits",
  );
  const ids = (name: string, axis = "sequence_length"): WrittenValue => ({
    name,
    type: "int64",
    dims: ["batch_size", axis],
  });
  return writeModel({
    graph: {
      inputs: [
        ids("input_ids"),
        ids("attention_mask", "past_sequence_length + sequence_length"),
        ids("position_ids"),
        ...caches,
      ],
      outputs: [{ name: "logits" }, ...presents],
      ...parts,
    },
  });
}

/** The published scores of what follows each of some prompts. */
export function scoresOf(
  folder: URL,
): { prompt: number[]; scores: Float32Array }[] {
  const read = (name: string) => readFileSync(new URL(name, folder));
  const prompts: number[][] = JSON.parse(
    new TextDecoder().decode(read("last_token_prompts.json")),
  );
  const name = "last_token_logits.safetensors";
  const { dims, data } = readPlainSafetensors(read(name), name).get("logits")!;
  const [, width] = dims;
  return prompts.map((prompt, i) => ({
    prompt,
    scores: (data as Float32Array).slice(i * width, (i + 1) * width),
  }));
}

/** The model as `gpt` has it: int8 weights dequantised, the publisher's names as those of its tensors. */
export function trainedGpt(folder: URL, options: GptOptions = {}): GptModel {
  const tensors = tensorsOf(folder);
  const found = new Map<string, Tensor>();
  const add = (ours: string, theirs: string) => {
    const { dims, data } = tensors.get(theirs)!;
    const scale = tensors.get(`${theirs}_scale`)?.data;
    const width = data.length / dims[0];
    found.set(
      ours,
      tensor(
        dims,
        Float32Array.from(
          { length: data.length },
          (_, i) =>
            Number(data[i]) / Number(scale?.[Math.floor(i / width)] ?? 1),
        ),
      ),
    );
  };
  const linear = (ours: string, theirs: string) => {
    add(`${ours}.W`, `${theirs}/weight`);
    add(`${ours}.b`, `${theirs}/bias`);
  };
  const norm = (ours: string, theirs: string) => {
    add(`${ours}.scale`, `${theirs}/gamma`);
    add(`${ours}.bias`, `${theirs}/beta`);
  };
  add("embedding", "embeddings/weight");
  add("position", "position_encodings/encodings");
  for (let i = 0; i < LAYERS; i++) {
    const [ours, theirs] = [`layer.${i + 1}`, `layer_${i}`];
    linear(`${ours}.attention.qkv`, `${theirs}/self_attention/linear_0`);
    linear(`${ours}.attention.output`, `${theirs}/self_attention/linear_1`);
    norm(`${ours}.attention.norm`, `${theirs}/self_attention/layer_norm`);
    linear(`${ours}.forward.up`, `${theirs}/ffn/linear_0`);
    linear(`${ours}.forward.down`, `${theirs}/ffn/linear_1`);
    norm(`${ours}.forward.norm`, `${theirs}/ffn/layer_norm`);
  }
  norm("norm", "layer_norm");
  linear("classifier", "projection");
  return gpt({
    ...{ layers: LAYERS, hidden: HIDDEN, heads: HEADS, inner: 256 },
    ...{ vocabulary: 16_377, positionsMax: 256, epsilon: 1e-6 },
    ...{ activation: "relu", embeddings: "scaled", classifier: "separate" },
    ...{ eos: END, banned: [0], ...options },
    weights: namedWeights(found, "language model"),
  });
}

/** A prompt of the language model, and what follows it. */
export interface Generation {
  readonly prompt: readonly number[];
  /** The final end mark included. */
  readonly ids: readonly number[];
  readonly steps: number;
  readonly ended: boolean;
  /** Smallest gap between the two best scores. */
  readonly gap: number;
}

export const END = 2;

/** The published greedy generations. */
export function generationsOf(folder: URL): Generation[] {
  const [, ...lines] = readFileSync(new URL("expected.tsv", folder), "utf8")
    .trimEnd().split("\n");
  return lines.map((line) => {
    const [prompt, ids, steps, ended, gap] = line.split("\t");
    const isEnded = ended === "1";
    const numbers = (text: string) =>
      text === "" ? [] : text.split(" ").map(Number);
    return {
      prompt: numbers(prompt),
      ids: [...numbers(ids), ...(isEnded ? [END] : [])],
      steps: Number(steps),
      ended: isEnded,
      gap: Number(gap),
    };
  });
}
