/** Attention of a decoder's step, written in the ways of exporters. */
import { Prng } from "../../src/base/prng.ts";
import { CONTRIB_DOMAIN } from "../../src/onnx/domains.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import type { FileParts } from "./file_parts.ts";
import { node, type WrittenAttribute } from "./write_model.ts";

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
  /**
   * What is added to scores: a slope times a position's number (ALiBi), a number for each range of distances (T5), or
   * nothing to the nearest `WINDOW` positions, which alone are seen, or to those of even numbers.
   */
  readonly bias?: "linear" | "ranges" | "window" | "even";
  /** What tanh of scores over it is multiplied by. */
  readonly cap?: number;
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
export const READ_MASK: ReadonlySet<Style["mask"]> = new Set([
  ...["input", "joined", "grouped", "multi-head"] as const,
]);

export function isContrib({ mask }: Style): boolean {
  return mask === "grouped" || mask === "multi-head";
}

/** Positions that are seen through a window. */
export const WINDOW = 5;

/** Ranges of distances: from one square number to the next. */
const RANGES = 8;

/** Elements of a mask's triangle. */
export const TRIANGLE = 48;

/** Writes it into a file. */
export class TinyAttention {
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
          ...[turnedQ, turnedK, v, this.#bias(), past("key"), past("value")],
        ],
        [output, present("key"), present("value")],
        { is_causal: 1, softcap: { float: this.options.cap ?? 0 } },
      ));
      mixed = output;
    } else {
      const join = (part: string, fresh: string) =>
        parts.add("Concat", [past(part), fresh], { axis: -2 }, present(part));
      const [keys, values] = [join("key", turnedK), join("value", v)];
      mixed = this.options.mask === "joined"
        ? parts.add("Attention", [
          ...[turnedQ, keys, values],
          this.options.bias ? this.#bias() : this.#seen(),
        ], {
          is_causal: this.options.causal ? 1 : 0,
          softcap: { float: this.options.cap ?? 0 },
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

  /** How many keys there are, an int64 without axes. */
  #keys(): string {
    const { parts, layer } = this;
    const number = (value: number) =>
      parts.constant(plainOf("int64", [], [value]));
    const sizes = parts.add("Shape", [`past_key_values.${layer}.key`]);
    return parts.add("Add", [
      parts.add("Gather", [sizes, number(2)]),
      number(1),
    ]);
  }

  /** What is added to scores, [1, heads, 1, keys], or whether a key is seen, [1, 1, 1, keys]; none: "". */
  #bias(): string {
    const { parts, options: { bias, heads, seed } } = this;
    if (!bias) return "";
    const number = (value: number) =>
      parts.constant(plainOf("int64", [], [value]));
    const keys = this.#keys();
    const all = parts.add("Range", [number(0), keys, number(1)]);
    const ago = parts.add("Sub", [
      parts.add("Sub", [keys, number(1)]),
      all,
    ]);
    if (bias === "window" || bias === "even") {
      const seen = bias === "window"
        ? parts.add("Less", [ago, number(WINDOW)])
        : parts.add("Equal", [parts.add("Mod", [all, number(2)]), number(0)]);
      return parts.add("Unsqueeze", [seen, parts.ints(0, 1, 2)]);
    }
    const floats = (x: string) => parts.add("Cast", [x], { to: 1 });
    if (bias === "linear") {
      const slopes = parts.constant(plainOf(
        "float32",
        [1, heads, 1, 1],
        Array.from({ length: heads }, (_, i) => 2 ** (-1.5 * i)),
      ));
      const wide = parts.add("Unsqueeze", [floats(all), parts.ints(0, 1, 2)]);
      return parts.add("Mul", [wide, slopes]);
    }
    const draw = new Prng(seed).fork("ranges");
    const table = parts.constant(plainOf(
      "float32",
      [RANGES, heads],
      Array.from({ length: RANGES * heads }, () => 4 * draw.float() - 2),
    ));
    const range = parts.add("Cast", [
      parts.add("Floor", [parts.add("Sqrt", [floats(ago)])]),
    ], { to: 7 });
    const rows = parts.add("Transpose", [parts.add("Gather", [table, range])], {
      perm: [1, 0],
    });
    return parts.add("Unsqueeze", [rows, parts.ints(0, 2)]);
  }

  /** Scores with a cap and what is added to them. */
  #shifted(scores: string): string {
    const { parts, options: { bias, cap, shared, heads } } = this;
    let shifted = scores;
    if (cap) {
      shifted = parts.add("Mul", [
        parts.add("Tanh", [parts.add("Div", [shifted, parts.float(cap)])]),
        parts.float(cap),
      ]);
    }
    if (bias === undefined) return shifted;
    const { kvHeads } = this.widths;
    const isMask = bias === "window" || bias === "even";
    const added = isMask || shared !== "broadcast"
      ? this.#bias()
      : parts.add("Reshape", [
        this.#bias(),
        parts.ints(1, kvHeads, heads / kvHeads, 1, -1),
      ]);
    return isMask
      ? parts.add("Where", [added, shifted, parts.float(-Infinity)])
      : parts.add("Add", [added, shifted]);
  }

  /** As ONNX Runtime's model builder and optimiser write it: heads side by side, rows of tables of angles. */
  #contrib(flat: readonly string[]): string {
    const { parts, options, layer } = this;
    const { heads, size, mask, positions, bias, cap = 0 } = options;
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
      const added = bias === "window"
        ? parts.add("Where", [
          ...[this.#bias(), parts.float(0), parts.float(-3.4e38)],
        ])
        : this.#bias();
      const inputs = [q, k, flat[2], "", all, added, ...past];
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
      [
        ...[...flat, ...past, ...lengths],
        ...(isRotary ? tables : ["", ""]),
        ...(bias && bias !== "window" ? ["", this.#bias()] : []),
      ],
      outputs,
      {
        ...{ num_heads: heads, kv_num_heads: kvHeads },
        do_rotary: isRotary ? 1 : 0,
        softcap: { float: cap },
        ...(bias === "window" && { local_window_size: WINDOW }),
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
    const masked = this.#masked(this.#shifted(scores));
    const shares = parts.add("Softmax", [masked], { axis: -1 });
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
