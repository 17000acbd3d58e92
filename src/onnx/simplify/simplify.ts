/**
 * What exporters leave behind is taken out: nodes of constants, shape arithmetic that comes to numbers, `If`s of which
 * the branch is certain, products of integers with zeros, parts of a Concat without elements, sequences of tensors that
 * are known, nodes that pass a value on (Identity, Dropout, Cast to the type that it has, Concat of one), and what nobody
 * reads. Results are the same, to the bit.
 */
import { type PlainTensor, zerosOf } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { type Expand, Expansion } from "../contrib/expansion.ts";
import { expansionOf } from "../contrib/registry.ts";
import {
  attributeOf,
  type DeclaredDim,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
} from "../ir.ts";
import { OnnxError, Place, quoted } from "../place.ts";
import {
  declaredValue,
  type InferredValues,
  ShapeInference,
} from "../shapes/infer_graph.ts";
import {
  constantValue,
  dimsOfDeclared,
  type InferredValue,
  scalarOf,
  UNKNOWN,
} from "../shapes/value.ts";
import { mostOf } from "../shapes/arity.ts";
import { cannotFail } from "./cannot_fail.ts";
import { expandInside } from "./expand_inside.ts";
import { constantFolder } from "./fold_constants.ts";
import { allReadNames, readNames, renamedAttribute } from "../names.ts";

/** How a model is simplified. */
export interface SimplifyOptions {
  /**
   * Values that take the place of the file's, by name: of initializers, inputs, or results of nodes; inputs and nodes are
   * left out.
   */
  constants?: ReadonlyMap<string, PlainTensor>;
  /** Sizes of inputs that take the place of the declared ones, by name. */
  inputs?: ReadonlyMap<string, readonly DeclaredDim[]>;
  /** What sizes that inputs name are never above, by name. */
  sizesMax?: ReadonlyMap<string, number>;
  /** Operators that are not computed even of constants; DequantizeLinear by default. */
  kept?: ReadonlySet<string>;
  /** Branches that can be computed whether they are taken or not are computed in front of their `If`; default no. */
  hoist?: boolean;
}

/** A model without what need not run. */
export interface SimplifiedModel {
  /** Its inputs and outputs are the file's; an output may be an input or an initializer. */
  readonly model: OnnxModel;
  /** Nodes that are not in it, since only parts of a Concat depend on them that have no elements at these sizes. */
  readonly emptied: readonly OnnxNode[];
  /** What is known of every value of the graph, by name. */
  readonly values: InferredValues;
}

/** Elements of a constant that a product with zeros becomes, at most. */
const ZEROS_MAX = 2 ** 16;

/** @throws OnnxError naming the node whose inputs do not fit */
export function simplify(
  model: OnnxModel,
  { constants = new Map(), inputs = new Map(), sizesMax, kept, hoist = false }:
    SimplifyOptions = {},
): SimplifiedModel {
  const place = new Place(model.label);
  const simplifier = new Simplifier(
    model.graph,
    place,
    new ShapeInference(constantFolder(kept)),
    hoist,
  );
  for (const [name, dims] of inputs) {
    simplifier.resize(name, dims, sizesMax);
  }
  for (const [name, tensor] of constants) simplifier.define(name, tensor);
  const graph = simplifier.run();
  return {
    ...{ model: { ...model, graph }, values: simplifier.values },
    emptied: simplifier.emptied(graph),
  };
}

class Simplifier {
  readonly values = new Map<string, InferredValue>();
  /** Values that are another one. */
  readonly #aliases = new Map<string, string>();
  readonly #initializers: Map<string, PlainTensor>;
  readonly #outputs: ReadonlySet<string>;
  readonly #read: Set<string>;
  readonly #nodes: OnnxNode[] = [];
  /** Parts of a Concat that have no elements. */
  readonly #emptyParts = new Set<string>();

  constructor(
    readonly graph: OnnxGraph,
    readonly place: Place,
    readonly inference: ShapeInference,
    readonly hoist: boolean,
    around: InferredValues = new Map(),
  ) {
    for (const name of graph.captured) {
      this.values.set(name, around.get(name) ?? UNKNOWN);
    }
    this.#initializers = new Map(graph.initializers);
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    this.#read = allReadNames(graph);
    for (const input of graph.inputs) {
      this.values.set(input.name, declaredValue(input));
    }
    for (const [name, tensor] of graph.initializers) {
      this.values.set(name, constantValue(tensor));
    }
  }

  resize(
    name: string,
    dims: readonly DeclaredDim[],
    most?: ReadonlyMap<string, number>,
  ): void {
    const input = this.graph.inputs.find((each) => each.name === name);
    if (input === undefined) {
      return this.place.fail(`there is no input ${quoted(name)}`);
    }
    this.values.set(name, {
      type: input.type,
      dims: dimsOfDeclared(name, dims, most),
    });
  }

  define(name: string, tensor: PlainTensor): void {
    const input = this.graph.inputs.find((each) => each.name === name);
    const isThere = input !== undefined || this.#initializers.has(name) ||
      this.graph.nodes.some(({ outputs }) => outputs.includes(name));
    if (!isThere) this.place.fail(`there is no value ${quoted(name)}`);
    if (input && input.type !== null && input.type !== tensor.type) {
      this.place.in(`input ${quoted(name)}`).fail(
        `it is ${input.type}, the constant in its place ${tensor.type}`,
      );
    }
    this.#initializers.set(name, tensor);
    this.values.set(name, constantValue(tensor));
  }

  run(): OnnxGraph {
    for (const node of this.graph.nodes) this.#visit(node);
    return this.#living();
  }

  /** Branches are visited in place of their node; they are nested no deeper than the file's graphs. */
  #visit(given: OnnxNode): void {
    const isDefined = given.outputs.every((name) =>
      name === "" || this.#initializers.has(name)
    );
    if (isDefined && given.outputs.length > 0) return;
    const renamed = this.#renamed(given);
    const branch = this.#certainBranch(renamed);
    if (branch !== undefined) return this.#inline(renamed, branch);
    const node = expandInside(
      this.hoist ? this.#hoisted(renamed) : renamed,
      this.values,
      this.inference,
      this.place,
    );
    const expand = expansionOf(node);
    if (expand !== undefined && this.#expand(node, expand)) return;
    const results = this.inference.node(
      node,
      this.values,
      this.graph,
      this.place,
    ).map((result) => this.#certainZeros(node, result) ?? result);
    let isConstant = true;
    node.outputs.forEach((name, i) => {
      if (name === "" || this.#initializers.has(name)) return;
      this.values.set(name, results[i]);
      isConstant &&= results[i].constant !== undefined;
    });
    if (isConstant) {
      node.outputs.forEach((name, i) => {
        const { constant } = results[i];
        if (name === "" || this.#initializers.has(name)) return;
        if (constant) this.#initializers.set(name, constant);
      });
      return;
    }
    if (this.#passesOn(node, results)) {
      return this.#alias(node.outputs[0], node.inputs[0], node);
    }
    this.#nodes.push(node);
  }

  /** A product of integers one of which is a constant of zeros: exporters pass on inputs that have no effect so. */
  #certainZeros(
    { op, domain, inputs }: OnnxNode,
    { type, dims, constant }: InferredValue,
  ): InferredValue | undefined {
    if (op !== "Mul" || domain !== "" || constant || !dims) return undefined;
    if (type === null || type === "float32" || type === "bool") {
      return undefined;
    }
    const isZeros = inputs.some((name) => {
      const data = this.values.get(name)?.constant?.data;
      return data !== undefined && data.length > 0 &&
        data.every((value: number | bigint) => Number(value) === 0);
    });
    const sizes = dims.filter((size) => typeof size === "number");
    const isSmall = sizes.length === dims.length &&
      elementCount(sizes) <= ZEROS_MAX;
    return isZeros && isSmall ? constantValue(zerosOf(type, sizes)) : undefined;
  }

  #renamed(node: OnnxNode): OnnxNode {
    const nameOf = (name: string) => this.#aliases.get(name) ?? name;
    const attributes = new Map(
      [...node.attributes].map(([name, attribute]) =>
        [name, renamedAttribute(attribute, nameOf)] as const
      ),
    );
    const inputs = node.inputs.map(nameOf);
    return {
      ...node,
      inputs: this.#filled(node, inputs),
      outputs: this.#wanted(node),
      attributes,
    };
  }

  /** What is put together has elements: exporters leave slices of size 0 between others. */
  #filled({ op, domain }: OnnxNode, inputs: string[]): string[] {
    if (op !== "Concat" || domain !== "") return inputs;
    const isEmpty = (name: string) => this.values.get(name)?.dims?.includes(0);
    const filled = inputs.filter((name) => !isEmpty(name));
    if (filled.length === 0) return inputs;
    for (const name of inputs.filter(isEmpty)) this.#emptyParts.add(name);
    return filled;
  }

  /** Results up to the last one that somebody wants, where an operator has so many in any case. */
  #wanted({ op, domain, outputs }: OnnxNode): readonly string[] {
    if (domain !== "" || mostOf(op).outputs === Infinity) return outputs;
    const count = outputs.findLastIndex((name) => this.#isWanted(name)) + 1;
    return outputs.slice(0, Math.max(1, count));
  }

  #isWanted(name: string): boolean {
    return name !== "" && (this.#read.has(name) || this.#outputs.has(name));
  }

  #certainBranch(node: OnnxNode): OnnxGraph | undefined {
    if (node.op !== "If" || node.domain !== "") return undefined;
    const condition = scalarOf(this.values.get(node.inputs[0]));
    if (condition === undefined) return undefined;
    const name = condition === 0 ? "else_branch" : "then_branch";
    const branch = attributeOf(node, name, "graph");
    // Names of its values are its own, so that it can be put here as it is.
    return branch?.outputs.length === node.outputs.length ? branch : undefined;
  }

  /** An `If` whose branches hand on what is computed in front of it. */
  #hoisted(node: OnnxNode): OnnxNode {
    if (node.op !== "If" || node.domain !== "") return node;
    const attributes = new Map(node.attributes);
    for (const name of ["then_branch", "else_branch"]) {
      const branch = attributeOf(node, name, "graph");
      const value = branch && this.#computed(branch, this.place.node(node));
      if (value) attributes.set(name, { kind: "graph", value });
    }
    return { ...node, attributes };
  }

  /** What is left of a branch whose nodes are taken over; undefined where these may fail. */
  #computed(branch: OnnxGraph, place: Place): OnnxGraph | undefined {
    const { inference, values } = this;
    const inner = new Simplifier(branch, place, inference, this.hoist, values);
    let graph: OnnxGraph;
    try {
      graph = inner.run();
    } catch (error) {
      // It is none that a request may take at these sizes; who does hears why.
      if (error instanceof OnnxError) return undefined;
      throw error;
    }
    if (!graph.nodes.every((node) => cannotFail(node, inner.values))) {
      return undefined;
    }
    for (const [name, value] of inner.values) this.values.set(name, value);
    for (const [name, tensor] of graph.initializers) {
      this.#initializers.set(name, tensor);
    }
    this.#nodes.push(...graph.nodes);
    return {
      ...branch,
      nodes: [],
      initializers: new Map(),
      captured: [...new Set(branch.outputs.map(({ name }) => name))],
    };
  }

  /** @returns whether it is written otherwise now */
  #expand(node: OnnxNode, expand: Expand): boolean {
    const expansion = new Expansion(
      node,
      (name) => this.values.get(name),
      (name) => this.values.has(name),
      (name) => this.#isWanted(name),
      this.place.node(node),
    );
    try {
      expand(expansion);
    } catch (error) {
      if (error instanceof OnnxError) throw error;
      if (error instanceof RangeError || error instanceof TypeError) {
        this.place.node(node).fail(error.message);
      }
      throw error;
    }
    for (const [name, tensor] of expansion.constants) {
      this.#initializers.set(name, tensor);
      this.values.set(name, constantValue(tensor));
    }
    for (const [name, tensors] of expansion.sequences) {
      this.values.set(name, { ...UNKNOWN, tensors });
    }
    for (const { inputs } of expansion.nodes) {
      for (const name of inputs) this.#read.add(name);
    }
    for (const inner of expansion.nodes) this.#visit(inner);
    return expansion.nodes.length + expansion.sequences.size > 0;
  }

  #inline(node: OnnxNode, branch: OnnxGraph): void {
    for (const [name, tensor] of branch.initializers) {
      this.#initializers.set(name, tensor);
      this.values.set(name, constantValue(tensor));
    }
    for (const inner of branch.nodes) this.#visit(inner);
    node.outputs.forEach((name, i) => {
      if (name === "" || this.#initializers.has(name)) return;
      const from = branch.outputs[i].name;
      this.#alias(name, this.#aliases.get(from) ?? from, node);
    });
  }

  /** Whether a node's first result is its first input, and nobody wants another. */
  #passesOn(node: OnnxNode, [result]: readonly InferredValue[]): boolean {
    const { op, domain, inputs, outputs, version } = node;
    if (domain !== "" || outputs.length > 1) return false;
    switch (op) {
      case "Identity":
        return true;
      case "Concat":
        return inputs.length === 1;
      case "Cast": {
        const from = this.values.get(inputs[0])?.type;
        return from !== null && from === result.type;
      }
      case "Dropout":
        // Before version 7 it said itself whether it runs; since 12 an input says so.
        if (version < 7) return attributeOf(node, "is_test", "int") === 1;
        return version < 12 || !inputs[2] ||
          scalarOf(this.values.get(inputs[2])) === 0;
    }
    return false;
  }

  /** Has `name` stand for `from`; results of the graph keep their names. */
  #alias(name: string, from: string, node: OnnxNode): void {
    this.values.set(name, this.values.get(from) as InferredValue);
    const constant = this.#initializers.get(from);
    if (constant !== undefined) this.#initializers.set(name, constant);
    else if (this.#outputs.has(name)) {
      this.#nodes.push({
        name: node.name,
        op: "Identity",
        domain: "",
        version: node.version,
        inputs: [from],
        outputs: [name],
        attributes: new Map(),
      });
    } else this.#aliases.set(name, from);
  }

  /** Nodes that only parts of a Concat without elements depend on. */
  emptied({ nodes }: OnnxGraph): OnnxNode[] {
    return this.#behind(new Set(this.#emptyParts)).filter((node) =>
      !nodes.includes(node)
    );
  }

  /** Nodes that values depend on, to which the names are added of those that nodes read. */
  #behind(needed: Set<string>): OnnxNode[] {
    const nodes: OnnxNode[] = [];
    for (const node of this.#nodes.toReversed()) {
      if (!node.outputs.some((name) => needed.has(name))) continue;
      nodes.push(node);
      for (const name of readNames(node)) needed.add(name);
    }
    return nodes.toReversed();
  }

  /** The graph without nodes and initializers that nothing depends on. */
  #living(): OnnxGraph {
    const needed = new Set(this.#outputs);
    const nodes = this.#behind(needed);
    const { graph } = this;
    const initializers = new Map(
      [...this.#initializers].filter(([name]) => needed.has(name)),
    );
    return {
      ...graph,
      inputs: graph.inputs.filter(({ name }) => !this.#initializers.has(name)),
      initializers,
      nodes,
      declared: new Map(
        [...graph.declared].filter(([name]) => needed.has(name)),
      ),
    };
  }
}
