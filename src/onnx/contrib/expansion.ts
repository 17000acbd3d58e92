/** A node of another domain, written as nodes of ONNX's own. */
import {
  plainOf,
  type PlainTensor,
  scalarOf,
} from "../../tensor/plain_tensor.ts";
import {
  attributeOf,
  type OnnxAttribute,
  type OnnxAttributeKind,
  type OnnxAttributeValues,
  type OnnxNode,
} from "../ir.ts";
import type { Place } from "../place.ts";
import type { Dim } from "../shapes/dim.ts";
import { type InferredValue, UNKNOWN } from "../shapes/value.ts";

/** Attributes of a new node: whole numbers are ints, lists ints; what is a float says so. */
export type Attributes = Readonly<
  Record<string, number | string | readonly number[] | { float: number }>
>;

/** Version of ONNX's own operators that a node is written in, where nothing else is said. */
const VERSION = 21;

/** Tokens of which masks and positions are written out. */
const TOKENS_MAX = 4096;

export class Expansion {
  readonly nodes: OnnxNode[] = [];
  readonly constants = new Map<string, PlainTensor>();
  /** Results that are sequences, by name: names of the tensors in them. */
  readonly sequences = new Map<string, readonly string[]>();

  /**
   * @param known what is known of a value
   * @param isTaken whether there is a value of a name
   * @param isRead whether somebody wants it
   * @param place of the node
   */
  constructor(
    readonly node: OnnxNode,
    readonly known: (name: string) => InferredValue | undefined,
    readonly isTaken: (name: string) => boolean,
    readonly isRead: (name: string) => boolean,
    readonly place: Place,
  ) {}

  has(i: number): boolean {
    return (this.node.inputs[i] ?? "") !== "";
  }

  /** @throws OnnxError when it is left out */
  input(i: number): string {
    if (!this.has(i)) this.place.fail(`its input ${i} is missing`);
    return this.node.inputs[i];
  }

  /** Whether somebody wants result `i`. */
  wants(i: number): boolean {
    const name = this.node.outputs[i] ?? "";
    return name !== "" && this.isRead(name);
  }

  /** Whether somebody wants result `i` or a later one. */
  wantsFrom(i: number): boolean {
    return this.node.outputs.slice(i).some((name) =>
      name !== "" && this.isRead(name)
    );
  }

  attribute<K extends OnnxAttributeKind>(
    name: string,
    kind: K,
    absent: OnnxAttributeValues[K],
  ): OnnxAttributeValues[K] {
    return attributeOf(this.node, name, kind) ?? absent;
  }

  int(name: string, absent = 0): number {
    return this.attribute(name, "int", absent);
  }

  float(name: string, absent: number): number {
    return this.attribute(name, "float", Math.fround(absent));
  }

  /** What is known of input `i`. */
  value(i: number): InferredValue {
    return this.known(this.input(i)) ?? UNKNOWN;
  }

  /** Sizes of input `i`. @throws OnnxError where their number is not known, or another one */
  dims(i: number, rank?: number): readonly Dim[] {
    const { dims } = this.value(i);
    if (dims === null || rank !== undefined && dims.length !== rank) {
      return this.place.fail(
        `input ${i} has ${dims?.length ?? "an unknown number of"} axes${
          rank === undefined ? "" : `, expected ${rank}`
        }`,
      );
    }
    return dims;
  }

  /** Size of an axis. @throws OnnxError where it is not known */
  size(i: number, axis: number): number {
    const size = this.dims(i).at(axis);
    return typeof size === "number"
      ? size
      : this.place.fail(`size ${axis} of input ${i} is not known`);
  }

  /** A size that constants are made of. @throws OnnxError where it is not known, or large */
  tokens(i: number, axis: number): number {
    const size = this.size(i, axis);
    this.refuse(size > TOKENS_MAX, `a sequence of ${size} tokens`);
    return size;
  }

  /** @throws OnnxError where an attribute is not what it is by default */
  refuse(is: boolean, why: string): void {
    if (is) this.place.fail(`${why} is not supported`);
  }

  /** A constant. @returns its name */
  constant(tensor: PlainTensor): string {
    const name = this.#fresh();
    this.constants.set(name, tensor);
    return name;
  }

  floats(value: number): string {
    return this.constant(scalarOf("float32", value));
  }

  whole(...values: readonly number[]): string {
    return this.constant(plainOf("int64", [values.length], values));
  }

  /** A whole number without axes. */
  wholeNumber(value: number): string {
    return this.constant(plainOf("int64", [], [value]));
  }

  /** A node of one result. @param to its name; by default a new one */
  add(
    op: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    to = this.#fresh(),
    version = VERSION,
  ): string {
    return this.several(op, inputs, attributes, [to], version)[0];
  }

  several(
    op: string,
    inputs: readonly string[],
    attributes: Attributes,
    outputs: readonly string[],
    version = VERSION,
  ): readonly string[] {
    const first = this.nodes.length === 0;
    this.nodes.push({
      name: first ? this.node.name : `${this.node.name}#${this.nodes.length}`,
      ...{ op, domain: "", version, inputs, outputs },
      attributes: new Map(
        Object.entries(attributes).map(([name, value]) =>
          [name, attributeFor(value)] as const
        ),
      ),
    });
    return outputs;
  }

  fresh(count: number): string[] {
    return Array.from({ length: count }, () => this.#fresh());
  }

  #count = 0;

  #fresh(): string {
    let name: string;
    do name = `${this.node.name}#${this.#count++}`; while (this.isTaken(name));
    return name;
  }
}

function attributeFor(value: Attributes[string]): OnnxAttribute {
  if (typeof value === "number") return { kind: "int", value };
  if (typeof value === "string") return { kind: "string", value };
  return "float" in value
    ? { kind: "float", value: value.float }
    : { kind: "ints", value };
}

/** Writes a node as others, of which the last one has its results; or writes nothing, and it stays. */
export type Expand = (given: Expansion) => void;
