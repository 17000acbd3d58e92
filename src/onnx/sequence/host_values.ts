/**
 * What is computed when a request is unfolded, in plain TypeScript: numbers of positions, masks, ids. All that
 * follows from inputs, sizes and constants without a product or a convolution may be; it is computed when somebody
 * needs it that no cell can serve, such as a count along the positions.
 */
import { plainOperator } from "../../plain/registry.ts";
import {
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { OnnxGraph, OnnxNode } from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import { runConstant } from "../run_constant.ts";
import type { Dim } from "../shapes/dim.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import type { InferredValue } from "../shapes/value.ts";
import { type FreeAxis, sizesOfLength } from "./free_axis.ts";

/** Elements of a value of the longest request: a mask of 4096 positions by as many. */
const ELEMENTS_MAX = 2 ** 24;

/** Of one that is brought along with every request. */
const BROUGHT_MAX = 2 ** 18;

/** Operators that go over another input for every element. */
const PRODUCTS: ReadonlySet<string> = new Set([
  ...["MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "Einsum"],
  ...["Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "Attention"],
  ...["LSTM", "GRU", "RNN", "LRN", "MaxPool", "AveragePool", "LpPool"],
]);

/** Values of one request by name. */
export type RequestValues = (name: string) => PlainTensor;

export class HostValues {
  readonly #producers = new Map<string, OnnxNode>();
  readonly #inputs: ReadonlySet<string>;
  readonly #hosted = new Map<string, boolean>();
  readonly #lengths = new Map<string, (length: number) => PlainTensor>();

  constructor(
    graph: OnnxGraph,
    readonly values: InferredValues,
    readonly free: FreeAxis,
    readonly place: Place,
  ) {
    this.#inputs = new Set(graph.inputs.map(({ name }) => name));
    for (const node of graph.nodes) {
      for (const name of node.outputs) this.#producers.set(name, node);
    }
  }

  /** A value that follows from the number of positions alone. */
  add(name: string, of: (length: number) => PlainTensor): void {
    this.#lengths.set(name, of);
  }

  /** Whether a value can be computed so. Nodes come in an order in which they can run: what is asked for lies near. */
  has(name: string): boolean {
    let found = this.#hosted.get(name);
    if (found === undefined) {
      found = this.#isHosted(name);
      this.#hosted.set(name, found);
    }
    return found;
  }

  #isHosted(name: string): boolean {
    const value = this.values.get(name);
    if (this.#lengths.has(name) || this.#inputs.has(name)) return true;
    if (!value) return false;
    if (value.constant || areElementsKnown(value)) return true;
    const node = this.#producers.get(name);
    const sizes = sizesOfLength(value, this.free, this.free.max);
    if (!node || !sizes || elementCount(sizes) > ELEMENTS_MAX) return false;
    const { domain, op, version, attributes, inputs } = node;
    const isPlain = domain === "" && !PRODUCTS.has(op) &&
      plainOperator(op, version) !== undefined &&
      [...attributes.values()].every(({ kind }) =>
        kind !== "graph" && kind !== "graphs"
      );
    return isPlain &&
      inputs.every((input) => input === "" || this.has(input));
  }

  /** Whether a value can be brought along: it is an input, or can be computed with little work. */
  brings(name: string): boolean {
    if (!this.has(name)) return false;
    if (this.#inputs.has(name) || this.#lengths.has(name)) return true;
    const sizes = sizesOfLength(
      this.values.get(name),
      this.free,
      this.free.max,
    );
    return sizes !== undefined && elementCount(sizes) <= BROUGHT_MAX;
  }

  /** The model's inputs that a value is computed from; those of which only sizes matter are left out. */
  inputsOf(name: string, found: Set<string> = new Set()): Set<string> {
    const todo = [name];
    const seen = new Set(todo);
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const value = this.values.get(next);
      if (value && (value.constant || areElementsKnown(value))) continue;
      if (this.#inputs.has(next)) found.add(next);
      for (const input of this.#producers.get(next)?.inputs ?? []) {
        if (input === "" || seen.has(input)) continue;
        seen.add(input);
        todo.push(input);
      }
    }
    return found;
  }

  /**
   * Values of a request, each computed when it is first asked for.
   * @param given its inputs
   */
  of(
    given: (name: string) => PlainTensor,
    length: number,
  ): RequestValues {
    const made = new Map<string, PlainTensor>();
    const valueOf = (name: string): PlainTensor => {
      let found = made.get(name);
      if (found === undefined) {
        found = this.#compute(name, given, valueOf, length);
        made.set(name, found);
      }
      return found;
    };
    return valueOf;
  }

  /** Values of a request of which every input is one number everywhere. */
  sample(length: number, number: number): RequestValues {
    const given = (name: string) => {
      const value = this.values.get(name)!;
      const dims = sizesOfLength(value, this.free, length) ?? [];
      const elements = new Array(elementCount(dims)).fill(number);
      return plainOf(value.type ?? "float32", dims, elements);
    };
    return this.of(given, length);
  }

  #compute(
    name: string,
    given: (name: string) => PlainTensor,
    valueOf: RequestValues,
    length: number,
  ): PlainTensor {
    const ofLength = this.#lengths.get(name);
    if (ofLength) return ofLength(length);
    if (this.#inputs.has(name)) return given(name);
    const value = this.values.get(name)!;
    if (value.constant) return value.constant;
    if (areElementsKnown(value)) {
      const { type, elements } = value;
      const numbers = sizesOfLength(
        { type, dims: elements },
        this.free,
        length,
      )!;
      const dims = sizesOfLength(value, this.free, length)!;
      return plainOf(type, dims, numbers);
    }
    const node = this.#producers.get(name);
    if (!node) throw new RangeError(`There is no value ${quoted(name)}`);
    const results = runConstant(
      node,
      node.inputs.map((input) => input === "" ? undefined : valueOf(input)),
      this.place.node(node),
    );
    return results[node.outputs.indexOf(name)];
  }
}

/** A tensor of shape arithmetic of which every element is known once the free size is. */
interface ShapeValue extends InferredValue {
  readonly type: PlainType;
  readonly elements: readonly Dim[];
}

export function areElementsKnown(value: InferredValue): value is ShapeValue {
  return value.type !== null &&
    (value.elements?.every((element) => element !== null) ?? false);
}
