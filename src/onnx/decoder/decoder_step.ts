/** A decoder's step as it is lowered: nothing in it grows; the token and the position are numbers of table rows. */
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../tensor/plain_tensor.ts";
import { elementCount, isShape } from "../../tensor/tensor.ts";
import { fuse } from "../fuse/fuse.ts";
import {
  attributeOf,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
} from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { appendsToCache, DECODER_DOMAIN } from "../cache_nodes.ts";
import { checkOperator } from "../lower/lower_graph.ts";
import { readNames } from "../names.ts";
import { type Place, quoted } from "../place.ts";
import { runConstant } from "../run_constant.ts";
import type { GivenSizes } from "../sizes.ts";
import type { DecoderOptions } from "./options.ts";
import { maskedSeen } from "./masks.ts";
import { type PastFree, pastFree } from "./past.ts";
import { Positions } from "./positions.ts";
import { ScoreBiases } from "./score_bias.ts";
import { type Seen, stepFile, type StepState } from "./step_file.ts";
import type { StepCache } from "./step_nodes.ts";

/** Inputs of a step's graph that are made here: rows of tables, int32 without axes. */
export const TOKEN = "token#id";
export const POSITION = "position#id";

/** Positions where neither the file nor an option says how many. */
const POSITIONS_MAX = 1024;

/** A step. */
export interface DecoderStep {
  /** Inputs: the token, the position where it is read, states, and what else a request brings. Outputs: scores, states. */
  readonly graph: OnnxGraph;
  readonly known: ReadonlyMap<string, KnownValue>;
  /** What is computed of every position that an encoder saw, before the first step. */
  readonly encoder:
    | Seen & {
      /** Inputs: of a position, in the order of `inputs`. */
      readonly graph: OnnxGraph;
      readonly known: ReadonlyMap<string, KnownValue>;
    }
    | undefined;
  readonly caches: readonly StepCache[];
  readonly states: readonly StepState[];
  /** What a request brings besides tokens, the same in every step. */
  readonly others: readonly string[];
  readonly logits: string;
  /** Tokens that have a score. */
  readonly vocabulary: number;
  /** Tokens that may go in. */
  readonly tokens: number;
  readonly positionsMax: number;
  /** Why there are no more positions, where the file is the reason. */
  readonly notes: readonly string[];
}

/** @throws OnnxError naming what is no step of a decoder */
export function decoderStep(
  file: OnnxModel,
  options: DecoderOptions,
  sizes: GivenSizes,
  place: Place,
): DecoderStep {
  const step = stepFile(file.graph, options, sizes, place);
  if (step.caches.length + step.states.length === 0) {
    place.fail(({ states }) =>
      `nothing is handed on from one step to the next; give ${states()}`
    );
  }
  const positions = new Positions(file, step, place);
  const free = pastFree(step, positions, place);
  const { encoder, known, caches, masks } = free;
  // What an encoder saw is the same in every step.
  const isAlone = caches.every(({ isSeen }) => isSeen);
  if (isAlone && step.states.length === 0) {
    place.in(`output ${quoted(step.logits)}`).fail(
      "scores depend on one token alone: no attention reads what earlier steps hand on",
    );
  }
  for (const node of [...free.graph.nodes, ...encoder?.nodes ?? []]) {
    if (node.domain !== DECODER_DOMAIN) checkOperator(node, place.node(node));
  }
  const wanted = options.positionsMax ?? POSITIONS_MAX;
  const inTables = tablesOf(free.graph, known, positions, wanted);
  const { graph, count, by } = withBiases(free, positions, inTables);
  const why = by
    ? `what scores get of ${
      quoted(by.name)
    } is not there, or not by how far back a position is, from ${count} on`
    : `its tables have ${count} positions`;
  if (count < wanted && (options.positionsMax !== undefined || count === 0)) {
    place.fail(({ positionsMax }) => `${why}; ${positionsMax(wanted)} is more`);
  }
  if (step.seen) {
    const { name, most } = step.seen;
    const masked = maskedSeen(masks, positions, most);
    if (masked) {
      place.node(masked.node).fail(
        `attention is to all that an encoder saw, and its mask leaves some of ${masked.of} ${
          quoted(name)
        } out`,
      );
    }
    if (!caches.some(({ isSeen }) => isSeen)) {
      place.in(`size ${quoted(name)}`).fail("no attention looks at it");
    }
  }
  const fused = fuse(graph, known, place);
  const rows = new TableRows(fused.graph, fused.known, step.token, place);
  const made = rows.run(positions);
  const { dims, type } = rows.known.get(step.logits)!;
  const vocabulary = dims.at(-1) ?? 1;
  if (type !== "float32" || elementCount(dims) !== vocabulary) {
    place.in(`output ${quoted(step.logits)}`).fail(
      `scores are floats, one for each token that may follow, got ${type} ${
        dims.join(" x ")
      }`,
    );
  }
  for (const { input, output } of step.states) {
    const [from, to] = [output, input].map((name) => rows.known.get(name)!);
    if (from.type === to.type && isShape(from.dims, to.dims)) continue;
    place.in(`state ${quoted(input)}`).fail(
      `it is ${to.type} ${to.dims.join(" x ")}, output ${
        quoted(output)
      } is ${from.type} ${from.dims.join(" x ")}`,
    );
  }
  const isState = new Set(step.states.map(({ input }) => input));
  return {
    graph: made,
    known: rows.known,
    encoder: step.seen && encoder &&
      { ...step.seen, ...fuse(encoder, known, place) },
    caches,
    states: step.states,
    others: made.inputs.map(({ name }) => name).filter((name) =>
      name !== TOKEN && name !== POSITION && !isState.has(name)
    ),
    logits: step.logits,
    vocabulary,
    tokens: rows.tokens ?? vocabulary,
    positionsMax: count,
    notes: count < wanted ? [why] : [],
  };
}

/** Makes tables of what depends on the position. @returns positions that all of them have */
function tablesOf(
  { nodes }: OnnxGraph,
  known: Map<string, KnownValue>,
  positions: Positions,
  wanted: number,
): number {
  let rows = wanted;
  const names = new Set(nodes.flatMap(readNames));
  for (const name of names) {
    if (!positions.isOfPosition(name)) continue;
    const found = positions.table(name, rows);
    rows = found.rows;
    if (found.constant) {
      known.set(name, { ...found.constant, constant: found.constant });
      continue;
    }
    const { type, dims } = known.get(name)!;
    known.set(name, { type, dims });
    const { table } = found;
    known.set(tableOf(name), { ...table, constant: table });
  }
  return rows;
}

/**
 * Gives attentions what is added to their scores.
 * @returns positions for which that is right, up to `wanted`, and the node that is the reason for fewer
 */
function withBiases(
  { graph, known, biases }: PastFree,
  positions: Positions,
  wanted: number,
): { graph: OnnxGraph; count: number; by: OnnxNode | undefined } {
  const found = new ScoreBiases(positions);
  let [count, by]: [number, OnnxNode | undefined] = [wanted, undefined];
  for (const bias of biases.values()) {
    const fewer = found.table(bias, count).count;
    if (fewer < count) [count, by] = [fewer, bias.terms.at(-1)!.node];
  }
  const nodes = graph.nodes.map((node) => {
    const bias = node.domain === DECODER_DOMAIN
      ? biases.get(node.outputs[0])
      : undefined;
    const data = bias && found.table(bias, count).table;
    if (!data) return node;
    const table = plainTensor("float32", [bias.heads, count], data);
    const name = `${node.outputs[0]}#bias`;
    known.set(name, { ...table, constant: table });
    const [query, key = "", value = ""] = node.inputs;
    return { ...node, inputs: [query, key, value, name] };
  });
  return { graph: { ...graph, nodes }, count, by };
}

function tableOf(name: string): string {
  return `${name}#table`;
}

/** Operators that leave the id of a token what it is. */
const VIEWS: ReadonlySet<string> = new Set([
  ...["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"],
]);

class TableRows {
  readonly known: Map<string, KnownValue>;
  readonly #nodes: OnnxNode[] = [];
  /** Tables of integers that a row of a token was picked from. */
  readonly #quantised = new Map<string, PlainTensor>();
  /** Rows of the smallest table that tokens are looked up in. */
  tokens: number | undefined;

  constructor(
    readonly graph: OnnxGraph,
    known: ReadonlyMap<string, KnownValue>,
    readonly token: string,
    readonly place: Place,
  ) {
    this.known = new Map(known);
  }

  run(positions: Positions): OnnxGraph {
    const { graph, known, token } = this;
    const ids = new Set([token]);
    for (const id of [TOKEN, POSITION]) {
      known.set(id, { type: "int32", dims: [] });
    }
    this.#tokenAsItWas();
    const tables = new Set<string>();
    for (const node of graph.nodes) {
      for (const name of node.inputs) {
        if (!positions.isOfPosition(name) || tables.has(name)) continue;
        if (!known.has(tableOf(name))) continue;
        tables.add(name);
        this.#row(tableOf(name), POSITION, name);
      }
      this.#node(node, ids);
    }
    const outputs = graph.outputs.map(({ name }) => name);
    const nodes = livingNodes(this.#nodes, outputs);
    const read = new Set([
      ...nodes.flatMap(readNames),
      ...outputs,
    ]);
    const info = (name: string) => ({ name, ...known.get(name)! });
    return {
      ...graph,
      inputs: [
        ...[TOKEN, POSITION].map(info),
        ...graph.inputs.filter(({ name }) => name !== token),
      ].filter(({ name }) => read.has(name)),
      nodes,
    };
  }

  #node(node: OnnxNode, ids: Set<string>): void {
    const { known } = this;
    const { op, domain, inputs: [first, index], outputs: [output] } = node;
    if (domain === "" && VIEWS.has(op) && ids.has(first)) ids.add(output);
    const table = domain === "" && op === "Gather" && ids.has(index) &&
        attributeOf(node, "axis", "int") !== 1
      ? known.get(first)?.constant
      : undefined;
    if (table?.type === "float32" && table.dims.length >= 2) {
      return this.#tokenRow(first, table, output);
    }
    if (table) this.#quantised.set(output, table);
    const quantised = op === "DequantizeLinear" && domain === ""
      ? this.#quantised.get(first)
      : undefined;
    const [, ...settings] = node.inputs.map((name) =>
      known.get(name)?.constant
    );
    if (quantised && settings.every((one) => one?.data.length === 1)) {
      // The whole table as floats: each number by itself.
      const [whole] = runConstant(
        node,
        [quantised, ...settings],
        this.place.node(node),
      );
      known.set(tableOf(output), { ...whole, constant: whole });
      return this.#tokenRow(tableOf(output), whole, output);
    }
    const isConstant = domain === "" && op !== "Attention" &&
      node.inputs.every((name) => name === "" || known.get(name)?.constant) &&
      node.outputs.every((name) => known.get(name)?.type === "float32");
    if (!isConstant) {
      this.#nodes.push(node);
      return;
    }
    // What was quantised is known by now.
    const made = runConstant(
      node,
      node.inputs.map((name) => known.get(name)?.constant),
      this.place.node(node),
    );
    node.outputs.forEach((name, i) =>
      known.set(name, { ...made[i], constant: made[i] })
    );
  }

  #tokenRow(name: string, { dims }: PlainTensor, output: string): void {
    this.tokens = Math.min(this.tokens ?? Infinity, dims[0]);
    this.#row(name, TOKEN, output);
  }

  /** Of integers in plain TypeScript. */
  #row(table: string, id: string, output: string): void {
    const isFloat = this.known.get(table)!.type === "float32";
    if (!isFloat) return this.#add("Gather", [table, id], output);
    this.#add("TableRow", [table, id], output, [], DECODER_DOMAIN);
  }

  /** The token as the file has it, for whoever reads it otherwise than as a row of a table. */
  #tokenAsItWas(): void {
    const { known, token } = this;
    const { type, dims } = known.get(token)!;
    const sizes = plainOf("int64", [dims.length], dims);
    known.set("token#sizes", { ...sizes, constant: sizes });
    known.set("token#view", { type: "int32", dims });
    this.#add("Reshape", [TOKEN, "token#sizes"], "token#view");
    this.#add("Cast", ["token#view"], token, [[
      "to",
      { kind: "int", value: type === "int32" ? 6 : 7 },
    ]]);
  }

  #add(
    op: string,
    inputs: readonly string[],
    output: string,
    attributes: readonly (readonly [string, OnnxAttribute])[] = [],
    domain = "",
  ): void {
    this.#nodes.push({
      name: `${op} of ${output}`,
      ...{ op, domain, version: 13, inputs },
      outputs: [output],
      attributes: new Map(attributes),
    });
  }
}

/** Nodes that somebody reads, and those that append to caches. */
export function livingNodes(
  nodes: readonly OnnxNode[],
  outputs: readonly string[],
): OnnxNode[] {
  const read = new Set(outputs);
  return nodes.toReversed().filter((node) => {
    const isRead = appendsToCache(node) ||
      node.outputs.some((name) => name !== "" && read.has(name));
    if (isRead) { for (const name of readNames(node)) read.add(name); }
    return isRead;
  }).toReversed();
}
