/**
 * A graph over a sequence taken apart: for every number of recurrent layers that lie before it, what is computed of
 * each position, as a graph of one position, and what is computed of the request.
 */
import { plainOf, type PlainTensor } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import { type KnownValue, knownValues } from "../known_value.ts";
import type { Recurrence } from "../lower/recurrence.ts";
import { SEQUENCE_DOMAIN } from "../lower/sequence.ts";
import { substituteDim } from "../shapes/dim.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import type {
  Group,
  Groups,
  GroupSource,
  HostData,
  InitialState,
  LayerInput,
  LayerSources,
  StateSource,
} from "./group.ts";
import type { HostValues } from "./host_values.ts";
import { madeNode } from "./made_node.ts";
import type { Masks } from "./masks.ts";
import { isBrought, type Role, type Roles } from "./roles.ts";
import { operandsOf, SIZE_INPUTS } from "./token_rules.ts";

/** Name of the numbers of positions. */
const POSITIONS = "#positions";

/** @throws OnnxError naming the node that keeps the axis from staying free */
export function groupsOf(
  graph: OnnxGraph,
  values: InferredValues,
  roles: Roles,
  host: HostValues,
  masks: Masks,
): Groups {
  return new Grouping(graph, values, roles, host, masks).run();
}

/** A group on its way. */
class Draft {
  readonly nodes: OnnxNode[] = [];
  readonly emitted = new Set<OnnxNode>();
  /** Behind all others: states of directions, one by one. */
  readonly splits: OnnxNode[] = [];
  readonly inputs = new Map<string, GroupSource>();
  readonly outputs = new Set<string>();
  /** Values that come in by name: each is one input, or put together of several. */
  readonly arrived = new Set<string>();

  constructor(readonly kind: Role["kind"], readonly stage: number) {}
}

class Grouping {
  readonly #drafts = new Map<string, Draft>();
  readonly #known: Map<string, KnownValue>;
  readonly #needed = new Set<string>();
  readonly #layers = new Map<number, LayerSources>();

  constructor(
    readonly graph: OnnxGraph,
    readonly values: InferredValues,
    readonly roles: Roles,
    readonly host: HostValues,
    readonly masks: Masks,
  ) {
    this.#known = knownValues(values, new Map([[host.free.name, 1]]));
    // What is made up of layers has the sizes of what they make.
    for (const [name, { from }] of roles.roles) {
      if (this.#known.has(name)) continue;
      const dims = from.kind === "last"
        ? this.#known.get(roles.layers[from.layer].node.outputs[0])!.dims
        : [1];
      this.#known.set(name, { type: "float32", dims });
    }
  }

  run(): Groups {
    for (const { name } of this.graph.outputs) this.#deliver(name);
    const order = [...this.roles.roles];
    // Who reads a value comes behind it.
    for (const [name, role] of order.toReversed()) {
      if (this.#needed.has(name)) this.#need(role);
    }
    for (const [name, role] of order) {
      if (this.#needed.has(name)) this.#emit(name, role);
    }
    const drafts = [...this.#drafts.values()].filter(({ outputs }) =>
      outputs.size > 0
    ).sort((a, b) =>
      a.stage - b.stage || (a.kind === b.kind ? 0 : a.kind === "token" ? -1 : 1)
    );
    return {
      groups: drafts.map((draft) => this.#group(draft)),
      layers: this.#layers,
    };
  }

  #draft(kind: Role["kind"], stage: number): Draft {
    const key = `${kind} ${stage}`;
    const found = this.#drafts.get(key) ?? new Draft(kind, stage);
    this.#drafts.set(key, found);
    return found;
  }

  #role(name: string): Role {
    return this.roles.roles.get(name) ?? this.roles.refuse(name);
  }

  #isConstant(name: string): boolean {
    return this.values.get(name)?.constant !== undefined;
  }

  /** A result of the model. */
  #deliver(name: string): void {
    if (this.#isConstant(name)) {
      this.#draft("request", 0).outputs.add(name);
      return;
    }
    const role = this.#role(name);
    const draft = this.#draft(role.kind, role.stage);
    draft.outputs.add(name);
    this.#reads(draft, name);
  }

  /** A group reads a value. */
  #reads(draft: Draft, name: string): void {
    if (name === "" || this.#isConstant(name)) return;
    const role = this.#role(name);
    if (draft.kind === "token" && isBrought(name, role, this.host)) {
      draft.arrived.add(name);
      return;
    }
    this.#needed.add(name);
    const { from } = role;
    const isMade = ["node", "attention", "table", "constant"].includes(
      from.kind,
    );
    const home = this.#draft(role.kind, role.stage);
    if (isMade && home === draft) return;
    if (isMade) home.outputs.add(name);
    draft.arrived.add(name);
  }

  /** What a value is made of. */
  #need(role: Role): void {
    const draft = this.#draft(role.kind, role.stage);
    const { from } = role;
    switch (from.kind) {
      case "node": {
        const embedded = this.#embedded(from.node);
        const read = embedded ? [] : operandsOf(from.node);
        for (const input of read) this.#reads(draft, input);
        return;
      }
      case "attention":
        for (const input of [from.parts.q, from.parts.k, from.parts.v]) {
          this.#reads(draft, input);
        }
        return;
      case "pick":
        this.#picks(from.of);
        return;
      case "states":
      case "last":
        this.#needsLayer(from.layer);
        return;
    }
  }

  /** Somebody reads positions of a value by number. */
  #picks(name: string): void {
    const { kind, stage, from } = this.#role(name);
    this.#needed.add(name);
    if (from.kind === "host" || from.kind === "states") return;
    this.#draft(kind, stage).outputs.add(name);
  }

  #needsLayer(at: number): void {
    if (this.#layers.has(at)) return;
    const { x, initial, recurrence } = this.roles.layers[at];
    this.#layers.set(at, {
      x: this.#layerInput(x),
      initial: recurrence.directions.map((_, direction) =>
        initial.map((value) => this.#initial(value, direction, recurrence))
      ),
    });
  }

  #layerInput(name: string): LayerInput {
    const origin = this.#origin(name);
    const { from } = this.#role(origin);
    this.#needed.add(origin);
    if (from.kind === "states") return { kind: "states", layer: from.layer };
    if (from.kind === "host") {
      return { kind: "data", data: { value: origin, kind: "token" } };
    }
    this.#picks(name);
    return { kind: "value", value: name };
  }

  #initial(
    given: string | number,
    direction: number,
    { hidden, directions }: Recurrence,
  ): InitialState {
    if (typeof given === "number") {
      return {
        kind: "constant",
        data: new Float32Array(hidden).fill(given),
      };
    }
    const constant = this.#known.get(given)?.constant;
    if (constant) {
      const all = constant.data as Float32Array;
      const data = all.slice(direction * hidden, (direction + 1) * hidden);
      return { kind: "constant", data };
    }
    const origin = this.#origin(given);
    const { from } = this.#role(origin);
    if (from.kind === "host") {
      const data: HostData = { value: origin, kind: "request" };
      return { kind: "row", data, index: direction };
    }
    if (from.kind === "last") {
      const below = this.roles.layers[from.layer].recurrence;
      if (
        below.directions.length === directions.length && below.hidden === hidden
      ) {
        this.#needed.add(origin);
        return {
          ...{ kind: "state", layer: from.layer, direction },
          ...{ state: from.state, at: "last" },
        };
      }
    }
    const role = this.#role(given);
    const home = this.#draft("request", role.stage);
    this.#reads(home, given);
    if (directions.length === 1) {
      home.outputs.add(given);
      return { kind: "value", value: given };
    }
    const pieces = directions.map((_, i) => `${given}#state${i}`);
    if (direction === 0) {
      for (const name of pieces) {
        this.#known.set(name, { type: "float32", dims: [1, 1, hidden] });
        home.outputs.add(name);
      }
      home.splits.push(madeNode("Split", [given], pieces, { axis: 0 }));
    }
    const piece = pieces[direction];
    return { kind: "value", value: piece };
  }

  /** The value whose elements, in their order, a value is. */
  #origin(name: string): string {
    let origin = name;
    for (;;) {
      const { from } = this.#role(origin);
      if (from.kind !== "node" || !this.#isView(from.node)) return origin;
      const [next] = from.node.inputs;
      if (!this.roles.roles.has(next)) return origin;
      origin = next;
    }
  }

  #isView({ op, domain, inputs: [x], attributes }: OnnxNode): boolean {
    if (domain !== "") return false;
    if (op !== "Transpose") {
      return ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"]
        .includes(op);
    }
    const { dims } = this.#known.get(x)!;
    const perm = attributeOf({ attributes }, "perm", "ints") ??
      dims.map((_, i) => dims.length - 1 - i);
    const kept = perm.filter((axis) => dims[axis] !== 1);
    return kept.every((axis, i) => i === 0 || kept[i - 1] < axis);
  }

  /** A lookup of ids that are known on unfolding: rows of a table, by address. */
  #embedded(node: OnnxNode): HostData | undefined {
    const [table, ids] = node.inputs;
    const { constant } = this.values.get(table) ?? {};
    const isTable = node.op === "Gather" && node.domain === "" &&
      (attributeOf(node, "axis", "int") ?? 0) === 0 &&
      constant !== undefined && isFiniteTable(constant);
    if (!isTable || this.#isConstant(ids) || !this.host.has(ids)) {
      return undefined;
    }
    const role = this.roles.roles.get(ids);
    return role &&
      { value: ids, kind: role.kind, below: constant.dims[0] };
  }

  #emit(name: string, role: Role): void {
    const draft = this.#draft(role.kind, role.stage);
    const { from } = role;
    switch (from.kind) {
      case "node": {
        if (draft.emitted.has(from.node)) return;
        draft.emitted.add(from.node);
        const data = this.#embedded(from.node);
        const { inputs: [table], outputs: [output] } = from.node;
        if (data) this.#embed(draft, table, output, data);
        else draft.nodes.push(this.#ofOnePosition(from.node));
        return;
      }
      case "table": {
        const { of, start, rows } = from;
        const value = `${POSITIONS}${start}`;
        this.host.add(
          value,
          (length) =>
            plainOf(
              "int64",
              [length],
              Array.from({ length }, (_, i) => start + i),
            ),
        );
        const data: HostData = { value, kind: "token", below: rows };
        return this.#embed(draft, of, name, data);
      }
      case "constant":
        return this.#fill(name);
      case "attention": {
        const { q, k, v, heads, kvHeads, scale } = from.parts;
        draft.nodes.push(madeNode("Attention", [q, k, v], [name], {
          ...{
            heads,
            kvHeads,
            causal: this.masks.isCausal(from.parts) ? 1 : 0,
          },
          ...(scale !== undefined && { scale: { float: scale } }),
        }, SEQUENCE_DOMAIN));
        return;
      }
    }
  }

  /** Rows of a table by ids that are brought along. */
  #embed(draft: Draft, table: string, output: string, data: HostData): void {
    const ids = `${data.value}#below${data.below}`;
    const dims = this.#known.get(data.value)?.dims ?? [1];
    this.#known.set(ids, { type: "int32", dims });
    draft.inputs.set(ids, { kind: "data", data });
    draft.nodes.push(
      madeNode(
        "Embedding",
        [table, ids],
        [output],
        { rows: data.below! },
        SEQUENCE_DOMAIN,
      ),
    );
  }

  /** A node with the sizes of a request of one position. */
  #ofOnePosition(node: OnnxNode): OnnxNode {
    const sizes = SIZE_INPUTS[node.op] ?? [];
    const inputs = node.inputs.map((name, i) => {
      if (name === "" || !sizes.includes(i)) return name;
      const [output] = node.outputs;
      if (node.op === "Reshape" || node.op === "Expand") {
        return this.#numbers(`${output}#shape`, this.#known.get(output)!.dims);
      }
      const { constant, elements } = this.values.get(name) ?? {};
      if (constant || !elements) return name;
      const { free: { name: axis } } = this.host;
      return this.#numbers(
        `${name}#one`,
        elements.map((each) =>
          Number(substituteDim(each!, (of) => of === axis ? 1 : undefined))
        ),
      );
    });
    return { ...node, inputs };
  }

  #numbers(name: string, numbers: readonly number[]): string {
    const constant = plainOf("int64", [numbers.length], numbers);
    this.#known.set(name, { type: "int64", dims: constant.dims, constant });
    return name;
  }

  /** The same number everywhere. */
  #fill(name: string): void {
    const node = this.graph.nodes.find(({ outputs }) => outputs[0] === name)!;
    const { type, dims } = this.#known.get(name)!;
    const value = attributeOf(node, "value", "tensor")?.data[0] ?? 0;
    const count = elementCount(dims);
    const constant = plainOf(type, dims, new Array(count).fill(value));
    this.#known.set(name, { type, dims, constant });
  }

  #group(draft: Draft): Group {
    const before: OnnxNode[] = [];
    for (const name of draft.arrived) {
      const sources = this.#sources(draft, name);
      if (sources.length === 1) {
        draft.inputs.set(name, sources[0]);
        continue;
      }
      const { dims } = this.#known.get(name)!;
      const width = elementCount(dims) / sources.length;
      const pieces = sources.map((source, i) => {
        const piece = `${name}#way${i}`;
        this.#known.set(piece, { type: "float32", dims: [width] });
        draft.inputs.set(piece, source);
        return piece;
      });
      const all = `${name}#ways`;
      this.#known.set(all, {
        type: "float32",
        dims: [width * sources.length],
      });
      before.push(
        madeNode("Concat", pieces, [all], { axis: 0 }),
        madeNode("Reshape", [all, this.#numbers(`${name}#shape`, dims)], [
          name,
        ]),
      );
    }
    const info = (name: string) => ({ name, ...this.#known.get(name)! });
    const { kind, stage } = draft;
    return {
      ...{ kind, stage },
      graph: {
        name: this.graph.name,
        inputs: [...draft.inputs.keys()].map(info),
        outputs: [...draft.outputs].map(info),
        initializers: new Map(),
        nodes: [...before, ...draft.nodes, ...draft.splits],
        captured: [],
        declared: new Map(),
      },
      known: this.#known,
      sources: [...draft.inputs.values()],
    };
  }

  /** Where a value comes from that a group does not compute itself: a source for each direction of a layer. */
  #sources(draft: Draft, name: string): GroupSource[] {
    const role = this.#role(name);
    const { kind, from } = role;
    if (draft.kind === "token" && isBrought(name, role, this.host)) {
      return [{ kind: "data", data: { value: name, kind } }];
    }
    switch (from.kind) {
      case "host":
        return [{ kind: "data", data: { value: name, kind } }];
      case "states":
        return this.#states(from.layer, "h", "each");
      case "last":
        return this.#states(from.layer, from.state, "last");
      case "pick": {
        const { of, position } = from;
        const origin = this.#role(of).from;
        if (origin.kind === "states") {
          return this.#states(origin.layer, "h", { position });
        }
        const data: HostData = { value: of, kind: "token" };
        return [{
          kind: "pick",
          of: origin.kind === "host" ? data : of,
          position,
        }];
      }
      default:
        return [{ kind: "value", value: name }];
    }
  }

  #states(
    layer: number,
    state: "h" | "c",
    at: StateSource["at"],
  ): StateSource[] {
    const { directions } = this.roles.layers[layer].recurrence;
    return directions.map((_, direction) => ({
      ...{ kind: "state", layer, direction, state, at },
    }));
  }
}

function isFiniteTable({ type, dims, data }: PlainTensor): boolean {
  return type === "float32" && dims.length === 2 && dims.every((n) => n > 0) &&
    (data as Float32Array).every((value) => Number.isFinite(value));
}
