/**
 * Steps of decoders as ONNX files, of seeded weights, written in the ways of exporters.
 */
import { Prng } from "../../src/base/prng.ts";
import { CONTRIB_DOMAIN } from "../../src/onnx/domains.ts";
import { plainOf, plainTensor } from "../../src/tensor/plain_tensor.ts";
import { FileParts } from "./file_parts.ts";
import {
  node,
  writeModel,
  type WrittenAttribute,
  type WrittenValue,
} from "./write_model.ts";

/** How a file's attention is written. */
export interface Style {
  /**
   * Whether keys come with fewer heads than queries: each repeated by Expand, or all of them one after the other, or
   * shared by the heads of a group.
   */
  readonly shared: "expanded" | "tiled" | "broadcast" | "no";
  /**
   * A mask that is made of the input, a triangle cut from a constant, none, or ONNX's own operator: with a past, or of
   * all keys and a mask made of the input; or those of ONNX Runtime, with a past.
   */
  readonly mask:
    | "input"
    | "triangle"
    | "none"
    | "operator"
    | "joined"
    | "grouped"
    | "multi-head";
  /** Where the scale is: behind the product, or half of it on either side of it. */
  readonly scale: "scores" | "both";
  /** Rows of a table, turned pairs (of sines made in the file), or none. */
  readonly positions: "table" | "rotary" | "none";
}

/** Sizes of a file. */
export interface TinyDecoder extends Style {
  readonly layers: number;
  readonly heads: number;
  readonly size: number;
  readonly vocabulary: number;
  readonly seed: number;
  /** Whether scores come out of an `If`, as of decoders that are merged of one with and one without a past. */
  readonly merged?: boolean;
  /** Whether tables that rows are picked from are bytes, as ONNX Runtime's quantiser writes them. */
  readonly bytes?: boolean;
  /** Whether ONNX's operator over joined keys is told that it is causal: a step's one query then sees the first key. */
  readonly causal?: boolean;
  /** Whether scores are of the token alone: what attention makes is for nobody. */
  readonly apart?: boolean;
  /** Whether the sum of all keys is added to the scores. */
  readonly sums?: boolean;
}

/** Rows of a table of positions. */
export const TABLE_ROWS = 40;

/** Ways in which the input that is 1 for every position is read. */
const READ_MASK: ReadonlySet<Style["mask"]> = new Set([
  ...["input", "joined", "grouped", "multi-head"] as const,
]);

function isContrib({ mask }: Style): boolean {
  return mask === "grouped" || mask === "multi-head";
}

/** Elements of a mask's triangle. */
export const TRIANGLE = 48;

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

class TinyAttention {
  constructor(
    readonly parts: FileParts,
    readonly options: TinyDecoder,
    readonly layer: number,
    readonly widths: { hidden: number; kvHeads: number },
  ) {}

  of(x: string, weight: (rows: number, columns: number) => string): string {
    const { parts, options: { heads, size }, layer } = this;
    const { hidden, kvHeads } = this.widths;
    const flat = [heads, kvHeads, kvHeads].map((heads) =>
      parts.add("MatMul", [x, weight(hidden, heads * size)])
    );
    if (isContrib(this.options)) return this.#contrib(flat);
    const [q, k, v] = flat.map((x, i) =>
      parts.add("Transpose", [
        parts.add("Reshape", [
          x,
          parts.ints(0, 0, i === 0 ? heads : kvHeads, size),
        ]),
      ], { perm: [0, 2, 1, 3] })
    );
    const [turnedQ, turnedK] = [this.#turned(q), this.#turned(k)];
    const past = (part: string) => `past_key_values.${layer}.${part}`;
    const present = (part: string) => `present.${layer}.${part}`;
    let mixed: string;
    if (this.options.mask === "operator") {
      const output = `mixed.${layer}`;
      parts.nodes.push(node(
        "Attention",
        [
          ...[turnedQ, turnedK, v, "", past("key"), past("value")],
        ],
        [output, present("key"), present("value")],
        { is_causal: 1 },
      ));
      mixed = output;
    } else {
      const join = (part: string, fresh: string) =>
        parts.add("Concat", [past(part), fresh], { axis: -2 }, present(part));
      const [keys, values] = [join("key", turnedK), join("value", v)];
      mixed = this.options.mask === "joined"
        ? parts.add("Attention", [turnedQ, keys, values, this.#seen()], {
          is_causal: this.options.causal ? 1 : 0,
        })
        : this.#mixed(turnedQ, keys, values);
    }
    return parts.add("Reshape", [
      parts.add("Transpose", [mixed], { perm: [0, 2, 1, 3] }),
      parts.ints(0, 0, hidden),
    ]);
  }

  /** Of every key whether it counts. */
  #seen(): string {
    const { parts } = this;
    const wide = parts.add("Unsqueeze", ["attention_mask", parts.ints(1, 2)]);
    return parts.add("Cast", [wide], { to: 9 });
  }

  /** As ONNX Runtime's model builder and optimiser write it: heads side by side, rows of tables of angles. */
  #contrib(flat: readonly string[]): string {
    const { parts, options: { heads, size, mask, positions }, layer } = this;
    const { kvHeads } = this.widths;
    const half = size / 2;
    const tables = [Math.cos, Math.sin].map((turn) =>
      parts.constant(plainOf(
        "float32",
        [TABLE_ROWS, half],
        Array.from(
          { length: TABLE_ROWS * half },
          (_, i) =>
            turn(
              Math.floor(i / half) * Math.fround(100 ** (-(i % half) / half)),
            ),
        ),
      ))
    );
    const isRotary = positions === "rotary";
    const past = ["key", "value"].map((part) =>
      `past_key_values.${layer}.${part}`
    );
    const output = `mixed.${layer}`;
    const outputs = [output, `present.${layer}.key`, `present.${layer}.value`];
    const add = (
      op: string,
      inputs: readonly string[],
      outputs: readonly string[],
      attributes: Record<string, WrittenAttribute>,
    ) => {
      parts.nodes.push({
        ...node(op, inputs, outputs, attributes),
        domain: CONTRIB_DOMAIN,
      });
      return outputs[0];
    };
    if (mask === "multi-head") {
      const [q, k] = flat.map((x, i) =>
        isRotary
          ? add(
            "RotaryEmbedding",
            [x, "position_ids", ...tables],
            [`turned.${layer}.${i}`],
            {},
          )
          : x
      );
      const all = parts.add("Cast", ["attention_mask"], { to: 6 });
      const inputs = [q, k, flat[2], "", all, "", ...past];
      return add("MultiHeadAttention", inputs, outputs, { num_heads: heads });
    }
    const count = parts.add("ReduceSum", ["attention_mask", parts.ints(1)], {
      keepdims: 0,
    });
    const last = parts.add("Sub", [count, parts.ints(1)]);
    const total = parts.add("Squeeze", [count]);
    const lengths = [last, total].map((x) => parts.add("Cast", [x], { to: 6 }));
    return add(
      "GroupQueryAttention",
      [...flat, ...past, ...lengths, ...(isRotary ? tables : [])],
      outputs,
      {
        ...{ num_heads: heads, kv_num_heads: kvHeads },
        do_rotary: isRotary ? 1 : 0,
      },
    );
  }

  /** Halves of a head turned by the position's angle. */
  #turned(x: string): string {
    const { parts, options: { positions, size } } = this;
    if (positions !== "rotary") return x;
    const half = size / 2;
    const frequencies = parts.constant(plainOf(
      "float32",
      [1, 1, half],
      Array.from({ length: half }, (_, i) => 100 ** (-i / half)),
    ));
    const place = parts.add("Cast", [
      parts.add("Unsqueeze", ["position_ids", parts.ints(2)]),
    ], { to: 1 });
    const angles = parts.add("Mul", [place, frequencies]);
    const both = parts.add("Unsqueeze", [
      parts.add("Concat", [angles, angles], { axis: 2 }),
      parts.ints(1),
    ]);
    const slice = (from: number, to: number) =>
      parts.add("Slice", [
        ...[x, parts.ints(from), parts.ints(to), parts.ints(3)],
      ]);
    const other = parts.add("Concat", [
      ...[parts.add("Neg", [slice(half, size)]), slice(0, half)],
    ], { axis: -1 });
    return parts.add("Add", [
      parts.add("Mul", [x, parts.add("Cos", [both])]),
      parts.add("Mul", [other, parts.add("Sin", [both])]),
    ]);
  }

  #mixed(q: string, k: string, v: string): string {
    const { parts, options: { size, scale, shared, heads } } = this;
    const { kvHeads } = this.widths;
    const group = heads / kvHeads;
    let [query, keys, values] = [q, k, v];
    if (shared === "broadcast") {
      query = parts.add("Reshape", [q, parts.ints(1, kvHeads, group, 1, size)]);
      [keys, values] = [keys, values].map((x) =>
        parts.add("Unsqueeze", [x, parts.ints(2)])
      );
    } else if (shared !== "no") {
      [keys, values] = [keys, values].map((x) => this.#repeated(x, group));
    }
    const rank = shared === "broadcast" ? 5 : 4;
    const perm = Array.from({ length: rank }, (_, i) => i);
    let turned = parts.add("Transpose", [keys], {
      perm: perm.with(rank - 2, rank - 1).with(rank - 1, rank - 2),
    });
    const factor = Math.sqrt(1 / Math.sqrt(size));
    if (scale === "both") {
      query = parts.add("Mul", [query, parts.float(factor)]);
      turned = parts.add("Mul", [turned, parts.float(factor)]);
    }
    let scores = parts.add("MatMul", [query, turned]);
    if (scale === "scores") {
      scores = parts.add("Div", [scores, parts.float(Math.sqrt(size))]);
    }
    const shares = parts.add("Softmax", [this.#masked(scores)], { axis: -1 });
    const mixed = parts.add("MatMul", [shares, values]);
    return shared === "broadcast"
      ? parts.add("Reshape", [mixed, parts.ints(1, heads, 1, size)])
      : mixed;
  }

  /** Heads of keys one after the other, each, or all of them, as often as heads of queries share one. */
  #repeated(x: string, group: number): string {
    const { parts, options: { heads, size, shared } } = this;
    const axis = shared === "tiled" ? 1 : 2;
    const front = [heads / group, group];
    const length = parts.add("Gather", [
      ...[parts.add("Shape", [x]), parts.ints(2)],
    ]);
    const wide = parts.add("Expand", [
      parts.add("Unsqueeze", [x, parts.ints(axis)]),
      parts.add("Concat", [
        parts.ints(1, ...(axis === 1 ? front.toReversed() : front)),
        ...[length, parts.ints(size)],
      ], { axis: 0 }),
    ]);
    return parts.add("Reshape", [
      wide,
      parts.add("Concat", [
        ...[parts.ints(1, heads), length, parts.ints(size)],
      ], { axis: 0 }),
    ]);
  }

  #masked(scores: string): string {
    const { parts, options: { mask, shared } } = this;
    if (mask === "input") {
      const axes = shared === "broadcast" ? [1, 2, 3] : [1, 2];
      const wide = parts.add("Unsqueeze", [
        "attention_mask",
        parts.ints(...axes),
      ]);
      const hidden = parts.add("Sub", [
        parts.float(1),
        parts.add("Cast", [wide], { to: 1 }),
      ]);
      return parts.add("Add", [
        scores,
        parts.add("Mul", [hidden, parts.float(-3.4028234663852886e38)]),
      ]);
    }
    if (mask === "none") return scores;
    const triangle = parts.constant(plainOf(
      "bool",
      [1, 1, TRIANGLE, TRIANGLE],
      Array.from(
        { length: TRIANGLE * TRIANGLE },
        (_, i) => i % TRIANGLE <= Math.floor(i / TRIANGLE) ? 1 : 0,
      ),
    ));
    const seen = parts.add("Gather", [
      parts.add("Shape", [scores]),
      parts.ints(shared === "broadcast" ? 4 : 3),
    ]);
    const before = parts.add("Sub", [seen, parts.ints(1)]);
    const row = parts.add("Slice", [
      parts.add("Slice", [triangle, before, seen, parts.ints(2)]),
      ...[parts.ints(0), seen, parts.ints(3)],
    ]);
    return parts.add("Where", [row, scores, parts.float(-1e9)]);
  }
}
