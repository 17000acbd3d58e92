/**
 * What depends on nothing but how many positions there are: masks, tables of sines, embeddings of positions. A step is
 * simplified for two numbers of positions: what is a constant in each but not in general is such a value, and sizes
 * that differ are those that grow. Its nodes are run for any number.
 */
import { elementCount } from "../../tensor/tensor.ts";
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import type { OnnxGraph, OnnxModel, OnnxNode } from "../ir.ts";
import { type KnownValue, knownValues } from "../known_value.ts";
import { readNames } from "../names.ts";
import { OnnxError, type Place, quoted } from "../place.ts";
import { runPlainGraph } from "../plain_graph.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { simplify } from "../simplify/simplify.ts";
import { PAST, type StepFile } from "./step_file.ts";

/** Positions before the two steps that are compared. */
const FEW = 5;
const MORE = 8;

/** Elements of a table. */
const ELEMENTS_MAX = 2 ** 28;

/** No operator stays that is one of constants: what was quantised becomes the floats that it stands for. */
const DEQUANTISED: ReadonlySet<string> = new Set();

/** Whether a node looks at nothing but sizes. */
function isOfSizes({ op, domain }: OnnxNode): boolean {
  return domain === "" && (op === "Shape" || op === "Size");
}

/** Values of a step for any number of positions. */
export class Positions {
  /** The graph of a step behind `FEW` positions: all sizes are known. */
  readonly graph: OnnxGraph;
  /** Its values. */
  readonly known: ReadonlyMap<string, KnownValue>;
  readonly #general: OnnxGraph;
  readonly #generalValues: InferredValues;
  readonly #more: ReadonlyMap<string, KnownValue>;
  readonly #producers = new Map<string, OnnxNode>();
  readonly #slices = new Map<string, readonly OnnxNode[]>();

  /** @throws OnnxError naming the node whose size is not known */
  constructor(
    file: OnnxModel,
    step: StepFile,
    readonly place: Place,
  ) {
    const general = simplify({ ...file, graph: step.graph }, {
      inputs: step.dims,
      kept: DEQUANTISED,
    });
    this.#general = general.model.graph;
    this.#generalValues = general.values;
    for (const node of this.#general.nodes) {
      for (const name of node.outputs) this.#producers.set(name, node);
    }
    const [few, more] = [FEW, MORE].map((past) => {
      const inputs = new Map(
        [...step.dims].map(([name, dims]) =>
          [name, dims.map((size) => size === PAST ? past : size)] as const
        ),
      );
      const { model: { graph }, values } = simplify(general.model, {
        inputs,
        kept: DEQUANTISED,
      });
      return { graph, known: this.#known(graph, values) };
    });
    const isSame = few.graph.nodes.length === more.graph.nodes.length &&
      few.graph.nodes.every(({ name, op }, i) =>
        more.graph.nodes[i].name === name && more.graph.nodes[i].op === op
      );
    if (!isSame) {
      place.fail("what a step computes depends on the number of positions");
    }
    this.graph = few.graph;
    this.known = few.known;
    this.#more = more.known;
  }

  #known(graph: OnnxGraph, values: InferredValues): Map<string, KnownValue> {
    const known = knownValues(values);
    for (const node of graph.nodes) {
      for (const output of node.outputs) {
        if (output === "" || known.has(output)) continue;
        this.place.node(node).fail(
          `the size of ${
            quoted(output)
          } depends on values, not on sizes alone: no cell has rows of it`,
        );
      }
    }
    return known;
  }

  /** The axes along which a value grows. */
  grown(name: string): number[] {
    const [few, more] = [this.known.get(name), this.#more.get(name)];
    if (few?.dims.length !== more?.dims.length) {
      this.place.fail(
        `${quoted(name)} has more axes behind more positions`,
      );
    }
    return few!.dims.flatMap((size, axis) =>
      size === more!.dims[axis] ? [] : [axis]
    );
  }

  /** Whether a value is the same in every step, or follows from the number of positions. */
  isKnown(name: string): boolean {
    return this.known.get(name)?.constant !== undefined;
  }

  /** Whether a value depends on the number of positions, and on nothing else. */
  isOfPosition(name: string): boolean {
    return this.isKnown(name) &&
      this.#generalValues.get(name)?.constant === undefined;
  }

  /** A value that depends on nothing but the number of positions before the step. */
  at(name: string, past: number): PlainTensor {
    const { initializers } = this.#general;
    const nodes = this.#slice(name);
    const constant = this.#generalValues.get(name)?.constant;
    if (constant) return constant;
    const sizes = new Map(
      nodes.filter(isOfSizes).map(({ inputs: [value] }) =>
        [value, this.#sizeAlone(value, past)] as const
      ),
    );
    const info = (name: string) => ({ name, type: null, dims: null });
    const results = runPlainGraph({
      ...this.#general,
      ...{ nodes, initializers },
      inputs: [...sizes.keys()].map(info),
      outputs: [info(name)],
    }, sizes);
    return results.get(name)!;
  }

  /** A tensor of which only the sizes are looked at. */
  #sizeAlone(name: string, past: number): PlainTensor {
    const few = this.known.get(name)!;
    const more = this.#more.get(name)!;
    const dims = few.dims.map((size, axis) => {
      const slope = (more.dims[axis] - size) / (MORE - FEW);
      return size + (past - FEW) * slope;
    });
    const isSize = dims.every((size) => Number.isInteger(size) && size >= 0);
    if (!isSize) {
      throw new OnnxError(
        `Cannot load ${this.place}: ${quoted(name)} behind ${past} positions`,
      );
    }
    return { type: "bool", dims, data: new Uint8Array(0) };
  }

  /** The nodes that make a value, in order; sizes are known without what they are of. */
  #slice(name: string): readonly OnnxNode[] {
    const known = this.#slices.get(name);
    if (known) return known;
    const wanted = new Set<OnnxNode>();
    const open = [name];
    for (let value = open.pop(); value !== undefined; value = open.pop()) {
      if (this.#generalValues.get(value)?.constant) continue;
      const node = this.#producers.get(value);
      if (!node || wanted.has(node)) continue;
      wanted.add(node);
      if (!isOfSizes(node)) open.push(...readNames(node));
    }
    const nodes = this.#general.nodes.filter((node) => wanted.has(node));
    this.#slices.set(name, nodes);
    return nodes;
  }

  /**
   * A value of every position, one after the other; the value itself where it is always the same.
   * @returns as many positions as it is defined for, up to `count`
   */
  table(name: string, count: number): {
    readonly rows: number;
    readonly constant: PlainTensor | undefined;
    readonly table: PlainTensor;
  } {
    const first = this.at(name, 0);
    const width = elementCount(first.dims);
    if (count * width > ELEMENTS_MAX) {
      this.place.fail(
        `a table of ${quoted(name)} for ${count} positions has ${
          count * width
        } elements, and ${ELEMENTS_MAX} are the most; give fewer, decoder: { positionsMax: ... }`,
      );
    }
    const Data = first.data.constructor as Float32ArrayConstructor;
    let data = new Data(count * width);
    let isSame = true;
    let rows = 0;
    for (; rows < count; rows++) {
      let value: PlainTensor;
      try {
        value = this.at(name, rows);
      } catch (error) {
        if (rows === 0 || !(error instanceof OnnxError)) throw error;
        break;
      }
      const row = value.data as Float32Array;
      isSame &&= row.every((one, i) => one === first.data[i]);
      data.set(row, rows * width);
    }
    data = data.slice(0, rows * width);
    const table = {
      ...first,
      dims: [rows, ...first.dims],
      data,
    } as PlainTensor;
    return { rows, table, constant: isSame ? first : undefined };
  }
}
