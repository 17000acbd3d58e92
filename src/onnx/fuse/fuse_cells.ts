/**
 * Steps of LSTM and GRU that are written out, of one row: gates cut from a sum of products, and the state that is made
 * of them. Each becomes ONNX's operator of one position, where nobody needs what lies between. Which gate is which
 * follows from what is done with it, so that any order is recognised.
 */
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../tensor/plain_tensor.ts";
import { elementCount, isShape } from "../../tensor/tensor.ts";
import {
  attributeOf,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
} from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { FusedGraph } from "./fuse_quantized.ts";
import { otherThan, Parts } from "./pattern.ts";

/** Of a step: what it takes the place of, and what it is made of. */
interface Step {
  readonly op: "LSTM" | "GRU";
  readonly parts: readonly OnnxNode[];
  /** Its nodes stand in place of this one. */
  readonly at: OnnxNode;
  readonly x: Term;
  readonly h: Term;
  /** Of both products together, or of each. */
  readonly biases: readonly [Float32Array, Float32Array];
  /** Part of the columns that is a gate, in ONNX's order. */
  readonly gates: readonly number[];
  readonly hidden: number;
  /** Names of states before and behind it. */
  readonly before: readonly string[];
  readonly behind: readonly string[];
  /** Added to a gate, by place in ONNX's order. */
  readonly shifts?: readonly number[];
}

/** A row times columns [k][n]. */
interface Term {
  readonly name: string;
  readonly columns: Float32Array;
}

/** Products and constants that a row is the sum of. */
interface Sum {
  readonly nodes: readonly OnnxNode[];
  readonly terms: readonly Term[];
  readonly bias: Float32Array;
}

/** Terms and constants of a sum; exporters write few. */
const ADDS_MAX = 8;

export function fuseCells(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
): FusedGraph {
  if (!graph.nodes.some(({ op }) => op === "Split")) return { graph, known };
  return new CellFusion(graph, new Map(known)).run();
}

class CellFusion {
  readonly #parts: Parts;

  constructor(
    readonly graph: OnnxGraph,
    readonly known: Map<string, KnownValue>,
  ) {
    this.#parts = new Parts(graph, known);
  }

  run(): FusedGraph {
    const gone = new Set<OnnxNode>();
    const made = new Map<OnnxNode, readonly OnnxNode[]>();
    for (const node of this.graph.nodes) {
      if (node.domain !== "" || node.op !== "Tanh") continue;
      const step = this.#lstm(node) ?? this.#gru(node);
      if (!step || step.parts.some((part) => gone.has(part))) continue;
      for (const part of step.parts) gone.add(part);
      made.set(step.at, this.#nodesOf(step));
    }
    const nodes = this.graph.nodes.flatMap((node) =>
      made.get(node) ?? (gone.has(node) ? [] : [node])
    );
    return { graph: { ...this.graph, nodes }, known: this.known };
  }

  /** c = f c0 + i g, h = o tanh(c). */
  #lstm(squashed: OnnxNode): Step | undefined {
    const parts = this.#parts;
    const c = parts.maker(squashed.inputs[0], "Add");
    const h = parts.reader(squashed.outputs[0], "Mul");
    const open = h &&
      this.#gate(otherThan(h, squashed.outputs[0]), "Sigmoid", h);
    if (!c || !open) return undefined;
    for (const name of c.inputs) {
      const fresh = this.#onlyFor(name, c, "Mul");
      const kept = this.#onlyFor(otherThan(c, name), c, "Mul");
      if (!fresh || !kept) continue;
      for (const from of fresh.inputs) {
        const g = this.#gate(from, "Tanh", fresh);
        const i = this.#gate(otherThan(fresh, from), "Sigmoid", fresh);
        if (!g || !i) continue;
        for (const before of kept.inputs) {
          const f = this.#gate(otherThan(kept, before), "Sigmoid", kept);
          if (!f) continue;
          const gates = [i, open, f, g];
          const whole = this.#cutIn(gates, 4);
          const sum = whole && this.#sum(whole.split.inputs[0], whole.width);
          if (!sum || sum.terms.length !== 2) continue;
          const hidden = whole.width / 4;
          const state = sum.terms.find(({ columns }) =>
            columns.length === hidden * whole.width
          );
          const x = sum.terms.find((term) => term !== state);
          if (!state || !x || !this.#isRow(before, hidden)) continue;
          return {
            op: "LSTM",
            parts: [
              ...[...sum.nodes, whole.split, kept, fresh, c, squashed, h!],
              ...gates.flatMap(({ nodes }) => nodes),
            ],
            at: c,
            ...{ x, h: state, hidden },
            biases: [sum.bias, new Float32Array(whole.width)],
            gates: gates.map(({ place }) => place),
            before: [state.name, before],
            behind: [h!.outputs[0], c.outputs[0]],
            shifts: gates.map(({ shift }) => shift),
          };
        }
      }
    }
    return undefined;
  }

  /** h1 = (1 - z) n + z h, or n + z (h - n), with n = tanh(x + r h'), of which both are products. */
  #gru(candidate: OnnxNode): Step | undefined {
    const parts = this.#parts;
    const n = candidate.outputs[0];
    const inner = this.#onlyFor(candidate.inputs[0], candidate, "Add");
    if (!inner) return undefined;
    for (const name of inner.inputs) {
      const reset = this.#onlyFor(name, inner, "Mul");
      const fromX = reset && this.#cut(otherThan(inner, name), inner);
      if (!reset || !fromX) continue;
      for (const from of reset.inputs) {
        const r = this.#onlyFor(from, reset, "Sigmoid");
        const fromH = r && this.#cut(otherThan(reset, from), reset);
        if (!r || !fromH) continue;
        const blend = this.#blend(n, candidate);
        const [sumR, sumZ] = [r, blend?.z].map((gate) =>
          gate && this.#onlyFor(gate.inputs[0], gate, "Add")
        );
        if (!blend || !sumR || !sumZ) continue;
        const [rx, rh] = this.#pair(sumR, fromX.split, fromH.split);
        const [zx, zh] = this.#pair(sumZ, fromX.split, fromH.split);
        const places = (x?: Cut, h?: Cut) =>
          x !== undefined && x.place === h?.place ? x.place : undefined;
        const gates = [places(zx, zh), places(rx, rh), places(fromX, fromH)];
        const isAll = isShape(
          gates.filter((place) => place !== undefined).toSorted(),
          [0, 1, 2],
        );
        const width = this.#widthOf(fromX.split, 3);
        if (!isAll || width !== this.#widthOf(fromH.split, 3)) continue;
        const [x, h] = [fromX, fromH].map(({ split }) =>
          this.#sum(split.inputs[0], width!)
        );
        const hidden = width! / 3;
        const isStep = x?.terms.length === 1 && h?.terms.length === 1 &&
          h.terms[0].name === blend.h && this.#isRow(blend.h, hidden) &&
          parts.readers(n).every((node) => blend.nodes.includes(node));
        if (!isStep) continue;
        return {
          op: "GRU",
          parts: [
            ...[...x.nodes, ...h.nodes, fromX.split, fromH.split, r, sumR],
            ...[reset, inner, candidate, blend.z, sumZ, ...blend.nodes],
          ],
          at: blend.nodes.at(-1)!,
          ...{ x: x.terms[0], h: h.terms[0], hidden },
          biases: [x.bias, h.bias],
          gates: gates as number[],
          before: [blend.h],
          behind: [blend.nodes.at(-1)!.outputs[0]],
        };
      }
    }
    return undefined;
  }

  /** What is made of the candidate; its last node makes the state. */
  #blend(
    n: string,
    candidate: OnnxNode,
  ): { nodes: OnnxNode[]; z: OnnxNode; h: string } | undefined {
    const parts = this.#parts;
    for (const node of parts.readers(n)) {
      if (node.op === "Mul") {
        const one = this.#onlyFor(otherThan(node, n), node, "Sub");
        const last = parts.reader(node.outputs[0], "Add");
        if (!one || !last || parts.number(one.inputs[0]) !== 1) continue;
        const kept = this.#onlyFor(
          otherThan(last, node.outputs[0]),
          last,
          "Mul",
        );
        const z = kept && this.#sigmoidFor(one.inputs[1], [one, kept]);
        const h = z && otherThan(kept, z.outputs[0]);
        const isOnly = parts.isOnlyFor(candidate.outputs[0], [node]);
        if (z && h && isOnly) return { nodes: [one, node, kept, last], z, h };
      }
      if (node.op === "Sub" && node.inputs[1] === n) {
        const [h] = node.inputs;
        const step = parts.reader(node.outputs[0], "Mul");
        const last = step && parts.reader(step.outputs[0], "Add");
        const gate = step && otherThan(step, node.outputs[0]);
        const z = gate && this.#sigmoidFor(gate, [step]);
        const isLast = last && otherThan(last, step.outputs[0]) === n;
        if (z && isLast && parts.isOnlyFor(n, [node, last])) {
          return { nodes: [node, step, last], z, h };
        }
      }
    }
    return undefined;
  }

  #sigmoidFor(name: string, nodes: readonly OnnxNode[]): OnnxNode | undefined {
    const found = this.#parts.maker(name, "Sigmoid");
    return found && this.#parts.isOnlyFor(name, nodes) ? found : undefined;
  }

  /** Both operands of a sum, the first from one Split, the second from the other. */
  #pair(
    sum: OnnxNode,
    fromX: OnnxNode,
    fromH: OnnxNode,
  ): readonly (Cut | undefined)[] {
    const cuts = sum.inputs.map((name) => this.#cut(name, sum));
    return [fromX, fromH].map((split) =>
      cuts.find((cut) => cut?.split === split)
    );
  }

  /** The node that makes a value only one node reads. */
  #onlyFor(
    name: string | undefined,
    node: OnnxNode,
    op: string,
  ): OnnxNode | undefined {
    const found = name === undefined ? undefined : this.#parts.maker(name, op);
    return found && this.#parts.isOnlyFor(name!, [node]) ? found : undefined;
  }

  /** A part of a Split that one node reads. */
  #cut(name: string | undefined, reader: OnnxNode): Cut | undefined {
    const split = this.#onlyFor(name, reader, "Split");
    return split && { split, place: split.outputs.indexOf(name!) };
  }

  /** An activation of a part of a Split, to which a number may have been added. */
  #gate(
    name: string | undefined,
    op: "Sigmoid" | "Tanh",
    reader: OnnxNode,
  ): Gate | undefined {
    const made = this.#onlyFor(name, reader, op);
    if (!made) return undefined;
    const cut = this.#cut(made.inputs[0], made);
    if (cut) return { ...cut, nodes: [made], shift: 0 };
    const sum = this.#onlyFor(made.inputs[0], made, "Add");
    for (const from of sum?.inputs ?? []) {
      const shift = this.#parts.number(otherThan(sum!, from) ?? "");
      const shifted = this.#cut(from, sum!);
      if (shift === undefined || !shifted) continue;
      return { ...shifted, nodes: [sum!, made], shift };
    }
    return undefined;
  }

  /** The Split that all gates are from, each from another part. */
  #cutIn(
    gates: readonly Gate[],
    count: number,
  ): { split: OnnxNode; width: number } | undefined {
    const [{ split }] = gates;
    // Every part is read once, so these are different ones.
    const isOne = gates.every((gate) => gate.split === split);
    const width = this.#widthOf(split, count);
    return isOne && width !== undefined ? { split, width } : undefined;
  }

  /** Of one row that is cut into as many equal parts. */
  #widthOf(split: OnnxNode, count: number): number | undefined {
    const { dims } = this.known.get(split.inputs[0])!;
    const width = dims.at(-1) ?? 0;
    const isEven = elementCount(dims) === width &&
      split.outputs.length === count &&
      split.outputs.every((name) => this.#isRow(name, width / count));
    return isEven ? width : undefined;
  }

  /** Whether a value has these elements, along its last axis. */
  #isRow(name: string, width: number): boolean {
    const { dims = [], type } = this.known.get(name) ?? {};
    return type === "float32" && elementCount(dims) === width &&
      dims.at(-1) === width;
  }

  /** What a row is the sum of, where nobody needs less of it. */
  #sum(name: string, width: number): Sum | undefined {
    const nodes: OnnxNode[] = [];
    const terms: Term[] = [];
    const bias = new Float32Array(width);
    const add = (constant: PlainTensor | undefined): boolean => {
      const { length } = constant?.data ?? [];
      if (constant?.type !== "float32") return false;
      if (length !== 1 && !isLast(constant, width)) return false;
      bias.forEach((_, i) => bias[i] += constant.data[length === 1 ? 0 : i]);
      return true;
    };
    const open = [name];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const constant = this.known.get(next)?.constant;
      if (constant) {
        if (add(constant)) continue;
        return undefined;
      }
      const node = this.#parts.maker(next, "Add", "MatMul", "Gemm");
      const isOwn = this.#parts.readers(next).length === 1 &&
        this.#parts.isOnlyFor(next, this.#parts.readers(next));
      if (!node || !isOwn || nodes.length >= ADDS_MAX) return undefined;
      nodes.push(node);
      if (node.op === "Add") {
        open.push(...node.inputs);
        continue;
      }
      const term = this.#term(node, width);
      const shift = node.inputs[2] ?? "";
      if (!term || shift !== "" && !add(this.known.get(shift)?.constant)) {
        return undefined;
      }
      terms.push(term);
    }
    return { nodes, terms, bias };
  }

  /** A product with a constant. */
  #term(node: OnnxNode, width: number): Term | undefined {
    const [name, weight] = node.inputs;
    const constant = this.known.get(weight)?.constant;
    const isPlain = (attribute: string) =>
      (attributeOf(node, attribute, "float") ?? 1) === 1;
    const isProduct = constant?.type === "float32" &&
      constant.dims.length === 2 && isPlain("alpha") && isPlain("beta") &&
      (attributeOf(node, "transA", "int") ?? 0) === 0;
    if (!isProduct) return undefined;
    const isTurned = attributeOf(node, "transB", "int") === 1;
    const [k, n] = isTurned ? constant.dims.toReversed() : constant.dims;
    if (n !== width || !this.#isRow(name, k)) return undefined;
    const data = constant.data as Float32Array;
    return { name, columns: isTurned ? turned(data, n, k) : data };
  }

  #nodesOf(step: Step): OnnxNode[] {
    const { op, x, h, hidden, gates, biases, shifts, before, behind } = step;
    const base = behind[0];
    const rows = gates.length * hidden;
    const define = (what: string, constant: PlainTensor) => {
      const name = this.#fresh(`${base} ${what}`);
      this.known.set(name, { ...constant, constant });
      return name;
    };
    const weight = (what: string, { columns }: Term) => {
      const k = columns.length / rows;
      return define(
        what,
        plainTensor("float32", [1, rows, k], gateRows(columns, gates, hidden)),
      );
    };
    const bias = new Float32Array(2 * rows);
    biases.forEach((one, i) =>
      bias.set(gateRows(one, gates, hidden), i * rows)
    );
    shifts?.forEach((shift, gate) => {
      for (let i = 0; i < hidden; i++) bias[gate * hidden + i] += shift;
    });
    const nodes: OnnxNode[] = [];
    const reshaped = (from: string, dims: readonly number[], to?: string) => {
      const name = to ?? this.#fresh(`${from} step`);
      const { type } = this.known.get(from)!;
      this.known.set(name, { type, dims });
      const shape = define("shape", plainOf("int64", [dims.length], dims));
      nodes.push({
        ...{ name, op: "Reshape", domain: "", version: 13 },
        ...{ inputs: [from, shape], outputs: [name], attributes: new Map() },
      });
      return name;
    };
    const wide = x.columns.length / rows;
    const inputs = [
      reshaped(x.name, [1, 1, wide]),
      weight("w", x),
      weight("r", h),
      define("b", plainTensor("float32", [1, 2 * rows], bias)),
      "",
      ...before.map((name) => reshaped(name, [1, 1, hidden])),
    ];
    const states = behind.map((name) => {
      const state = this.#fresh(`${name} state`);
      this.known.set(state, { type: "float32", dims: [1, 1, hidden] });
      return state;
    });
    const attributes = new Map<string, OnnxAttribute>([
      ["hidden_size", { kind: "int", value: hidden }],
    ]);
    if (op === "GRU") {
      attributes.set("linear_before_reset", { kind: "int", value: 1 });
    }
    const all = this.#fresh(`${base} all`);
    this.known.set(all, { type: "float32", dims: [1, 1, 1, hidden] });
    nodes.push({
      ...{ name: step.at.name, op, domain: "", version: 14, inputs },
      outputs: [all, ...states],
      attributes,
    });
    behind.forEach((name, i) =>
      reshaped(states[i], this.known.get(name)!.dims, name)
    );
    return nodes;
  }

  #fresh(name: string): string {
    let fresh = name;
    for (let i = 1; this.known.has(fresh); i++) fresh = `${name} ${i}`;
    return fresh;
  }
}

/** A part of a Split. */
interface Cut {
  readonly split: OnnxNode;
  readonly place: number;
}

interface Gate extends Cut {
  readonly nodes: readonly OnnxNode[];
  readonly shift: number;
}

/** Whether a constant is one row. */
function isLast({ dims, data }: PlainTensor, width: number): boolean {
  return data.length === width && dims.at(-1) === width;
}

/** [rows][columns] as [columns][rows]. */
function turned(
  data: Float32Array,
  rows: number,
  columns: number,
): Float32Array {
  return Float32Array.from(
    data,
    (_, i) => data[(i % rows) * columns + Math.floor(i / rows)],
  );
}

/** Columns [k][gates h], their gates in another order, as rows [gates h][k]. */
function gateRows(
  columns: Float32Array,
  gates: readonly number[],
  hidden: number,
): Float32Array<ArrayBuffer> {
  const width = gates.length * hidden;
  const k = columns.length / width;
  const rows = new Float32Array(columns.length);
  gates.forEach((from, to) => {
    for (let i = 0; i < hidden; i++) {
      for (let j = 0; j < k; j++) {
        rows[(to * hidden + i) * k + j] =
          columns[j * width + from * hidden + i];
      }
    }
  });
  return rows;
}
