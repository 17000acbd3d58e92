/**
 * What a step does with its past becomes attention over caches: a cache is the past with the new position behind it,
 * what is computed of each of its positions alone is computed of the new one before it is appended, and products,
 * softmax and products again are one operator. What is added to scores whatever the tokens, masks among it, is its bias.
 * Nothing else may read the past. What an encoder saw is as a past that is there from the beginning: keys and values are
 * computed of each of its positions alone, once.
 */
import { plainOf } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { readNames } from "../names.ts";
import { type Place, quoted } from "../place.ts";
import type { BlankMask } from "./masks.ts";
import type { Positions } from "./positions.ts";
import { repeatsBehind } from "./repeats.ts";
import type { ScoreBias, ScoreTerm } from "./score_bias.ts";
import { type Grown, type PositionsOf, scored, type Scores } from "./scores.ts";
import type { StepFile } from "./step_file.ts";
import { type StepCache, StepNodes } from "./step_nodes.ts";

/** A step without its past. */
export interface PastFree {
  readonly graph: OnnxGraph;
  /**
   * What is computed once of every position that an encoder saw, up to what is appended to caches, in the order of
   * those that are of an encoder; inputs are of one position, in the order of the file's.
   */
  readonly encoder: OnnxGraph | undefined;
  readonly known: Map<string, KnownValue>;
  readonly caches: readonly StepCache[];
  /** Of what an encoder saw. */
  readonly masks: readonly BlankMask[];
  /** What is added to the scores of attentions, by the names of their results. */
  readonly biases: ReadonlyMap<string, ScoreBias>;
}

/** Operators that compute every position by itself, wherever it is, of it and operands that are alike for all. */
const EACH: ReadonlySet<string> = new Set([
  ...["Mul", "Div", "Add", "Sub", "Neg", "Cast", "Identity"],
  ...["Transpose", "Reshape", "Unsqueeze", "Squeeze", "Expand"],
]);

/** Products of rows with a constant. */
const PRODUCTS: ReadonlySet<string> = new Set(["MatMul", "Gemm"]);

/** Operators that get the sizes of their result as an input. */
const SIZED: ReadonlySet<string> = new Set(["Reshape", "Expand"]);

/** A position of an input of which an encoder saw many. */
function oneOf(name: string): string {
  return `${name}#one`;
}

/** @throws OnnxError naming the node that reads the past in another way */
export function pastFree(
  step: StepFile,
  positions: Positions,
  place: Place,
): PastFree {
  return new PastRemoval(step, positions, place).run();
}

class PastRemoval {
  readonly #known: Map<string, KnownValue>;
  readonly #grown = new Map<string, Grown>();
  readonly #made: StepNodes;

  constructor(
    readonly step: StepFile,
    readonly positions: Positions,
    readonly place: Place,
  ) {
    this.#known = new Map(positions.known);
    this.#made = new StepNodes(this.#known, positions);
    for (const state of step.caches) {
      this.#grown.set(state.input, { kind: "past", state });
    }
    for (const { name, axis } of step.seen?.inputs ?? []) {
      const { type, dims } = this.#known.get(name)!;
      const fresh = oneOf(name);
      this.#known.set(fresh, { type, dims: dims.with(axis, 1) });
      this.#grown.set(name, {
        ...{ kind: "positions", state: null, axis, fresh, repeats: 1 },
      });
    }
  }

  run(): PastFree {
    const { graph } = this.positions;
    for (const node of graph.nodes) this.#visit(node);
    for (const state of this.step.caches) {
      const grown = this.#grown.get(state.output);
      const isCache = grown?.kind === "positions" && grown.state === state &&
        grown.axis === state.axis;
      if (isCache) continue;
      this.place.in(`state ${quoted(state.input)}`).fail(
        `output ${quoted(state.output)} is not it with one position more ` +
          `behind, along axis ${state.axis} (Concat)`,
      );
    }
    const { seen } = this.step;
    const past = new Set([
      ...this.step.caches.flatMap(({ input, output }) => [input, output]),
      ...seen?.inputs.map(({ name }) => name) ?? [],
    ]);
    const kept = ({ name }: { name: string }) => !past.has(name);
    return {
      encoder: seen && {
        ...graph,
        inputs: seen.inputs.map(({ name }) => oneOf(name)).map((name) => ({
          name,
          ...this.#known.get(name)!,
        })),
        outputs: [],
        nodes: this.#made.seenNodes,
      },
      graph: {
        ...graph,
        inputs: graph.inputs.filter(kept),
        outputs: graph.outputs.filter(kept),
        nodes: this.#made.nodes,
      },
      known: this.#known,
      caches: this.#made.caches,
      masks: this.#made.masks,
      biases: this.#made.biases,
    };
  }

  #visit(node: OnnxNode): void {
    if (!readNames(node).some((name) => this.#grown.has(name))) {
      const grows = node.outputs.some((name) =>
        name !== "" && (this.positions.grown(name).length > 0 ||
          this.positions.grownSeen(name).length > 0)
      );
      if (grows) this.#fail(node, "it grows with the positions");
      const ofSeen = readNames(node).find((name) =>
        this.positions.isOfSeen(name)
      );
      if (ofSeen !== undefined) {
        this.#fail(
          node,
          `${quoted(ofSeen)} depends on how many positions an encoder saw`,
        );
      }
      this.#made.nodes.push(node);
      return;
    }
    const isInside = !node.inputs.some((name) => this.#grown.has(name));
    if (node.domain !== "" || isInside) this.#fail(node);
    const made = node.op === "Attention"
      ? this.#attention(node)
      : this.#joined(node) ?? this.#each(node) ?? this.#product(node) ??
        scored(node, {
          ...{ grown: this.#grown, known: this.#known, made: this.#made },
          positions: this.positions,
        });
    if (made === "done") return;
    if (made === undefined || node.outputs.length !== 1) this.#fail(node);
    this.#grown.set(node.outputs[0], made!);
  }

  #fail(node: OnnxNode, why?: string): never {
    return this.place.node(node).fail(
      why ??
        `it reads ${
          node.inputs.some((name) => this.#isSeen(name))
            ? "what an encoder saw"
            : "states of earlier positions"
        } in a way that is no attention to all of them`,
    );
  }

  /** Whether a value is of the positions that an encoder saw. */
  #isSeen(name: string): boolean {
    const grown = this.#grown.get(name);
    if (grown?.kind === "positions") return grown.state === null;
    return grown?.kind === "scores" || grown?.kind === "shares"
      ? grown.keys.state === null
      : false;
  }

  /** The axes along which a value grows, or of what an encoder saw. */
  #axesOf(name: string, isSeen: boolean): number[] {
    return isSeen ? this.positions.grownSeen(name) : this.positions.grown(name);
  }

  #dims(name: string): readonly number[] {
    return this.#known.get(name)!.dims;
  }

  /** The past, and the new position behind it. */
  #joined(node: OnnxNode): Grown | undefined {
    const [past, fresh] = node.inputs;
    const grown = this.#grown.get(past);
    if (grown?.kind !== "past") return undefined;
    const { state } = grown;
    const rank = this.#dims(past).length;
    const axis = attributeOf(node, "axis", "int") ?? 0;
    const isJoin = node.op === "Concat" && node.inputs.length === 2 &&
      !this.#grown.has(fresh) &&
      (axis < 0 ? axis + rank : axis) === state.axis &&
      this.#dims(fresh)[state.axis] === 1;
    if (!isJoin) this.#fail(node);
    return { kind: "positions", state, axis: state.axis, fresh, repeats: 1 };
  }

  /** A node for each position: it is applied to the new one. */
  #each(node: OnnxNode): Grown | undefined {
    const { op, inputs, outputs: [output] } = node;
    const from = inputs.map((name) => this.#grown.get(name));
    const grown = from.find((one) => one !== undefined);
    if (grown?.kind !== "positions") return undefined;
    const isSeen = grown.state === null;
    const rows = isSeen && PRODUCTS.has(op);
    if (!EACH.has(op) && !rows) return undefined;
    const sized = SIZED.has(op);
    const dims = this.#dims(output);
    const axes = this.#axesOf(output, isSeen);
    const [axis] = axes;
    if (axes.length !== 1) return undefined;
    if (rows) {
      const isRows = from[0] === grown && axis === grown.axis &&
        grown.axis < this.#dims(inputs[0]).length - 1 &&
        (attributeOf(node, "transA", "int") ?? 0) === 0;
      if (!isRows) return undefined;
    }
    const before = (name: string, axis: number) =>
      elementCount(this.#dims(name).slice(0, axis));
    const moves = op === "Reshape" || op === "Squeeze" || op === "Unsqueeze";
    const given = inputs[from.indexOf(grown)];
    if (moves && before(given, grown.axis) !== before(output, axis)) {
      return undefined;
    }
    const others = inputs.filter((name, i) =>
      from[i] === undefined && name !== "" && !(sized && i === 1)
    );
    const isAlike = others.every((name) => {
      const size = this.#dims(name).at(axis - dims.length);
      const isConstant = this.positions.isKnown(name) &&
        !this.positions.isOfPosition(name);
      return this.#axesOf(name, isSeen).length === 0 &&
        (!isSeen || isConstant) &&
        (rows || op === "Squeeze" || op === "Unsqueeze" || size === undefined ||
          size === 1);
    });
    const isOne = from.filter((one) => one !== undefined).length === 1;
    if (!isAlike || !isOne) return undefined;
    const fresh = `${output}#new`;
    const to = dims.with(axis, 1);
    this.#known.set(fresh, { type: this.#known.get(output)!.type, dims: to });
    const shape = `${output}#sizes`;
    if (sized) {
      const constant = plainOf("int64", [to.length], to);
      this.#known.set(shape, { ...constant, constant });
    }
    (isSeen ? this.#made.seenNodes : this.#made.nodes).push({
      ...node,
      name: `${node.name}#new`,
      inputs: inputs.map((name, i) =>
        sized && i === 1 ? shape : from[i] === undefined ? name : grown.fresh
      ),
      outputs: [fresh],
    });
    const repeats = repeatsBehind(node, grown.repeats, {
      from: this.#dims(given),
      to: dims,
      isByNumber: others.every((name) => elementCount(this.#dims(name)) === 1),
    });
    return { ...grown, axis, fresh, repeats };
  }

  #product(node: OnnxNode): Grown | "done" | undefined {
    if (node.op !== "MatMul") return undefined;
    const [a, b] = node.inputs;
    const [left, right] = [this.#grown.get(a), this.#grown.get(b)];
    if (right?.kind !== "positions") return undefined;
    const rank = this.#dims(b).length;
    const isLastOf = (name: string) =>
      this.#dims(name).length >= 2 && this.#dims(name).at(-2) === 1;
    if (left === undefined && right.axis === rank - 1 && isLastOf(a)) {
      return {
        ...{ kind: "scores", query: a, keys: right },
        ...{ scale: 1, cap: 0, terms: [] },
      };
    }
    if (left?.kind !== "shares" || right.axis !== rank - 2 || !isLastOf(a)) {
      return undefined;
    }
    this.#products(node, left, right);
    return "done";
  }

  /** ONNX's own attention, with a past or of keys and values that have been appended to one. */
  #attention(node: OnnxNode): "done" {
    const [query, key, value, mask = "", pastKey = "", pastValue = ""] =
      node.inputs;
    const [, presentKey = "", presentValue = "", raw = ""] = node.outputs;
    const isJoined = pastKey === "" && pastValue === "";
    const isCausal = (attributeOf(node, "is_causal", "int") ?? 0) !== 0;
    const cap = attributeOf(node, "softcap", "float") ?? 0;
    const [left, right] = ["left_window_size", "right_window_size"].map(
      (window) => attributeOf(node, window, "int") ?? -1,
    );
    const isSeen = isJoined && this.#isSeen(key);
    // Of joined keys the query would be the first, not the last.
    const isFirst = isJoined && (isCausal || left >= 0 || right >= 0);
    const isPlain = raw === "" && (node.inputs[6] ?? "") === "" &&
      !this.#grown.has(query) && !isFirst && cap >= 0 &&
      (mask === "" ||
        (isSeen
          ? this.#made.isBlank(node, mask, 0, 1)
          : this.positions.isKnown(mask)));
    if (!isPlain) this.#fail(node);
    const kvHeads = attributeOf(node, "kv_num_heads", "int");
    const [keys, values] = isJoined
      ? [key, value].map((name) => this.#headsOf(node, name, kvHeads))
      : [
        this.#appended(node, key, pastKey),
        this.#appended(node, value, pastValue),
      ];
    const keyDims = this.#dims(keys.fresh);
    if (presentKey !== "") this.#grown.set(presentKey, keys);
    if (presentValue !== "") this.#grown.set(presentValue, values);
    const [, shared, , size] = keyDims;
    const heads = elementCount(this.#dims(query)) / size;
    const fits = heads % shared === 0 &&
      keyDims.join() === this.#dims(values.fresh).join();
    if (!fits) this.#fail(node, "values are as wide as keys");
    const scale = attributeOf(node, "scale", "float") ?? 1 / Math.sqrt(size);
    const terms: ScoreTerm[] = [];
    if (mask !== "" && !isSeen) {
      const known = { node, name: mask, lead: [1, heads, 1] };
      terms.push(
        this.#known.get(mask)!.type === "bool"
          ? { kind: "mask", ...known, leaves: false, isReplaced: false }
          : { kind: "added", ...known, factor: 1 },
      );
    }
    if (left >= 0) terms.push({ kind: "window", node, most: left });
    this.#made.attend(
      node,
      [this.#made.viewed(query, [1, heads, 1, size]), keys.fresh, values.fresh],
      {
        ...{ heads, kvHeads: shared, size },
        ...{ scale: cap === 0 ? scale : scale / cap, cap, terms },
        ...this.#both(node, keys, values),
      },
    );
    return "done";
  }

  /** What an attention appends to a past. */
  #appended(node: OnnxNode, fresh: string, past: string): PositionsOf {
    const grown = this.#grown.get(past);
    const isPast = grown?.kind === "past" && grown.state.axis === 2 &&
      this.#dims(past).length === 4 && !this.#grown.has(fresh);
    if (!isPast) return this.#fail(node);
    return {
      ...{ kind: "positions", state: grown.state, axis: 2, repeats: 1 },
      fresh: this.#made.viewed(fresh, this.#dims(past).with(2, 1)),
    };
  }

  /** Keys or values of all positions, [1, heads, positions, size] or [1, positions, heads size]. */
  #headsOf(
    node: OnnxNode,
    name: string,
    heads: number | undefined,
  ): PositionsOf {
    const grown = this.#grown.get(name);
    const dims = this.#dims(name);
    const isFlat = dims.length === 3;
    const isApart = grown?.kind === "positions" && dims[0] === 1 &&
      grown.axis === (isFlat ? 1 : 2) &&
      (!isFlat || heads !== undefined && dims[2] % heads === 0);
    if (!isApart) return this.#fail(node);
    const to = isFlat ? [1, heads!, 1, dims[2] / heads!] : dims.with(2, 1);
    const fresh = this.#made.viewed(grown.fresh, to, grown.state === null);
    return { ...grown, axis: 2, fresh };
  }

  /** Products with keys, softmax, product with values. */
  #products(node: OnnxNode, shares: Scores, values: PositionsOf): void {
    const { query, keys, scale, cap, terms } = shares;
    const before = this.#dims(query).slice(0, -2);
    const size = this.#dims(query).at(-1)!;
    const keyDims = this.#dims(keys.fresh);
    const valueDims = this.#dims(values.fresh);
    const kvHeads = elementCount(keyDims.slice(0, -2));
    const fits = isShared(keyDims.slice(0, -2), before) &&
      elementCount(valueDims.slice(0, -2)) === kvHeads &&
      keyDims.at(-2) === size && valueDims.at(-1) === size;
    if (!fits) {
      this.#fail(
        node,
        `heads of queries ${this.#dims(query).join(" x ")} do not share keys ${
          keyDims.join(" x ")
        } and values ${valueDims.join(" x ")} of one width`,
      );
    }
    const heads = elementCount(before);
    this.#made.attend(node, [query, keys.fresh, values.fresh], {
      ...{ heads, kvHeads, size, scale, cap, terms },
      ...this.#both(node, keys, values),
    });
  }

  /** What holds of keys and values: of what an encoder saw are both or none. */
  #both(node: OnnxNode, keys: PositionsOf, values: PositionsOf) {
    const isSeen = keys.state === null;
    if (isSeen !== (values.state === null)) this.#fail(node);
    const isAlike = keys.repeats === values.repeats;
    return { isSeen, repeats: isAlike ? keys.repeats : 1 };
  }
}

/** Whether heads share keys in groups, one after the other: where the axes in front differ, keys have 1 from there on. */
function isShared(keys: readonly number[], heads: readonly number[]): boolean {
  const missing = heads.length - keys.length;
  if (missing < 0) return false;
  const full = [...new Array<number>(missing).fill(1), ...keys];
  const from = full.findIndex((size, i) => size !== heads[i]);
  return from < 0 || full.slice(from).every((size) => size === 1);
}
