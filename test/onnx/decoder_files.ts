/**
 * Steps of decoders as ONNX files, of seeded weights, written in the ways of exporters.
 */
import { Prng } from "../../src/base/prng.ts";
import { CONTRIB_DOMAIN } from "../../src/onnx/domains.ts";
import { plainOf, plainTensor } from "../../src/tensor/plain_tensor.ts";
import {
  isContrib,
  READ_MASK,
  TABLE_ROWS,
  TinyAttention,
  type TinyDecoder,
} from "./decoder_attention.ts";
import { FileParts } from "./file_parts.ts";
import { node, writeModel, type WrittenValue } from "./write_model.ts";

/** A decoder's step as `optimum` exports them: attention to all earlier positions, a layer after the other. */
export function tinyDecoder(options: TinyDecoder): Uint8Array<ArrayBuffer> {
  const { layers, heads, size, vocabulary, shared, positions } = options;
  const draw = new Prng(options.seed);
  const parts = new FileParts();
  const hidden = heads * size;
  const kvHeads = shared === "no" ? heads : heads / 2;
  const weight = (rows: number, columns: number) =>
    parts.constant(
      plainTensor(
        "float32",
        [rows, columns],
        Float32Array.from(
          { length: rows * columns },
          () => (2 * draw.float() - 1) * 3 / Math.sqrt(rows),
        ),
      ),
    );
  const rowOf = (rows: number, id: string) => {
    if (!options.bytes) return parts.add("Gather", [weight(rows, hidden), id]);
    const table = parts.constant(plainOf(
      "uint8",
      [rows, hidden],
      Array.from(
        { length: rows * hidden },
        () => Math.floor(256 * draw.float()),
      ),
    ));
    const zero = parts.constant(plainOf("uint8", [], [117]));
    const row = parts.add("Gather", [table, id]);
    return parts.add("DequantizeLinear", [row, parts.float(0.01), zero]);
  };
  let x = rowOf(vocabulary, "input_ids");
  if (positions === "table") {
    x = parts.add("Add", [x, rowOf(TABLE_ROWS, "position_ids")]);
  }
  const embedded = x;
  const caches: WrittenValue[] = [];
  const presents: WrittenValue[] = [];
  for (let layer = 0; layer < layers; layer++) {
    const attention = new TinyAttention(parts, options, layer, {
      hidden,
      kvHeads,
    });
    const mixed = attention.of(x, weight);
    x = parts.add("Add", [
      x,
      parts.add("MatMul", [mixed, weight(hidden, hidden)]),
    ]);
    for (const part of ["key", "value"]) {
      caches.push({
        name: `past_key_values.${layer}.${part}`,
        dims: ["batch_size", kvHeads, "past_sequence_length", size],
      });
      presents.push({ name: `present.${layer}.${part}` });
    }
  }
  const classifier = weight(hidden, vocabulary);
  if (options.merged) {
    const branch = (sign: number) => ({
      graph: {
        outputs: [{ name: `scores ${sign}` }],
        initializers: { [`sign ${sign}`]: plainOf("float32", [], [sign]) },
        nodes: [
          node("MatMul", [x, classifier], [`plain ${sign}`]),
          node("Mul", [`plain ${sign}`, `sign ${sign}`], [`scores ${sign}`]),
        ],
      },
    });
    parts.add("If", ["use_cache_branch"], {
      then_branch: branch(1),
      else_branch: branch(-1),
    }, "logits");
  } else if (options.sums) {
    const sum = parts.add("ReduceSum", ["present.0.key"], { keepdims: 0 });
    const scores = parts.add("MatMul", [x, classifier]);
    parts.add("Add", [scores, sum], {}, "logits");
  } else {
    const scored = options.apart ? embedded : x;
    parts.add("MatMul", [scored, classifier], {}, "logits");
  }
  const ids = (name: string, axis = "sequence_length"): WrittenValue => ({
    name,
    type: "int64",
    dims: ["batch_size", axis],
  });
  return writeModel({
    opsets: {
      "": options.mask === "operator" || options.mask === "joined" ? 23 : 17,
      ...(isContrib(options) && { [CONTRIB_DOMAIN]: 1 }),
    },
    graph: {
      inputs: [
        ids("input_ids"),
        ...(READ_MASK.has(options.mask)
          ? [ids("attention_mask", "past_sequence_length + sequence_length")]
          : []),
        ...(positions === "none" ||
            positions === "rotary" && options.mask === "grouped"
          ? []
          : [ids("position_ids")]),
        ...(options.merged
          ? [{ name: "use_cache_branch", type: "bool" as const, dims: [1] }]
          : []),
        ...caches,
      ],
      outputs: [{ name: "logits" }, ...presents],
      nodes: parts.nodes,
      initializers: parts.initializers,
    },
  });
}
