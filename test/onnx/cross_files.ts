/** Steps of decoders that look at what an encoder saw, as ONNX files, of seeded weights. */
import type { Prng } from "../../src/base/prng.ts";
import { plainOf, plainTensor } from "../../src/tensor/plain_tensor.ts";
import { FileParts } from "./file_parts.ts";
import { node, writeModel, type WrittenValue } from "./write_model.ts";

export const HEADS = 2;
export const SIZE = 4;
export const WIDTH = HEADS * SIZE;
export const VOCABULARY = 13;
/** Axis of what the encoder saw. */
export const SEEN = "encoder_sequence_length";
export const POSITIONS = 16;

export const STATES: Readonly<Record<string, string>> = Object.fromEntries(
  ["key", "value"].map((part) => [
    `past_key_values.0.decoder.${part}`,
    `present.0.decoder.${part}`,
  ]),
);

export const ENCODED = ["key", "value"].map((part) => `0.encoder.${part}`);

/**
 * @param brings what a request has of the encoder; "merged": keys, and an `If` of which the other branch makes them of
 * states
 * @param reads what else the step reads of it
 */
export function crossDecoder(
  brings: "states" | "keys" | "merged",
  prng: Prng,
  reads?: "sum" | "size" | "window",
) {
  const parts = new FileParts();
  const isMerged = brings === "merged";
  /** Of the branch without a past; its names are those of the other one. */
  const first = new FileParts();
  const made = (name: string) => isMerged ? `with past/${name}` : name;
  const weight = (rows: number, columns = WIDTH) =>
    parts.constant(plainTensor(
      "float32",
      [rows, columns],
      Float32Array.from(
        { length: rows * columns },
        () => (2 * prng.float() - 1) * 3 / Math.sqrt(rows),
      ),
    ));
  const linear = (x: string, to = parts) => {
    const used =
      parts.nodes.filter(({ op }) => op === "MatMul")[to.nodes.length];
    const name = to === first ? used.outputs[0] : undefined;
    return to.add("MatMul", [x, weight(WIDTH)], {}, name);
  };
  const split = (x: string, to = parts) =>
    to.add("Transpose", [
      to.add("Reshape", [x, parts.ints(0, -1, HEADS, SIZE)]),
    ], { perm: [0, 2, 1, 3] });
  const attention = (q: string, k: string, v: string, mask?: string) => {
    const turned = parts.add("Transpose", [k], { perm: [0, 1, 3, 2] });
    const scores = parts.add("MatMul", [q, turned]);
    const shares = parts.add("Softmax", [
      mask === undefined ? scores : parts.add("Add", [scores, mask]),
    ], { axis: -1 });
    const mixed = parts.add("Transpose", [parts.add("MatMul", [shares, v])], {
      perm: [0, 2, 1, 3],
    });
    return linear(parts.add("Reshape", [mixed, parts.ints(0, -1, WIDTH)]));
  };
  const table = parts.constant(plainOf(
    "uint8",
    [VOCABULARY, WIDTH],
    Array.from(
      { length: VOCABULARY * WIDTH },
      () => Math.floor(256 * prng.float()),
    ),
  ));
  let x = parts.add("Add", [
    parts.add("DequantizeLinear", [
      parts.add("Gather", [table, "input_ids"]),
      parts.float(0.01),
      parts.constant(plainOf("uint8", [], [128])),
    ]),
    parts.add("Gather", [weight(POSITIONS), "position_ids"]),
  ]);
  const [k, v] = Object.entries(STATES).map(([past, present]) =>
    parts.add("Concat", [past, split(linear(x))], { axis: 2 }, made(present))
  );
  x = parts.add("Add", [x, attention(split(linear(x)), k, v)]);
  const wide = parts.add("Unsqueeze", [
    "encoder_attention_mask",
    parts.ints(1, 2),
  ]);
  const off = parts.add("Sub", [
    parts.float(1),
    parts.add("Cast", [wide], { to: 1 }),
  ]);
  let mask = parts.add("Mul", [off, parts.float(-3.4028234663852886e38)]);
  if (reads === "window") {
    // Of four positions and more, the first one is left out.
    const count = parts.add("Shape", [mask]);
    const size = parts.add("Gather", [count, parts.ints(3)]);
    const rest = parts.add("Sub", [size, parts.ints(1)]);
    const added = parts.add("Where", [
      parts.add("Less", [size, parts.ints(4)]),
      ...[parts.float(0), parts.float(-1e9)],
    ]);
    const zeros = parts.add("ConstantOfShape", [rest]);
    const row = parts.add("Concat", [added, zeros], { axis: 0 });
    mask = parts.add("Add", [mask, row]);
  }
  const seen = brings === "keys"
    ? ENCODED.map((name) => `past_key_values.${name}`)
    : ENCODED.map(() => {
      const to = isMerged ? first : parts;
      return split(linear("encoder_hidden_states", to), to);
    });
  const [key, value] = isMerged
    ? ENCODED.map((name) => `past_key_values.${name}`)
    : seen;
  x = parts.add("Add", [x, attention(split(linear(x)), key, value, mask)]);
  if (reads === "sum") {
    x = parts.add("Add", [
      x,
      parts.add("ReduceMax", ["encoder_hidden_states"]),
    ]);
  } else if (reads === "size") {
    const count = parts.add("Size", ["encoder_hidden_states"]);
    x = parts.add("Div", [x, parts.add("Cast", [count], { to: 1 })]);
  }
  parts.add("MatMul", [x, weight(WIDTH, VOCABULARY)], {}, made("logits"));
  const outputs = ["logits", ...Object.values(STATES)];
  const presents = ENCODED.map((name) => `present.${name}`);
  const { initializers } = parts;
  const nodes = isMerged
    ? [
      node("If", ["use_cache_branch"], [...outputs, ...presents], {
        // Optimum gives keys of nothing where they are known.
        then_branch: {
          graph: {
            nodes: parts.nodes,
            outputs: [...outputs.map(made), "nothing", "nothing"].map((
              name,
            ) => ({
              name,
            })),
            initializers: {
              nothing: plainOf("float32", [0, HEADS, 1, SIZE], []),
            },
          },
        },
        else_branch: {
          graph: {
            nodes: [
              ...first.nodes,
              ...outputs.map((name, i) =>
                node("Identity", [["scores", ...Object.keys(STATES)][i]], [
                  `first/${name}`,
                ])
              ),
            ],
            outputs: [...outputs.map((name) => `first/${name}`), ...seen].map((
              name,
            ) => ({ name })),
            initializers: {
              scores: plainOf(
                "float32",
                [1, 1, VOCABULARY],
                Array(VOCABULARY).fill(0),
              ),
            },
          },
        },
      }),
    ]
    : parts.nodes;
  const cache = (name: string, axis: string): WrittenValue => ({
    name,
    dims: ["batch", HEADS, axis, SIZE],
  });
  return writeModel({
    opsets: { "": 17 },
    graph: {
      inputs: [
        {
          name: "encoder_attention_mask",
          type: "int64",
          dims: ["batch", SEEN],
        },
        ...["input_ids", "position_ids"].map((name) => ({
          ...{ name, type: "int64" as const, dims: ["batch", "length"] },
        })),
        ...Object.keys(STATES).map((name) => cache(name, "past_length")),
        ...brings === "keys"
          ? []
          : [{ name: "encoder_hidden_states", dims: ["batch", SEEN, WIDTH] }],
        ...brings === "states"
          ? []
          : ENCODED.map((name) => cache(`past_key_values.${name}`, SEEN)),
        ...isMerged
          ? [{ name: "use_cache_branch", type: "bool" as const, dims: [1] }]
          : [],
      ],
      outputs: [...outputs, ...isMerged ? presents : []].map((name) => ({
        name,
      })),
      nodes,
      initializers,
    },
  });
}
