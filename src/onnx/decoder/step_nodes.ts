/** Nodes that a step becomes, and those of each position that an encoder saw; caches and masks that they have to do with. */
import { plainOf } from "../../tensor/plain_tensor.ts";
import type { OnnxAttribute, OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { DECODER_DOMAIN } from "../cache_nodes.ts";
import type { BlankMask } from "./masks.ts";
import type { Positions } from "./positions.ts";
import type { ScoreBias, ScoreTerm } from "./score_bias.ts";

/** Keys and values that an attention looks at. */
export interface StepCache {
  readonly keyWidth: number;
  readonly valueWidth: number;
  /** Whether they are of what an encoder saw; otherwise of earlier steps. */
  readonly isSeen: boolean;
}

/** Heads of an attention. */
export interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  /** Elements of a head. */
  readonly size: number;
  readonly scale: number;
  /** What tanh of scores is multiplied by; 0: scores are as they are. */
  readonly cap: number;
  /** What is added to scores. */
  readonly terms: readonly ScoreTerm[];
  /** Whether it is to what an encoder saw. */
  readonly isSeen: boolean;
  /** How often each head of keys and values is repeated: it is kept once. */
  readonly repeats: number;
}

export class StepNodes {
  readonly nodes: OnnxNode[] = [];
  /** Those of a position that an encoder saw. */
  readonly seenNodes: OnnxNode[] = [];
  readonly caches: StepCache[] = [];
  readonly masks: BlankMask[] = [];
  readonly biases = new Map<string, ScoreBias>();
  /** By keys and values. */
  readonly #places = new Map<string, number>();

  /** @param known what is known of values; those that are made here are added */
  constructor(
    readonly known: Map<string, KnownValue>,
    readonly positions: Positions,
  ) {}

  /** A value in other sizes, of as many elements. @returns its name */
  viewed(name: string, dims: readonly number[], isSeen = false): string {
    const view = `${name}#${dims.join("x")}`;
    return this.#add("Reshape", view, dims, [name], [dims], isSeen);
  }

  /** One of as many heads as there are of each, next to each other. */
  #once(
    name: string,
    { kvHeads, repeats, size, isSeen }: Heads,
  ): string {
    const groups = [kvHeads / repeats, repeats * size];
    const view = this.viewed(name, groups, isSeen);
    const ranges = [[0], [size], [1]];
    return this.#add(
      "Slice",
      `${view}#once`,
      [groups[0], size],
      [view],
      ranges,
      isSeen,
    );
  }

  /** Adds a node of whole numbers behind what it reads, unless it is there. @returns its result */
  #add(
    op: string,
    output: string,
    dims: readonly number[],
    inputs: readonly string[],
    settings: readonly (readonly number[])[],
    isSeen: boolean,
  ): string {
    if (this.known.has(output)) return output;
    const names = settings.map((numbers, i) => {
      const constant = plainOf("int64", [numbers.length], numbers);
      const name = `${output}#${i}`;
      this.known.set(name, { ...constant, constant });
      return name;
    });
    this.known.set(output, { type: "float32", dims });
    (isSeen ? this.seenNodes : this.nodes).push({
      ...{ name: output, op, domain: "", version: 13 },
      inputs: [...inputs, ...names],
      outputs: [output],
      attributes: new Map(),
    });
    return output;
  }

  /**
   * Attention of a step's query: to what an encoder saw, or to all steps so far, with its key and value behind those of
   * the past.
   */
  attend(
    { name, outputs: [output] }: OnnxNode,
    [query, ...keyAndValue]: readonly [string, string, string],
    given: Heads,
  ): void {
    const { heads, size, scale, cap, terms, isSeen, repeats } = given;
    if (terms.length > 0) this.biases.set(output, { heads, terms });
    const isRepeated = repeats > 1 && given.kvHeads % repeats === 0;
    const kvHeads = given.kvHeads / (isRepeated ? repeats : 1);
    const [key, value] = isRepeated
      ? keyAndValue.map((name) => this.#once(name, given))
      : keyAndValue;
    const both = `${key} ${value}`;
    const found = this.#places.get(both);
    const width = kvHeads * size;
    const cache = found ??
      this.caches.push({ keyWidth: width, valueWidth: width, isSeen }) - 1;
    this.#places.set(both, cache);
    const made = (
      op: string,
      inputs: readonly string[],
      outputs: readonly string[],
      attributes: readonly (readonly [string, OnnxAttribute])[],
    ): OnnxNode => ({
      ...{ name, op, domain: DECODER_DOMAIN, version: 1, inputs, outputs },
      attributes: new Map(attributes),
    });
    if (isSeen && found === undefined) {
      const place = this.caches.filter(({ isSeen }) => isSeen).length - 1;
      this.seenNodes.push(made("CacheAppend", [key, value], [], [
        ["cache", { kind: "int", value: place }],
      ]));
    }
    const appends = !isSeen && found === undefined;
    this.nodes.push(
      made("CacheAttention", [query, ...(appends ? [key, value] : [])], [
        output,
      ], [
        ["cache", { kind: "int", value: cache }],
        ["heads", { kind: "int", value: heads }],
        ["kv_heads", { kind: "int", value: kvHeads }],
        ["scale", { kind: "float", value: scale }],
        ["cap", { kind: "float", value: cap }],
        ["causal", { kind: "int", value: isSeen ? 0 : 1 }],
      ]),
    );
  }

  /** A constant of one number, whatever the position. */
  number(name: string): number | undefined {
    const constant = this.known.get(name)?.constant;
    return constant?.data.length === 1 && !this.positions.isOfPosition(name)
      ? Number(constant.data[0])
      : undefined;
  }

  /**
   * Whether a value of what an encoder saw, known without any token, has these elements alone; looked at again for other
   * numbers of positions (`maskedSeen`).
   * @param blank of floats
   * @param blankBool of bools
   */
  isBlank(
    node: OnnxNode,
    name: string,
    blank: number,
    blankBool: number,
  ): boolean {
    const { type, constant } = this.known.get(name)!;
    const wanted = type === "bool" ? blankBool : blank;
    const isBlank = constant !== undefined &&
      constant.data.every((one) => Number(one) === wanted);
    if (isBlank) this.masks.push({ node, name, blank: wanted });
    return isBlank;
  }
}
