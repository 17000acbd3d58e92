/** What an ONNX operator in plain TypeScript is. */
import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";

/**
 * An attribute's value with the kind that the file declares, as the reader has it (`OnnxAttribute`): "float",
 * "int", "string", "tensor", "graph" and their plurals. Integers are numbers; an int64 beyond 2^53 is the nearest.
 * Graphs are not looked at: operators with bodies run those by the attribute's name.
 */
export interface PlainAttribute {
  /** What the file declares it as. */
  readonly kind: string;
  /** Of that kind. */
  readonly value: unknown;
}

/** Attributes of a node by name. */
export type PlainAttributes = ReadonlyMap<string, PlainAttribute>;

/** What an operator is told besides inputs and attributes. */
export interface PlainContext {
  /** Version of the operator set that the model names for the operator's domain. */
  readonly opset: number;
  /** Outputs that the node names; an operator may leave out those behind. */
  readonly outputs: number;
  /**
   * Names by which graphs of the node read the last inputs, values around them, in order. Who says these need not
   * say how graphs are run.
   */
  readonly captured?: readonly string[];
  /**
   * Runs the graph that is a node's attribute, with the values that it sees from outside.
   * Only nodes with graphs need it.
   */
  readonly runGraph?: (
    attribute: string,
    inputs: readonly PlainTensor[],
  ) => readonly PlainTensor[];
  /** Declared type and dims of an output of such a graph; null for a dim that has no number. */
  readonly graphOutput?: (
    attribute: string,
    output: number,
  ) => { type: PlainType; dims: readonly (number | null)[] };
}

/** One operator. */
export interface PlainOperator {
  /**
   * Versions of the operator set in which its definition changed, the oldest supported first. A model's version
   * means the newest of them that is not newer.
   */
  readonly since: readonly number[];
  /** Element types that its input of data may have; the input is `dataInput`, the first by default. */
  readonly types: readonly PlainType[];
  readonly dataInput?: number;
  /** What it leaves out, for docs; nothing when it is whole. */
  readonly limits?: string;
  /**
   * Computes its outputs. Inputs are not written to; outputs may share their data with inputs.
   * @param inputs in order; undefined for one that is left out
   * @throws RangeError or TypeError naming input or attribute when something does not fit
   */
  readonly run: (
    inputs: readonly (PlainTensor | undefined)[],
    attributes: PlainAttributes,
    context: PlainContext,
  ) => PlainTensor[];
}
