/**
 * A decoder's step as its file has it: which input is the token, which are states and where they come out again, and
 * which say no more than how many positions there are. Those are made of the size of a cache, inside the graph.
 */
import {
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import type {
  DeclaredDim,
  OnnxAttribute,
  OnnxGraph,
  OnnxNode,
  ValueInfo,
} from "../ir.ts";
import type { OptionWords } from "../option_words.ts";
import { type Place, quoted } from "../place.ts";
import { type GivenSizes, NO_TYPE } from "../sizes.ts";
import { stateGiven } from "../stream.ts";
import { presentOf, withSeenKeys } from "./merged.ts";
import type { DecoderOptions } from "./options.ts";

/** A state: the input, and the output that is the next step's. */
export interface StepState {
  readonly input: string;
  readonly output: string;
  /** Its elements where a request brings none; default zeros. */
  readonly initial?: TensorData;
}

/** A state that grows by a position in every step. */
export interface CacheState extends StepState {
  /** The axis of positions. */
  readonly axis: number;
}

/** An input of which a request brings as many positions as an encoder saw. */
export interface SeenInput {
  readonly name: string;
  /** The axis of positions. */
  readonly axis: number;
}

/** What an encoder saw. */
export interface Seen {
  readonly inputs: readonly SeenInput[];
  /** How the file calls the number of positions. */
  readonly name: string;
  /** The most of them. */
  readonly most: number;
}

/** A decoder's step. */
export interface StepFile {
  /** The file's, without the inputs that are made of the number of positions. */
  readonly graph: OnnxGraph;
  readonly token: string;
  readonly logits: string;
  readonly caches: readonly CacheState[];
  /** States of a fixed size. */
  readonly states: readonly StepState[];
  /** What requests bring of an encoder, any number of positions; undefined where all sizes are given. */
  readonly seen: Seen | undefined;
  /**
   * Sizes of all inputs; `PAST` where a cache has as many as there are positions before the step, `SEEN` where there
   * are as many as an encoder saw.
   */
  readonly dims: ReadonlyMap<string, readonly DeclaredDim[]>;
}

/** Positions of an encoder. */
const SEEN_MAX = 2 ** 16;

/** Name of the size of caches. */
export const PAST = "past positions";

/** Name of the number of positions that an encoder saw. */
export const SEEN = "seen positions";

/** @throws OnnxError naming the input or output that does not fit */
export function stepFile(
  given: OnnxGraph,
  options: DecoderOptions,
  sizes: GivenSizes,
  place: Place,
): StepFile {
  const all = seenOf(given, sizes, place);
  const graph = withSeenKeys(given, all?.inputs.map(({ name }) => name) ?? []);
  const seen = all && {
    ...all,
    inputs: all.inputs.filter(({ name }) =>
      graph.inputs.some((input) => input.name === name)
    ),
  };
  const isSeen = new Set(seen?.inputs.map(({ name }) => name));
  const states = statesOf(graph, options, isSeen, place);
  const taken = new Set(states.map(({ input }) => input));
  const inputs = new Map(graph.inputs.map((input) => [input.name, input]));
  const named = (
    given: string | undefined,
    ...usual: string[]
  ): ValueInfo | undefined => {
    if (given !== undefined) {
      return inputs.get(given) ??
        place.fail(`it has no input ${quoted(given)}`);
    }
    const found = usual.find((name) => inputs.has(name) && !taken.has(name));
    return found === undefined ? undefined : inputs.get(found)!;
  };
  const mask = named(options.mask, "attention_mask");
  const position = named(options.position, "position_ids", "cache_position");
  const seenMask = named(options.encoderMask, "encoder_attention_mask");
  const isSeenMask = seenMask !== undefined && isSeen.has(seenMask.name);
  const aside = [mask, position, seenMask].map((input) => input?.name);
  const token = named(options.token, "input_ids") ??
    onlyOf(
      graph.inputs.filter(({ name, type }) =>
        !taken.has(name) && !aside.includes(name) &&
        (type === "int64" || type === "int32")
      ),
      "which input is the token's id",
      "token",
      place,
    );
  const roles = [token, mask, position];
  if (roles.some((one) => one !== undefined && isSeen.has(one.name))) {
    place.in(`size ${quoted(seen!.name)}`).fail(({ positionsMax }) =>
      `a decoder takes a token in every step; give ${positionsMax()} for the most of them`
    );
  }
  for (const [i, one] of roles.entries()) {
    if (one === undefined) continue;
    if (!taken.has(one.name) && roles.indexOf(one) === i) continue;
    place.in(`input ${quoted(one.name)}`).fail(
      "it is the token, the mask, the position or a state, not two of them",
    );
  }
  for (const { name, type } of graph.inputs) {
    if (type === null) place.in(`input ${quoted(name)}`).fail(NO_TYPE);
  }
  const out = new Set(states.map(({ output }) => output));
  const outputs = graph.outputs.filter(({ name }) => !out.has(name));
  const logits = options.logits === undefined
    ? outputs.find(({ name }) => name === "logits") ??
      onlyOf(outputs, "which output the scores are", "logits", place)
    : outputs.find(({ name }) => name === options.logits) ??
      place.fail(`it has no output ${quoted(options.logits)}`);

  const resolved = new Sizes(token, sizes, place);
  const dims = new Map<string, readonly DeclaredDim[]>();
  const caches: CacheState[] = [];
  const fixed: StepState[] = [];
  for (const state of states) {
    const found = resolved.state(inputs.get(state.input)!);
    dims.set(state.input, found.dims);
    if (found.axis !== undefined && state.initial) {
      place.in(`state ${quoted(state.input)}`).fail(
        "a cache is empty at first; it has no initial elements",
      );
    }
    if (found.axis === undefined) fixed.push(state);
    else caches.push({ ...state, axis: found.axis });
  }
  const made = [mask, position].filter((input) => input !== undefined);
  const brought = seen?.inputs.filter(({ name }) =>
    !isSeenMask || name !== seenMask.name
  );
  for (const { name, axis } of brought ?? []) {
    dims.set(name, resolved.seen(inputs.get(name)!, axis));
  }
  if (made.length > 0 && caches.length === 0) {
    place.in(`input ${quoted(made[0].name)}`).fail(
      "no state grows with the positions that it is about",
    );
  }
  const rest = graph.inputs.filter((input) =>
    !made.includes(input) && !(isSeenMask && input === seenMask)
  );
  for (const input of rest) {
    if (!dims.has(input.name)) dims.set(input.name, resolved.input(input));
  }
  const nodes = new AddedNodes();
  if (made.length > 0) {
    const [{ input, axis }] = caches;
    const past = nodes.add("Gather", [
      nodes.add("Shape", [input]),
      nodes.constant([1], [axis]),
    ]);
    if (position) {
      nodes.reshaped(past, position, resolved.ones(position), place);
    }
    if (mask) {
      const all = nodes.add("Add", [past, nodes.constant([1], [1])]);
      nodes.ones(all, mask, resolved, place);
    }
  }
  if (seen && isSeenMask) {
    const [first] = brought!;
    if (first === undefined) {
      place.in(`input ${quoted(seenMask.name)}`).fail(
        `nothing else has ${quoted(seen.name)}`,
      );
    }
    const count = nodes.add("Gather", [
      nodes.add("Shape", [first.name]),
      nodes.constant([1], [first.axis]),
    ]);
    nodes.ones(count, seenMask, resolved, place);
  }
  return {
    graph: {
      ...graph,
      inputs: rest,
      outputs: [
        logits,
        ...states.map(({ output }) =>
          graph.outputs.find(({ name }) => name === output)!
        ),
      ],
      initializers: new Map([...graph.initializers, ...nodes.constants]),
      nodes: [...nodes.nodes, ...graph.nodes],
    },
    token: token.name,
    logits: logits.name,
    caches,
    states: fixed,
    seen: seen && { ...seen, inputs: brought! },
    dims,
  };
}

/** Inputs with the positions of an encoder, as many as a request likes. */
function seenOf(
  { inputs }: OnnxGraph,
  { sizesMax = {}, shapes = {} }: GivenSizes,
  place: Place,
): Seen | undefined {
  const entries = Object.entries(sizesMax);
  if (entries.length === 0) return undefined;
  const [[first, most]] = entries;
  for (const [name, size] of entries) {
    const at = place.in(`size ${quoted(name)}`);
    const isSize = Number.isSafeInteger(size) && size >= 1 && size <= SEEN_MAX;
    if (!isSize) at.fail(`it is a whole number from 1 to ${SEEN_MAX}`);
    if (size !== most) {
      at.fail(
        `it is ${size}, ${quoted(first)} ${most}: all are what one encoder saw`,
      );
    }
  }
  const found = inputs.flatMap(({ name, dims }) => {
    const axes = (Object.hasOwn(shapes, name) ? [] : dims ?? []).flatMap(
      (size, axis) =>
        typeof size === "string" && Object.hasOwn(sizesMax, size) ? [axis] : [],
    );
    if (axes.length > 1) {
      place.in(`input ${quoted(name)}`).fail("two of its axes are free");
    }
    return axes.map((axis) => ({ name, axis }));
  });
  if (found.length === 0) {
    place.in(`size ${quoted(first)}`).fail("no input has it");
  }
  return { inputs: found, name: first, most };
}

function statesOf(
  { inputs, outputs }: OnnxGraph,
  { states }: DecoderOptions,
  isSeen: ReadonlySet<string>,
  place: Place,
): StepState[] {
  const [ins, outs] = [inputs, outputs].map((values) =>
    new Set(values.map(({ name }) => name))
  );
  if (states === undefined) {
    return [...ins].flatMap((input) => {
      const output = presentOf(input);
      const isState = output !== input && outs.has(output) &&
        !isSeen.has(input);
      return isState ? [{ input, output }] : [];
    });
  }
  return Object.entries(states).map(([input, given]): StepState => {
    const { from: output, initial } = stateGiven(input, given);
    const at = place.in(`state ${quoted(input)}`);
    if (!ins.has(input)) at.fail("there is no such input");
    if (isSeen.has(input)) {
      at.fail("it has as many positions as an encoder saw, and does not grow");
    }
    if (!outs.has(output)) at.fail(`there is no output ${quoted(output)}`);
    return { input, output, ...(initial && { initial }) };
  });
}

function onlyOf(
  found: readonly ValueInfo[],
  what: string,
  option: "token" | "logits",
  place: Place,
): ValueInfo {
  if (found.length === 1) return found[0];
  return place.fail(({ named }) =>
    `the file does not say ${what}; give ${named(option)}`
  );
}

/** Sizes of axes: one token, a batch of one, others as given. */
class Sizes {
  readonly #known: Map<string, number>;

  constructor(
    token: ValueInfo,
    readonly given: GivenSizes,
    readonly place: Place,
  ) {
    const named = Object.entries(given.sizes ?? {});
    this.#known = new Map([
      ...(token.dims ?? []).flatMap((size) =>
        typeof size === "string" ? [[size, 1] as const] : []
      ),
      ...named,
    ]);
  }

  #declared({ name, dims }: ValueInfo): readonly DeclaredDim[] {
    const shape = Object.hasOwn(this.given.shapes ?? {}, name)
      ? this.given.shapes![name]
      : dims;
    return shape ??
      this.place.in(`input ${quoted(name)}`).fail(({ shapes }) =>
        `the file does not say its shape; give ${shapes(name)}`
      );
  }

  #size(size: DeclaredDim, axis: number): DeclaredDim {
    if (typeof size === "number") return size;
    const known = size === null ? undefined : this.#known.get(size);
    return known ?? (axis === 0 ? 1 : size);
  }

  state(input: ValueInfo): {
    dims: readonly DeclaredDim[];
    axis: number | undefined;
  } {
    const sizes = this.#declared(input).map((size, axis) =>
      this.#size(size, axis)
    );
    const open = sizes.flatMap((size, axis) =>
      typeof size === "number" ? [] : [axis]
    );
    if (open.length > 1) {
      const names = open.map((axis) => sizes[axis]);
      this.place.in(`state ${quoted(input.name)}`).fail((words) =>
        `axes ${open.join(", ")} are open; give the sizes of all but that of ` +
        `the positions, ${
          names.map((size) => wayTo(size, input, words)).join(" or ")
        }`
      );
    }
    const [axis] = open;
    return {
      dims: axis === undefined ? sizes : sizes.with(axis, PAST),
      axis,
    };
  }

  /** Sizes of an input with positions of an encoder. */
  seen(input: ValueInfo, axis: number): readonly DeclaredDim[] {
    return this.#declared(input).map((size, i) => {
      if (i === axis) return SEEN;
      const known = this.#size(size, i);
      if (typeof known === "number") return known;
      return this.place.in(`input ${quoted(input.name)}`).fail((words) =>
        `the size of axis ${i} is open, too; give ${wayTo(known, input, words)}`
      );
    });
  }

  input(input: ValueInfo): readonly number[] {
    return this.#declared(input).map((size, axis) => {
      const known = this.#size(size, axis);
      if (typeof known === "number") return known;
      return this.place.in(`input ${quoted(input.name)}`).fail((words) =>
        `the size of axis ${axis} is open; give ${wayTo(size, input, words)}` +
        (typeof size !== "string"
          ? ""
          : `; or, of what an encoder saw, the most, ${
            words.sizesMax(size)
          }: ` +
            "requests bring any number of positions up to that")
      );
    });
  }

  /** Axes of one element each. */
  ones({ dims }: ValueInfo): number[] {
    return (dims ?? [1, 1]).map(() => 1);
  }
}

/** What gives the size of an input's axis. */
function wayTo(
  size: DeclaredDim,
  { name }: ValueInfo,
  { sizes, shapes }: OptionWords,
): string {
  return typeof size === "string" ? sizes(size) : shapes(name);
}

/** Nodes in front of the file's. */
class AddedNodes {
  readonly nodes: OnnxNode[] = [];
  readonly constants = new Map<string, PlainTensor>();

  add(
    op: string,
    inputs: readonly string[],
    attributes: readonly (readonly [string, OnnxAttribute])[] = [],
    output = `positions#${this.nodes.length}`,
  ): string {
    this.nodes.push({
      name: output,
      op,
      domain: "",
      version: 13,
      inputs,
      outputs: [output],
      attributes: new Map(attributes),
    });
    return output;
  }

  constant(dims: readonly number[], numbers: readonly number[]): string {
    const name = `positions#constant${this.constants.size}`;
    this.constants.set(name, plainOf("int64", dims, numbers));
    return name;
  }

  /** The number of positions before the step, as an input that this takes the place of. */
  reshaped(
    past: string,
    { name, type }: ValueInfo,
    dims: readonly number[],
    place: Place,
  ): void {
    if (type !== "int64" && type !== "int32") {
      place.in(`input ${quoted(name)}`).fail(`a position is ${type}`);
    }
    const to = this.constant([dims.length], dims);
    const position = this.add("Reshape", [past, to]);
    this.add("Cast", [position], [[
      "to",
      { kind: "int", value: type === "int32" ? 6 : 7 },
    ]], name);
  }

  /** A mask that leaves no position out. */
  ones(
    count: string,
    { name, type, dims }: ValueInfo,
    sizes: Sizes,
    place: Place,
  ): void {
    const at = place.in(`input ${quoted(name)}`);
    const rank = dims?.length ?? 2;
    if (rank < 1 || rank > 2 || type === null) {
      at.fail("a mask is one number for each position, or [1][positions]");
    }
    const shape = rank === 1 ? count : this.add("Concat", [
      this.constant([1], sizes.ones({ name, type, dims: [1] })),
      count,
    ], [["axis", { kind: "int", value: 0 }]]);
    const value = plainOf(type as PlainType, [1], [1]);
    this.add("ConstantOfShape", [shape], [[
      "value",
      { kind: "tensor", value },
    ]], name);
  }
}
