/** What is looked for in a graph: who makes and who reads a value, and constants of one number. */
import { numbersOf } from "../../tensor/plain_tensor.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { readNames } from "../names.ts";

/** What half precision, in which some exporters write numbers, makes of those that it has no room for. */
const HALF_ROUNDING = 2 ** -11;

/** Numbers up to 2 that are multiples of it half precision has room for. */
const HALF_STEP = 2 ** -10;

export class Parts {
  readonly #producers = new Map<string, OnnxNode>();
  readonly #readers = new Map<string, OnnxNode[]>();
  readonly #results: ReadonlySet<string>;

  constructor(
    { nodes, outputs }: OnnxGraph,
    readonly known: ReadonlyMap<string, KnownValue>,
  ) {
    this.#results = new Set(outputs.map(({ name }) => name));
    for (const node of nodes) {
      for (const name of node.outputs) this.#producers.set(name, node);
      for (const name of new Set(readNames(node))) {
        const readers = this.#readers.get(name);
        if (readers) readers.push(node);
        else this.#readers.set(name, [node]);
      }
    }
  }

  /** The node that makes a value, if it is one of these operators. */
  maker(value: string, ...ops: readonly string[]): OnnxNode | undefined {
    const found = this.#producers.get(value);
    return found && this.#is(found, ops) ? found : undefined;
  }

  /** The one node that reads a value that nobody else needs, if it is one of these operators. */
  reader(value: string, ...ops: readonly string[]): OnnxNode | undefined {
    const readers = this.#readers.get(value) ?? [];
    return readers.length === 1 && !this.#results.has(value) &&
        this.#is(readers[0], ops)
      ? readers[0]
      : undefined;
  }

  /** All that read a value. */
  readers(value: string): readonly OnnxNode[] {
    return this.#readers.get(value) ?? [];
  }

  /** Whether nobody but some nodes needs a value. */
  isOnlyFor(value: string, nodes: readonly OnnxNode[]): boolean {
    return !this.#results.has(value) &&
      this.readers(value).every((node) => nodes.includes(node));
  }

  /** Whether a value is one number, this one as it may have been rounded. */
  isNumber(value: string, number: number): boolean {
    const found = this.number(value);
    const tolerance = Number.isInteger(number / HALF_STEP) ? 0 : HALF_ROUNDING;
    return found !== undefined &&
      Math.abs(found - number) <= tolerance * Math.abs(number);
  }

  /** A constant of one number. */
  number(value: string): number | undefined {
    const constant = this.known.get(value)?.constant;
    return constant?.type === "float32" && constant.data.length === 1
      ? constant.data[0]
      : undefined;
  }

  /** Whether a reduction keeps its axes and is over the last one alone. */
  isOverLast(node: OnnxNode): boolean {
    const rank = this.known.get(node.inputs[0])?.dims.length;
    const axes = node.inputs[1]
      ? this.known.get(node.inputs[1])?.constant
      : undefined;
    const given = axes ? numbersOf(axes) : attributeOf(node, "axes", "ints");
    return attributeOf(node, "keepdims", "int") !== 0 && given?.length === 1 &&
      (given[0] === -1 || given[0] === (rank ?? 0) - 1);
  }

  #is({ op, domain }: OnnxNode, ops: readonly string[]): boolean {
    return domain === "" && ops.includes(op);
  }
}

/** The other one of two operands; undefined where the value is none of them, or both. */
export function otherThan(
  { inputs }: OnnxNode,
  value: string,
): string | undefined {
  const [a, b] = inputs;
  if (a === b || inputs.length !== 2) return undefined;
  return a === value ? b : b === value ? a : undefined;
}
