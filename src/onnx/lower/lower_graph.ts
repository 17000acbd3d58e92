/** A graph as one cell: what a request computes, all sizes known. */
import {
  defineCell,
  type Operators,
  type PortSpec,
  row,
} from "../../graph/cell_builder.ts";
import type { CacheSpec } from "../../graph/cache.ts";
import type { Cell, Phase } from "../../graph/cell.ts";
import type { CacheRef, Value } from "../../graph/operator.ts";
import { type RowShape, shapeOf } from "../../graph/row_layout.ts";
import type { PlainType } from "../../tensor/plain_tensor.ts";
import { type Dtype, elementBytes, elementCount } from "../../tensor/tensor.ts";
import type { OnnxGraph, OnnxNode } from "../ir.ts";
import { plainOperator, runPlain } from "../../plain/registry.ts";
import { OnnxError, type Place, quoted } from "../place.ts";
import { type Around, LoweredNode } from "./lowered_node.ts";
import type { KnownValue } from "../known_value.ts";
import { Operand } from "./operand.ts";
import { capturedBy, graphsOf, readNames } from "../names.ts";
import { QuantizedOperand } from "./quantized_operand.ts";
import { loweringOf } from "./registry.ts";
import { CONTRIB_DOMAIN } from "../domains.ts";

const DTYPES: Readonly<Partial<Record<PlainType, Dtype>>> = {
  float32: "f32",
  int32: "i32",
  int64: "i64",
  int8: "i8",
  uint8: "u8",
  bool: "bool",
};

/** Type of the rows that hold elements of a type; undefined where there is none. */
export function dtypeOf(type: PlainType): Dtype | undefined {
  return DTYPES[type];
}

/** Elements of a value, 1 GiB of floats. */
const ROW_ELEMENTS_MAX = 2 ** 28;

/** A graph's cell, with what its operators came from. */
export interface LoweredGraph {
  /** Inputs and outputs are those of the graph, by place: x0, x1, ..., y0, y1, ... */
  readonly cell: Cell;
  /** Place among the graph's inputs of each of the cell's. */
  readonly inputs: readonly number[];
  /** For every operator of the cell, the node that it is from; of those that carry results alone none. */
  readonly nodes: readonly (OnnxNode | undefined)[];
}

/** What a cell is besides what its graph computes; see CellDefinition. */
export interface CellFrame {
  readonly phase?: Phase;
  readonly recurrent?: boolean;
  readonly priority?: number;
  readonly tokensMax?: number;
  /** Those that nodes append to and look at, by place. */
  readonly caches?: readonly CacheSpec[];
  /** Further inputs, for `outputs`. */
  readonly inputs?: Readonly<Record<string, PortSpec>>;
  /** Its outputs, given the graph's by name; by default these, as y0, y1, ... */
  outputs?(
    op: Operators,
    results: (name: string) => Value,
    inputs: Readonly<Record<string, Value>>,
  ): Record<string, Value>;
  readonly stop?: { readonly output: string; readonly token: number | null };
}

/**
 * Makes one cell of a graph.
 * @param known type and dims of every value, and which are constant
 * @param frame what the cell is besides; by default static, without caches
 * @throws OnnxError naming the node that operators of cells do not compute
 */
export function lowerGraph(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
  name: string,
  place: Place,
  { outputs, inputs: further = {}, caches = [], ...frame }: CellFrame = {},
): LoweredGraph {
  const isRagged = frame.tokensMax !== undefined;
  const read = new Set(graph.nodes.flatMap(readNames));
  for (const { name } of graph.outputs) read.add(name);
  const inputs = graph.inputs.map((_, i) => i).filter((i) =>
    read.has(graph.inputs[i].name)
  );
  const ports = inputs.map((i) => {
    const { name } = graph.inputs[i];
    const at = place.in(`input ${quoted(name)}`);
    const { type, dims } = known.get(name)!;
    const shape = row(rowType(type, at), rowDims(dims, at));
    if (isRagged) checkToken(shape, at);
    return [`x${i}`, shape] as const;
  });
  const marks: Mark[] = [];
  const cell = defineCell<string, string, string>({
    name,
    ...frame,
    inputs: { ...Object.fromEntries(ports), ...further },
    caches: Object.fromEntries(caches.map((spec, i) => [`cache${i}`, spec])),
    body: (op, values, cacheRefs) => {
      const lowering = new GraphLowering(
        graph,
        known,
        op,
        place,
        Object.values(cacheRefs),
      );
      for (const i of inputs) {
        lowering.give(graph.inputs[i].name, values[`x${i}`]);
      }
      for (const node of graph.nodes) {
        const upTo = lowering.node(node);
        if (upTo !== undefined) marks.push({ upTo, node });
      }
      const result = (name: string) => {
        const value = lowering.result(name);
        if (isRagged) checkToken(value, place.in(`output ${quoted(name)}`));
        return value;
      };
      return outputs ? outputs(op, result, values) : Object.fromEntries(
        graph.outputs.map(({ name }, i) => [`y${i}`, result(name)]),
      );
    },
  });
  return { cell, inputs, nodes: nodesOf(cell, marks) };
}

/** Rows of positions lie one after the other, each where a word begins. */
function checkToken(row: RowShape, at: Place): void {
  if (row.dtype === "q8") return;
  const bytes = row.width * elementBytes(row.dtype);
  if (bytes % 4 === 0) return;
  at.fail(({ sizes }) =>
    `${row.dtype}[${
      shapeOf(row)
    }] of a position are ${bytes} bytes, rows of positions whole numbers of 4; ` +
    `give the size of the axis, ${sizes("AXIS")}`
  );
}

/** Values up to this one are of the node, or of those before it. */
interface Mark {
  readonly upTo: number;
  readonly node: OnnxNode;
}

function nodesOf(
  { operators }: Cell,
  marks: readonly Mark[],
): (OnnxNode | undefined)[] {
  let at = 0;
  return operators.map(({ outputs: [made] }) => {
    // What appends to a cache makes no value.
    const id = made?.id ?? -1;
    while (at < marks.length && marks[at].upTo < id) at++;
    return marks[at]?.node;
  });
}

/** What may be done about operators of other domains. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  "com.microsoft.nchwc":
    "ONNX Runtime wrote it for one processor; load the file as it was before that, or optimised at level extended",
  "ai.onnx.ml":
    "trees, encoders and other models of tables are not networks; a runtime of theirs serves them",
};

/** @throws OnnxError when there is no such operator */
export function checkOperator(
  { op, domain, version }: OnnxNode,
  at: Place,
): void {
  const isThere = domain === ""
    ? plainOperator(op, version) !== undefined
    : domain === CONTRIB_DOMAIN && loweringOf(op, domain) !== undefined;
  if (isThere) return;
  const where = domain === "" ? "" : ` in domain ${quoted(domain)}`;
  const wayOut = Object.hasOwn(WAYS_OUT, domain) ? `; ${WAYS_OUT[domain]}` : "";
  at.fail(
    `there is no operator ${quoted(op)} of version ${version}${where}${wayOut}`,
  );
}

/** @throws OnnxError when a node, or one of its graphs, is not run in plain TypeScript */
function checkPlain(node: OnnxNode, at: Place): void {
  checkOperator(node, at);
  if (node.domain !== "") {
    at.fail(
      "kernels alone compute it: of one sequence of up to 256 positions, weights constant, no lengths or peepholes",
    );
  }
  for (const [name, attribute] of node.attributes) {
    const inside = at.in(`attribute ${quoted(name)}`);
    if (attribute.kind === "graphs") inside.fail("it is several graphs");
    for (const graph of graphsOf(attribute)) {
      for (const node of graph.nodes) checkPlain(node, inside.node(node));
    }
  }
}

/** @throws OnnxError when no row holds elements of the type */
function rowType(type: PlainType, at: Place): Dtype {
  return DTYPES[type] ??
    at.fail(
      `it is ${type}; requests bring and cells make ${
        Object.keys(DTYPES).join(", ")
      }`,
    );
}

/** @throws OnnxError when there are no elements */
function rowDims(dims: readonly number[], at: Place): readonly number[] {
  if (dims.some((size) => size < 1)) {
    at.fail(`it has no elements: its sizes are ${dims.join(" x ")}`);
  }
  if (elementCount(dims) > ROW_ELEMENTS_MAX) {
    at.fail(`it has more than 2^28 elements: ${dims.join(" x ")}`);
  }
  return dims;
}

/** Operators of which a constant may be infinite. */
const COMPARES: ReadonlySet<string> = new Set(["Max", "Min", "Clip"]);

/** Whether a node's attributes are finite, as constants of kernels are; plain TypeScript takes any. */
function hasFiniteFloats({ op, domain, attributes }: OnnxNode): boolean {
  if (domain !== "" || COMPARES.has(op)) return true;
  return [...attributes.values()].every((attribute) =>
    attribute.kind !== "float" || Number.isFinite(attribute.value)
  );
}

class GraphLowering implements Around {
  readonly #operands = new Map<string, Operand>();
  readonly #readers = new Map<string, OnnxNode[]>();
  readonly #outputs: ReadonlySet<string>;
  readonly #absorbed = new Set<OnnxNode>();
  readonly #finite = new Map<Float32Array, boolean>();

  constructor(
    { nodes, outputs }: OnnxGraph,
    readonly values: ReadonlyMap<string, KnownValue>,
    readonly op: Operators,
    readonly place: Place,
    readonly caches: readonly CacheRef[],
  ) {
    this.#outputs = new Set(outputs.map(({ name }) => name));
    for (const node of nodes) {
      for (const name of new Set(readNames(node))) {
        const readers = this.#readers.get(name);
        if (readers) readers.push(node);
        else this.#readers.set(name, [node]);
      }
    }
  }

  /** Where a value lies. */
  give(name: string, value: Value): void {
    this.#operands.set(name, new Operand(this.op, this.known(name), value));
  }

  /** @returns the last value that the node has made; undefined where another one has done its work */
  node(node: OnnxNode): number | undefined {
    if (this.#absorbed.has(node)) return undefined;
    const at = this.place.node(node);
    for (const name of node.outputs) {
      if (name !== "") rowDims(this.known(name).dims, at);
    }
    try {
      const made = this.#lowered(node) ??
        (node.domain === "" || node.domain === CONTRIB_DOMAIN
          ? this.#plain(node, at)
          : at.fail("it is left without the operands that it takes"));
      return made.reduce((last, { id }) => Math.max(last, id), -1);
    } catch (error) {
      if (error instanceof OnnxError) throw error;
      if (error instanceof RangeError || error instanceof TypeError) {
        return at.fail(error.message);
      }
      throw error;
    }
  }

  #lowered(node: OnnxNode): readonly Value[] | undefined {
    const lowering = loweringOf(node.op, node.domain);
    const isRow = (name: string) =>
      name === "" || this.#isSize(node, name) ||
      !this.known(name).dims.includes(0) &&
        (COMPARES.has(node.op) || this.isFinite(name));
    if (!lowering || !hasFiniteFloats(node) || !node.inputs.every(isRow)) {
      return undefined;
    }
    const view = new LoweredNode(node, this.op, this);
    const made = lowering(view);
    if (made === undefined) return undefined;
    if (made instanceof QuantizedOperand) {
      this.#operands.set(view.result, made);
      return [made.value];
    }
    const results: readonly Value[] = Array.isArray(made) ? made : [made];
    [view.result, ...node.outputs.slice(1)].forEach((name, i) => {
      if (name !== "" && results[i]) this.give(name, results[i]);
    });
    return results;
  }

  /** Exporters write inputs that they leave out as constants of nothing. */
  #isSize({ op, inputs: [x] }: OnnxNode, name: string): boolean {
    return op === "Resize" && name !== x &&
      this.known(name).constant !== undefined;
  }

  /** In plain TypeScript, on the worker. */
  #plain(node: OnnxNode, at: Place): readonly Value[] {
    checkPlain(node, at);
    const { op, version, attributes } = node;
    const wanted = node.outputs.findLastIndex((name) => name !== "") + 1;
    const outputs = node.outputs.slice(0, wanted).map((name, i) => {
      const output = at.in(`output ${i}`);
      if (name === "") return output.fail("it is left out, a later one is not");
      const { type, dims } = this.known(name);
      return { dtype: rowType(type, output), dims: rowDims(dims, output) };
    });
    const captured = capturedBy(node);
    const made = this.op.Plain({
      name: op,
      ...(node.name !== "" && { node: node.name }),
      opset: version,
      attributes,
      ...(captured && { captured }),
      inputs: [...node.inputs, ...captured ?? []].map((name) => {
        if (name === "") return undefined;
        return this.known(name).constant ?? this.operand(name).row;
      }),
      outputs,
      run: runPlain,
    });
    made.forEach((value, i) => this.give(node.outputs[i], value));
    return made;
  }

  known(name: string): KnownValue {
    return this.values.get(name) ??
      this.place.fail(`there is no value ${quoted(name)}`);
  }

  cache(place: number): CacheRef {
    return this.caches[place];
  }

  operand(name: string): Operand {
    const found = this.#operands.get(name);
    if (found) return found;
    const known = this.known(name);
    if (!known.constant) this.place.fail(`${quoted(name)} is not there yet`);
    const constant = new Operand(this.op, known);
    this.#operands.set(name, constant);
    return constant;
  }

  onlyReader(name: string): OnnxNode | undefined {
    const readers = this.#readers.get(name);
    return readers?.length === 1 && !this.#outputs.has(name)
      ? readers[0]
      : undefined;
  }

  isRead(name: string): boolean {
    return this.#readers.has(name) || this.#outputs.has(name);
  }

  isFinite(name: string): boolean {
    const data = this.known(name).constant?.data;
    if (!(data instanceof Float32Array)) return true;
    let isFinite = this.#finite.get(data);
    if (isFinite === undefined) {
      isFinite = data.every((value) => Number.isFinite(value));
      this.#finite.set(data, isFinite);
    }
    return isFinite;
  }

  absorb(node: OnnxNode): void {
    this.#absorbed.add(node);
  }

  /** An output of the graph; a constant that is no finite floats is made by an operator, too. */
  result(name: string): Value {
    const operand = this.operand(name);
    const { constant, type, dims } = operand;
    const at = this.place.in(`output ${quoted(name)}`);
    if (constant !== undefined) rowDims(dims, at);
    if (constant === undefined || type === "float32" && this.isFinite(name)) {
      return operand.row;
    }
    return this.op.Plain({
      name: "Identity",
      opset: 1,
      inputs: [constant],
      outputs: [{ dtype: rowType(type, at), dims }],
      run: runPlain,
    })[0];
  }
}
