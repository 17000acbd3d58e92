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
import { PAST, SEEN, type StepFile } from "./step_file.ts";

/** Positions before the two steps that are compared. */
const FEW = 5;
const MORE = 8;

/** Positions that an encoder saw, of two steps behind `FEW`. */
const SEEN_FEW = 3;
const SEEN_MORE = 7;

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
  /** Where an encoder saw more; undefined where none did. */
  readonly #wide: ReadonlyMap<string, KnownValue> | undefined;
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
    const [few, ...others] = [
      [FEW, SEEN_FEW],
      [MORE, SEEN_FEW],
      ...(step.seen ? [[FEW, SEEN_MORE]] : []),
    ].map(([past, seen]) => {
      const inputs = new Map(
        [...step.dims].map(([name, dims]) =>
          [
            name,
            dims.map((size) =>
              size === PAST ? past : size === SEEN ? seen : size
            ),
          ] as const
        ),
      );
      const { model: { graph }, values } = simplify(general.model, {
        inputs,
        kept: DEQUANTISED,
      });
      return { graph, known: this.#known(graph, values) };
    });
    const { nodes } = few.graph;
    const isSame = others.every(({ graph }) =>
      nodes.length === graph.nodes.length &&
      nodes.every(({ name, op }, i) =>
        graph.nodes[i].name === name && graph.nodes[i].op === op
      )
    );
    if (!isSame) {
      place.fail("what a step computes depends on the number of positions");
    }
    this.graph = few.graph;
    this.known = few.known;
    const [more, wide] = others;
    this.#more = more.known;
    this.#wide = wide?.known;
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

  /** The axes along which a value grows from step to step. */
  grown(name: string): number[] {
    return this.#longer(name, this.#more);
  }

  /** The axes that are longer where an encoder saw more. */
  grownSeen(name: string): number[] {
    return this.#wide ? this.#longer(name, this.#wide) : [];
  }

  #longer(name: string, longer: ReadonlyMap<string, KnownValue>): number[] {
    const [few, more] = [this.known.get(name), longer.get(name)];
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

  /** Whether a known value is another one where an encoder saw more. */
  isOfSeen(name: string): boolean {
    const few = this.known.get(name)?.constant;
    if (!few || !this.#wide) return false;
    const wide = this.#wide.get(name)?.constant;
    return wide?.data.length !== few.data.length ||
      few.data.some((one: number | bigint, i: number) => one !== wide.data[i]);
  }

  /**
   * A value that depends on nothing but the numbers of positions.
   * @param past before the step
   * @param seen by an encoder
   */
  at(name: string, past: number, seen = SEEN_FEW): PlainTensor {
    const { initializers } = this.#general;
    const nodes = this.#slice(name);
    const constant = this.#generalValues.get(name)?.constant;
    if (constant) return constant;
    const sizes = new Map(
      nodes.filter(isOfSizes).map(({ inputs: [value] }) =>
        [value, this.#sizeAlone(value, past, seen)] as const
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
  #sizeAlone(name: string, past: number, seen: number): PlainTensor {
    const few = this.known.get(name)!;
    const more = this.#more.get(name)!;
    const wide = this.#wide?.get(name) ?? few;
    const dims = few.dims.map((size, axis) => {
      const slope = (more.dims[axis] - size) / (MORE - FEW);
      const seenSlope = (wide.dims[axis] - size) / (SEEN_MORE - SEEN_FEW);
      return size + (past - FEW) * slope + (seen - SEEN_FEW) * seenSlope;
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
      this.place.fail(({ positionsMax }) =>
        `a table of ${quoted(name)} for ${count} positions has ${
          count * width
        } elements, and ${ELEMENTS_MAX} are the most; give fewer, ${positionsMax()}`
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
