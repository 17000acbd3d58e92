/**
 * An ONNX model as read from its file (onnx.proto of the ONNX project, `ModelProto` and below): names, operators,
 * attributes and constants, checked and put in order, nothing rewritten but what has only one meaning (functions
 * are inlined, half precision is widened).
 *
 * Dimensions of declared types are as the file has them: a number, a name (`dim_param`), or null where nothing is
 * said. What is inferred is beside the graph (shapes/).
 */
import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";

/** A model file, read and checked. */
export interface OnnxModel {
  /** What to call the model in messages: the file's name. */
  readonly label: string;
  /** Version of the file format; 3 is the oldest that is read. */
  readonly irVersion: number;
  /** Tool that wrote the file, with its version; empty when it does not say. */
  readonly producer: string;
  /** Operator sets by domain; "" is ONNX's own (`ai.onnx`). */
  readonly opsets: ReadonlyMap<string, number>;
  /** `metadata_props`. */
  readonly metadata: ReadonlyMap<string, string>;
  /** The graph that is run. */
  readonly graph: OnnxGraph;
  /**
   * What is not as in the file, in sentences: tensors that were narrowed, types that were widened, inputs whose
   * default is taken as constant.
   */
  readonly notes: readonly string[];
}

/**
 * Nodes with what goes in and comes out. Of a model's graph every name that is used has exactly one origin: an
 * input, an initializer or a node before; a subgraph's nodes also read names of the graphs around it.
 */
export interface OnnxGraph {
  /** As in the file; may be empty. */
  readonly name: string;
  /** What is given when the graph is run, without initializers that older files list here, too. */
  readonly inputs: readonly ValueInfo[];
  /** What the graph returns: results of nodes, inputs or initializers. */
  readonly outputs: readonly ValueInfo[];
  /** Constants by name. */
  readonly initializers: ReadonlyMap<string, PlainTensor>;
  /** In an order in which they can run; the file's, where that is one. */
  readonly nodes: readonly OnnxNode[];
  /** Names of the graphs around it that it reads; of a model's graph none. */
  readonly captured: readonly string[];
  /** Declared types of values between nodes (`value_info`), by name. Declarations, not checked against anything. */
  readonly declared: ReadonlyMap<string, ValueInfo>;
}

/** One operator applied to values. */
export interface OnnxNode {
  /** As in the file, or a made-up one like "Conv_12" where the file has none; unique in the model. */
  readonly name: string;
  /** Operator, e.g. "Conv". */
  readonly op: string;
  /** Domain of the operator; "" is ONNX's own. */
  readonly domain: string;
  /** Version of the operator set that the node is written for. */
  readonly version: number;
  /** Names of values; "" for an optional one that is left out. */
  readonly inputs: readonly string[];
  /** Names of values; "" for one that nobody wants. */
  readonly outputs: readonly string[];
  /** By name, as the file has them: defaults are not filled in. */
  readonly attributes: ReadonlyMap<string, OnnxAttribute>;
}

/** Values of attributes by the kind that the file declares. */
export interface OnnxAttributeValues {
  /** As f32 has it. */
  float: number;
  /** From ±2^53 on the nearest double, as which bounds like 2^63 - 1 mean what they did. */
  int: number;
  /** Read as UTF-8. */
  string: string;
  /** A constant. */
  tensor: PlainTensor;
  /** A branch or body. */
  graph: OnnxGraph;
  /** Several of "float". */
  floats: readonly number[];
  /** Several of "int". */
  ints: readonly number[];
  /** Several of "string". */
  strings: readonly string[];
  /** Several of "tensor". */
  tensors: readonly PlainTensor[];
  /** Several of "graph". */
  graphs: readonly OnnxGraph[];
}

/** Kinds of attributes. */
export type OnnxAttributeKind = keyof OnnxAttributeValues;

/**
 * An attribute.
 * @typeParam K its kind; by default any, told apart by `kind`
 */
export type OnnxAttribute<K extends OnnxAttributeKind = OnnxAttributeKind> = {
  [Kind in K]: {
    readonly kind: Kind;
    readonly value: OnnxAttributeValues[Kind];
  };
}[K];

/** A dimension as declared: its size, the name of a size that is the same wherever the name is, or unknown. */
export type DeclaredDim = number | string | null;

/** Name and declared type of a value. */
export interface ValueInfo {
  /** Unique in its graph. */
  readonly name: string;
  /** Element type, half precision and bfloat16 as the float32 they are read as; null where nothing is said. */
  readonly type: PlainType | null;
  /** Sizes, the slowest axis first; null where not even their number is said. */
  readonly dims: readonly DeclaredDim[] | null;
}

/**
 * Attribute of a node, when the file declares it as this kind; undefined when it is not there or another kind.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { attributeOf, type OnnxAttribute } from "@shoal/core/onnx";
 *
 * // Of a node that has been read.
 * const attributes = new Map<string, OnnxAttribute>([
 *   ["axis", { kind: "int", value: -1 }],
 * ]);
 * assert.equal(attributeOf({ attributes }, "axis", "int"), -1);
 * assert.equal(attributeOf({ attributes }, "axis", "float"), undefined);
 * ```
 */
export function attributeOf<K extends OnnxAttributeKind>(
  { attributes }: Pick<OnnxNode, "attributes">,
  name: string,
  kind: K,
): OnnxAttributeValues[K] | undefined {
  const found = attributes.get(name);
  return found?.kind === kind
    ? found.value as OnnxAttributeValues[K]
    : undefined;
}
