/** Integer inputs that pick entries of tables: how many entries there are, as far as the graph says. */
import { numbersOf, type PlainTensor } from "../tensor/plain_tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "./ir.ts";
import type { KnownValue } from "./known_value.ts";

/** Operators of which some result has no integers but those of their first input. */
const PASSES_ON: ReadonlySet<string> = new Set([
  ...["Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"],
  ...["Cast", "Slice", "Split", "Expand", "Tile"],
]);

/** Operators whose second input picks entries along an axis of the first. */
const PICKS: ReadonlySet<string> = new Set(["Gather", "GatherElements"]);

/** Operators that tell integers apart. */
const COMPARES: ReadonlySet<string> = new Set(["Equal", "Less", "Greater"]);

/**
 * For every integer input that picks entries (Gather, GatherElements, OneHot), the size of the smallest table: indices
 * are below it. An input that picks none, but is compared with constants, gets one more than the largest of them.
 * @param graph simplified
 * @param known type and dims of every value
 */
export function indexBounds(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
): Map<string, number> {
  const readers = new Map<string, OnnxNode[]>();
  for (const node of graph.nodes) {
    for (const name of new Set(node.inputs)) {
      readers.set(name, [...readers.get(name) ?? [], node]);
    }
  }
  const bounds = new Map<string, number>();
  for (const { name } of graph.inputs) {
    const { type } = known.get(name)!;
    if (type === "float32" || type === "bool") continue;
    const found = new Search(readers, known).of(name);
    if (found !== undefined) bounds.set(name, found);
  }
  return bounds;
}

class Search {
  readonly #seen = new Set<string>();
  #picked = Infinity;
  #compared = 0;

  constructor(
    readonly readers: ReadonlyMap<string, readonly OnnxNode[]>,
    readonly known: ReadonlyMap<string, KnownValue>,
  ) {}

  /** Below what an input's integers have to be. */
  of(input: string): number | undefined {
    const open = [input];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (this.#seen.has(name)) continue;
      this.#seen.add(name);
      for (const node of this.readers.get(name) ?? []) {
        if (node.domain === "") open.push(...this.#through(node, name));
      }
    }
    if (this.#picked < Infinity) return this.#picked;
    return this.#compared > 0 ? this.#compared : undefined;
  }

  /** Notes what a node does with a value. @returns results that are made of its integers */
  #through(node: OnnxNode, name: string): readonly string[] {
    const { op, inputs, outputs } = node;
    const place = inputs.indexOf(name);
    if (PICKS.has(op) && place === 1) {
      const { dims } = this.known.get(inputs[0])!;
      const axis = attributeOf(node, "axis", "int") ?? 0;
      this.#picks(dims.at(axis)!);
      return [];
    }
    if (op === "OneHot" && place === 0) {
      const depth = this.#constant(inputs[1]);
      if (depth?.data.length === 1) this.#picks(Number(depth.data[0]));
      return [];
    }
    if (COMPARES.has(op)) {
      const constant = this.#constant(inputs[1 - place]);
      if (constant && constant.data.length > 0) {
        const most = numbersOf(constant).reduce((a, b) => Math.max(a, b));
        this.#compared = Math.max(this.#compared, Math.floor(most) + 1);
      }
      return [];
    }
    // Also where it is one of several that are put together or picked from.
    const isMoved = PASSES_ON.has(op) && place === 0 || op === "Concat" ||
      op === "Gather" && place === 0 || op === "Where" && place > 0;
    return isMoved ? outputs.filter((output) => output !== "") : [];
  }

  #picks(size: number): void {
    this.#picked = Math.min(this.#picked, size);
  }

  #constant(name: string): PlainTensor | undefined {
    return this.known.get(name)?.constant;
  }
}
