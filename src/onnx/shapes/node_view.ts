/** A node as a rule sees it: what is known of its inputs, and its attributes. */
import type { PlainType } from "../../tensor/plain_tensor.ts";
import type {
  OnnxAttributeKind,
  OnnxAttributeValues,
  OnnxGraph,
  OnnxNode,
} from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import type { Dim } from "./dim.ts";
import { type InferredValue, openDim, UNKNOWN } from "./value.ts";

/**
 * What is known of a node's results, in order, when its inputs are; what it leaves out is not known.
 * @throws OnnxError naming the node when inputs do not fit
 */
export type ShapeRule = (view: NodeView) => readonly InferredValue[];

/** Checks what is wrong with nodes of a graph inside a node whatever the sizes are. */
export type CheckInside = (graph: OnnxGraph, place: Place) => void;

/** Infers a graph inside a node. @returns its outputs */
export type InferInside = (
  graph: OnnxGraph,
  inputs: readonly InferredValue[],
  place: Place,
) => readonly InferredValue[];

/** What a rule is given. */
export class NodeView {
  /**
   * @param given what is known of each input; undefined for one that is left out
   * @param place of the node
   */
  constructor(
    readonly node: OnnxNode,
    readonly given: readonly (InferredValue | undefined)[],
    readonly place: Place,
    readonly inferInside: InferInside,
    readonly checkInside: CheckInside,
  ) {}

  /** Of the operator's set. */
  get version(): number {
    return this.node.version;
  }

  /** @throws OnnxError when it is left out */
  input(i: number): InferredValue {
    return this.given[i] ?? this.place.fail(`its input ${i} is missing`);
  }

  optional(i: number): InferredValue | undefined {
    return this.given[i];
  }

  get first(): InferredValue {
    return this.input(0);
  }

  /** Whether elements are left to the plain operator, which computes those of constants as their type has them. */
  get isConstant(): boolean {
    return this.given.every((input) => !input || input.constant !== undefined);
  }

  /** Element type of the first input. */
  get type(): PlainType | null {
    return this.first.type;
  }

  attribute<K extends OnnxAttributeKind>(
    name: string,
    kind: K,
  ): OnnxAttributeValues[K] | undefined {
    const found = this.node.attributes.get(name);
    if (found === undefined) return undefined;
    if (found.kind !== kind) {
      this.at(name).fail(`it is of kind ${found.kind}, expected ${kind}`);
    }
    return found.value as OnnxAttributeValues[K];
  }

  has(name: string): boolean {
    return this.node.attributes.has(name);
  }

  int(name: string, absent: number): number {
    return this.attribute(name, "int") ?? absent;
  }

  /** Any integer but 0 is yes. */
  flag(name: string, absent = false): boolean {
    return this.int(name, absent ? 1 : 0) !== 0;
  }

  ints(name: string): readonly number[] | undefined {
    return this.attribute(name, "ints");
  }

  text(name: string, absent: string): string {
    return this.attribute(name, "string") ?? absent;
  }

  /** Place of an attribute. */
  at(attribute: string): Place {
    return this.place.in(`attribute ${quoted(attribute)}`);
  }

  /** Numbers of an input of integers; undefined where they are not known. */
  numbers(i: number): readonly number[] | undefined {
    const elements = this.given[i]?.elements;
    return elements?.every((one) => typeof one === "number")
      ? elements
      : undefined;
  }

  /** A size of an output that is not known. @param least it is never below */
  unknown(axis: number, least = 0, output = 0): Dim {
    const { name, outputs } = this.node;
    return openDim(outputs[output] || `${name}#${output}`, axis, least);
  }

  /** As many sizes that are not known. */
  unknowns(rank: number): Dim[] {
    return Array.from({ length: rank }, (_, axis) => this.unknown(axis));
  }

  /** An axis from 0, where one below 0 counts from behind. @throws OnnxError when there is no such axis */
  axis(axis: number, rank: number, what = "axis"): number {
    const found = axis < 0 ? axis + rank : axis;
    if (!Number.isSafeInteger(axis) || found < 0 || found >= rank) {
      this.place.fail(`${what} ${axis} is none of ${rank} axes`);
    }
    return found;
  }

  /** @throws OnnxError when types that are known differ */
  sameType(
    ...inputs: readonly (InferredValue | undefined)[]
  ): PlainType | null {
    const types = new Set(
      inputs.map((input) => input?.type ?? null).filter((type) =>
        type !== null
      ),
    );
    if (types.size > 1) {
      this.place.fail(`its inputs are of ${[...types].join(" and ")}`);
    }
    return [...types][0] ?? null;
  }

  /** A result of which only the type is known. */
  ofType(type: PlainType | null): InferredValue {
    return type === null ? UNKNOWN : { type, dims: null };
  }
}
