/**
 * What every value of a graph is to a sequence: a row for each position, or one for the request; and behind how many
 * recurrent layers it is. Whatever is neither has a reason, which people are told when it is needed.
 */
import type { Value } from "../../graph/operator.ts";
import { plainOf } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { Recurrence } from "../lower/recurrence.ts";
import { recurrenceOf } from "../lower/recurrences.ts";
import type { OptionWords } from "../option_words.ts";
import { type Place, quoted } from "../place.ts";
import type { Dim } from "../shapes/dim.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { describeDims } from "../shapes/value.ts";
import type { AttentionParts } from "./attention_parts.ts";
import { dependsOn, freeAxisOf } from "./free_axis.ts";
import { areElementsKnown, type HostValues } from "./host_values.ts";
import { operandsOf, SIZE_INPUTS, whyNotByToken } from "./token_rules.ts";

/** What a value is: rows for all positions, or one of the request. */
export interface Role {
  readonly kind: "token" | "request";
  /** Recurrent layers one behind the other that it is behind. */
  readonly stage: number;
  readonly from: Origin;
}

/** Where a value comes from. */
export type Origin =
  /** What a request brings, or what is computed when it is unfolded. */
  | { readonly kind: "host" }
  /** The same for all requests and positions. */
  | { readonly kind: "constant" }
  | { readonly kind: "node"; readonly node: OnnxNode }
  | { readonly kind: "attention"; readonly parts: AttentionParts }
  /** Rows of a constant, from one on as many as there are positions. */
  | {
    readonly kind: "table";
    readonly of: string;
    readonly start: number;
    /** Rows of the whole. */
    readonly rows: number;
  }
  /** One position of another value. */
  | { readonly kind: "pick"; readonly of: string; readonly position: Dim }
  /** States of all positions. */
  | { readonly kind: "states"; readonly layer: number }
  /** States behind the last position. */
  | {
    readonly kind: "last";
    readonly layer: number;
    readonly state: "h" | "c";
  };

/** A recurrent layer, or a sum over positions, which is one too. */
export interface SequenceLayer {
  readonly node: OnnxNode;
  readonly recurrence: Recurrence;
  readonly stage: number;
  /** Its input of all positions. */
  readonly x: string;
  /** By state: a value of [directions][1][hidden], or a number that all elements are. */
  readonly initial: readonly (string | number)[];
}

export interface Roles {
  readonly roles: ReadonlyMap<string, Role>;
  readonly layers: readonly SequenceLayer[];
  /** @throws OnnxError saying why a value is neither of positions nor of the request */
  refuse(name: string): never;
}

/** @param known type and dims of every value in a request of two positions */
export function rolesOf(
  graph: OnnxGraph,
  values: InferredValues,
  known: ReadonlyMap<string, KnownValue>,
  host: HostValues,
  attentions: ReadonlyMap<OnnxNode, AttentionParts>,
  place: Place,
): Roles {
  const naming = new Naming(graph, values, known, host, attentions, place);
  naming.run();
  return naming;
}

/** What a sum over positions is as a recurrence. */
const REDUCTIONS: Readonly<
  Record<string, { op: "Add" | "Max" | "Min"; from: number }>
> = {
  ReduceSum: { op: "Add", from: 0 },
  ReduceMean: { op: "Add", from: 0 },
  ReduceMax: { op: "Max", from: -Infinity },
  ReduceMin: { op: "Min", from: Infinity },
  GlobalAveragePool: { op: "Add", from: 0 },
  GlobalMaxPool: { op: "Max", from: -Infinity },
};

const MEANS: ReadonlySet<string> = new Set(["ReduceMean", "GlobalAveragePool"]);

class Naming implements Roles {
  readonly roles = new Map<string, Role>();
  readonly layers: SequenceLayer[] = [];
  readonly #reasons = new Map<string, { node: OnnxNode; why: string }>();

  constructor(
    readonly graph: OnnxGraph,
    readonly values: InferredValues,
    readonly known: ReadonlyMap<string, KnownValue>,
    readonly host: HostValues,
    readonly attentions: ReadonlyMap<OnnxNode, AttentionParts>,
    readonly place: Place,
  ) {}

  run(): void {
    const inside = new Set(
      [...this.attentions.values()].flatMap(({ nodes }) => nodes.slice(0, -1)),
    );
    for (const { name } of this.graph.inputs) this.#host(name);
    for (const node of this.graph.nodes) {
      if (inside.has(node)) continue;
      const why = this.#node(node);
      if (why === undefined) continue;
      const isHosted = node.outputs.every((name) =>
        name === "" || this.#host(name)
      );
      if (isHosted) continue;
      // What was wrong first is told.
      const before = node.inputs.find((name) =>
        this.#reasons.has(name) && !this.roles.has(name)
      );
      const reason = before ? this.#reasons.get(before)! : { node, why };
      for (const name of node.outputs) this.#reasons.set(name, reason);
    }
  }

  refuse(name: string): never {
    const { free: { name: axis } } = this.host;
    const wayOut = ({ sizes }: OptionWords) =>
      `give its size instead, ${sizes(axis)}`;
    const found = this.#reasons.get(name);
    if (!found) {
      return this.place.fail((words) =>
        `${quoted(name)} has no row for each position of ${
          quoted(axis)
        }, nor one for the request; ${wayOut(words)}`
      );
    }
    return this.place.node(found.node).fail((words) =>
      `${quoted(axis)} cannot stay free: ${found.why}; ${wayOut(words)}`
    );
  }

  /** @returns whether a value is computed on unfolding, which it is from now on */
  #host(name: string): boolean {
    if (!this.host.has(name)) return false;
    const kind = this.host.brings(name) ? this.#shapeOf(name) : undefined;
    if (kind) this.roles.set(name, { kind, stage: 0, from: { kind: "host" } });
    return true;
  }

  /** Of one free axis, or none; undefined for other sizes. */
  #shapeOf(name: string): Role["kind"] | undefined {
    const { dims } = this.values.get(name) ?? {};
    if (freeAxisOf(dims, this.host.free) !== undefined) return "token";
    return dims?.every((dim) => typeof dim === "number")
      ? "request"
      : undefined;
  }

  /** @returns why it has no role but perhaps one on unfolding; undefined where it has one */
  #node(node: OnnxNode): string | undefined {
    const attention = this.attentions.get(node);
    if (attention) return this.#attention(node, attention);
    const isArithmetic = node.outputs.every((name) => {
      const value = this.values.get(name);
      return value !== undefined && areElementsKnown(value);
    });
    if (isArithmetic) return "it is arithmetic of sizes";
    if (this.#pick(node) || this.#table(node)) return undefined;
    const layer = this.#recurrent(node);
    if (layer !== undefined) return layer.why;
    const reduced = this.#reduction(node);
    if (reduced !== undefined) return reduced.why;
    return this.#computed(node);
  }

  #attention(node: OnnxNode, parts: AttentionParts): string | undefined {
    const roles = [parts.q, parts.k, parts.v].map((name) =>
      this.roles.get(name)
    );
    if (!roles.every((role) => role?.kind === "token")) {
      return "queries, keys and values are not all of positions";
    }
    if (roles.some((role) => role!.stage > 0)) {
      return "it is attention behind a recurrent layer, or to what is computed of all positions";
    }
    if (!parts.masks.every(({ name }) => this.host.has(name))) {
      return "its mask is computed by products, or of too many numbers";
    }
    const from = { kind: "attention" as const, parts };
    this.roles.set(node.outputs[0], { kind: "token", stage: 0, from });
    return undefined;
  }

  /** A position taken out. */
  #pick(node: OnnxNode): boolean {
    const [x, index] = node.inputs;
    if (this.roles.get(x)?.kind !== "token") return false;
    const axis = freeAxisOf(this.values.get(x)?.dims, this.host.free)!;
    const position = node.op === "Gather"
      ? this.#gathered(node, index, axis)
      : node.op === "Slice"
      ? this.#sliced(node, axis)
      : undefined;
    if (position === undefined) return false;
    this.roles.set(node.outputs[0], {
      kind: "request",
      stage: this.roles.get(x)!.stage,
      from: { kind: "pick", of: x, position },
    });
    return true;
  }

  #gathered(node: OnnxNode, index: string, axis: number): Dim | undefined {
    const rank = this.values.get(node.inputs[0])!.dims!.length;
    const along = attributeOf(node, "axis", "int") ?? 0;
    if ((along < 0 ? along + rank : along) !== axis) return undefined;
    const { elements } = this.values.get(index) ?? {};
    return elements?.length === 1 && elements[0] !== null
      ? elements[0]
      : undefined;
  }

  /** x[p:p+1], or x[-1:]. */
  #sliced(node: OnnxNode, axis: number): Dim | undefined {
    const { dims } = this.values.get(node.outputs[0]) ?? {};
    const x = this.values.get(node.inputs[0])!;
    if (dims?.[axis] !== 1 || x.dims!.length !== dims.length) return undefined;
    const isOthersWhole = dims.every((dim, i) =>
      i === axis || dim === x.dims![i]
    );
    return isOthersWhole ? this.#startOf(node, axis, dims.length) : undefined;
  }

  /** Where a Slice begins along an axis, one by one. */
  #startOf(node: OnnxNode, axis: number, rank: number): Dim | undefined {
    const given = (i: number, name: string) =>
      node.version < 10
        ? attributeOf(node, name, "ints")
        : this.values.get(node.inputs[i] ?? "")?.elements;
    const starts = given(1, "starts");
    const isSaid = node.version < 10
      ? node.attributes.has("axes")
      : (node.inputs[3] ?? "") !== "";
    const axes = isSaid ? given(3, "axes") : starts?.map((_, i) => i);
    const i =
      axes?.findIndex((each) => each === axis || each === axis - rank) ?? -1;
    const hasSteps = node.version >= 10 && (node.inputs[4] ?? "") !== "";
    const isForward = !hasSteps || given(4, "steps")?.[i] === 1;
    return i >= 0 && isForward ? starts?.[i] ?? undefined : undefined;
  }

  /** A table of positions, cut off at the length. */
  #table(node: OnnxNode): boolean {
    const [name] = node.inputs;
    const x = this.values.get(name);
    const { dims } = this.values.get(node.outputs[0]) ?? {};
    const axis = freeAxisOf(dims, this.host.free);
    if (node.op !== "Slice" || node.domain !== "" || axis === undefined) {
      return false;
    }
    const { constant } = x ?? {};
    if (constant?.type !== "float32") return false;
    const isRows = constant.dims.length === dims!.length &&
      constant.dims.slice(0, axis).every((size) => size === 1);
    const start = this.#startOf(node, axis, dims!.length);
    const isWhole = isRows &&
      dims!.every((dim, i) => i === axis || dim === constant.dims[i]);
    if (!isWhole || typeof start !== "number" || start < 0) return false;
    const rows = constant.dims[axis];
    const from = { kind: "table" as const, of: name, start, rows };
    this.roles.set(node.outputs[0], { kind: "token", stage: 0, from });
    return true;
  }

  #recurrent(node: OnnxNode): { why: string | undefined } | undefined {
    if (!["LSTM", "GRU", "RNN"].includes(node.op)) return undefined;
    if (node.domain !== "") return undefined;
    const [x] = node.inputs;
    const role = this.roles.get(x);
    const axis = freeAxisOf(this.values.get(x)?.dims, this.host.free);
    if (role?.kind !== "token" || axis !== 0) return undefined;
    let recurrence: Recurrence | undefined;
    try {
      recurrence = recurrenceOf(node, (name) =>
        this.known.get(name) ??
          this.place.node(node).fail(`there is no ${quoted(name)}`));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.place.node(node).fail(error.message);
    }
    if (!recurrence) {
      return {
        why:
          "only layers of constant weights and a batch of one become steps, without sequence_lens, peepholes, clipping and other activations",
      };
    }
    const initial = recurrence.states.map((_, i) => node.inputs[5 + i] || 0);
    const roles = initial.filter((each) => typeof each === "string").map(
      (name) =>
        this.known.get(name)?.constant ? undefined : this.roles.get(name),
    );
    const isGiven = initial.every((each) =>
      typeof each === "number" ||
      this.known.get(each)?.constant !== undefined ||
      this.roles.get(each)?.kind === "request"
    );
    if (!isGiven) return { why: "its first state is not of the request" };
    const stage = Math.max(
      role.stage,
      ...roles.map((each) => each?.stage ?? 0),
    );
    const layer = this.layers.push({ node, recurrence, stage, x, initial }) - 1;
    const [all = "", ...last] = node.outputs;
    if (all !== "") {
      this.roles.set(all, {
        kind: "token",
        stage: stage + 1,
        from: { kind: "states", layer },
      });
    }
    recurrence.states.forEach((state, i) => {
      if (!last[i]) return;
      const from = { kind: "last" as const, layer, state };
      this.roles.set(last[i], { kind: "request", stage: stage + 1, from });
    });
    return { why: undefined };
  }

  /** A sum, mean, largest or smallest over positions. */
  #reduction(node: OnnxNode): { why: string | undefined } | undefined {
    if (node.domain !== "" || !Object.hasOwn(REDUCTIONS, node.op)) {
      return undefined;
    }
    const [x] = node.inputs;
    const [output] = node.outputs;
    const role = this.roles.get(x);
    const { dims, type } = this.values.get(x) ?? {};
    const made = this.values.get(output)?.dims;
    const isOverAll = role?.kind === "token" && type === "float32" &&
      made?.every((dim) => typeof dim === "number");
    // What is computed on unfolding anyway, such as how many are not masked.
    if (!isOverAll || this.host.has(output)) return undefined;
    const width = dims!.reduce<number>(
      (product, dim) => typeof dim === "number" ? product * dim : product,
      1,
    );
    if (elementCount(made as number[]) !== width) {
      return { why: "it is over positions and other axes at once" };
    }
    const { op, from } = REDUCTIONS[node.op];
    const sum = MEANS.has(node.op) ? `${output}#sum` : output;
    const layer = this.layers.push({
      node,
      stage: role.stage,
      ...{ x, initial: [from] },
      recurrence: {
        ...{ positions: 2, width, hidden: width, states: ["h"] },
        directions: [{
          isReverse: false,
          step: (ops, x: Value, { h }) => ({ h: ops[op](h, x) }),
        }],
      },
    }) - 1;
    const stage = role.stage + 1;
    this.roles.set(sum, {
      ...{ kind: "request", stage },
      from: { kind: "last", layer, state: "h" },
    });
    if (sum === output) return { why: undefined };
    const inverse = `${output}#inverse`;
    this.host.add(inverse, (length) => plainOf("float32", [1], [1 / length]));
    this.roles.set(inverse, {
      ...{ kind: "request", stage: 0 },
      from: { kind: "host" },
    });
    this.roles.set(output, {
      ...{ kind: "request", stage },
      from: {
        kind: "node",
        node: {
          ...{ name: node.name, op: "Mul", domain: "", version: 13 },
          ...{ inputs: [sum, inverse], outputs: [output] },
          attributes: new Map(),
        },
      },
    });
    return { why: undefined };
  }

  /** Position by position, or once for the request. */
  #computed(node: OnnxNode): string | undefined {
    const sizes = SIZE_INPUTS[node.op] ?? [];
    const inputs = node.inputs.map((name) =>
      name === "" ? undefined : this.values.get(name)
    );
    const outputs = node.outputs.filter((name) => name !== "");
    const kinds = new Set(outputs.map((name) => this.#shapeOf(name)));
    const [kind] = kinds;
    if (kind === undefined || kinds.size > 1) {
      const { dims = null } = this.values.get(outputs[0]) ?? {};
      const { free: { name, max } } = this.host;
      return `its result is ${describeDims(dims)}, which is neither fixed nor ${
        quoted(name)
      } of up to ${max}`;
    }
    const given = operandsOf(node).filter((name) =>
      name !== "" && !this.values.get(name)?.constant
    );
    if (!given.every((name) => this.roles.has(name))) {
      return "an input is of no position";
    }
    if (kind === "request") {
      if (given.some((name) => this.roles.get(name)?.kind === "token")) {
        return "it computes positions together";
      }
      if (this.#dependsOnLength(node, sizes)) return "it depends on the length";
      return this.#takes(node, "request", given);
    }
    const axis = (name: string) =>
      freeAxisOf(this.values.get(name)?.dims, this.host.free);
    if (node.op === "ConstantOfShape") {
      this.roles.set(node.outputs[0], {
        ...{ kind: "token", stage: 0 },
        from: { kind: "constant" },
      });
      return undefined;
    }
    const why = node.domain !== ""
      ? "it is an operator of its own"
      : whyNotByToken({
        node,
        inputs,
        axes: node.inputs.map((name, i) =>
          sizes.includes(i) ? undefined : axis(name)
        ),
        outputs: outputs.map((name) => this.values.get(name)!),
        results: outputs.map((name) => axis(name)!),
      });
    return why ?? this.#takes(node, "token", given);
  }

  /** Numbers that say sizes are those of a request of one position: only of what has positions. */
  #dependsOnLength({ inputs }: OnnxNode, sizes: readonly number[]): boolean {
    return sizes.some((i) =>
      this.values.get(inputs[i] ?? "")?.elements?.some((each) =>
        each !== null && dependsOn(each, this.host.free)
      )
    );
  }

  #takes(
    node: OnnxNode,
    kind: Role["kind"],
    given: readonly string[],
  ): undefined {
    let stage = 0;
    for (const name of given) {
      const role = this.roles.get(name)!;
      // What is computed of the request is there behind all its positions, unless each of them brings it along.
      const isBehind = kind === "token" && role.kind === "request" &&
        !isBrought(name, role, this.host);
      stage = Math.max(stage, isBehind ? role.stage + 1 : role.stage);
    }
    for (const name of node.outputs) {
      if (name === "") continue;
      this.roles.set(name, { kind, stage, from: { kind: "node", node } });
    }
    return undefined;
  }
}

/** Whether positions bring a value of the request along, rather than wait for the cell that makes it. */
export function isBrought(
  name: string,
  { kind, from }: Role,
  host: HostValues,
): boolean {
  return from.kind === "host" ||
    kind === "request" && from.kind === "node" && host.brings(name);
}
