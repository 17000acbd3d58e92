/** Graphs as the file has them: functions are not inlined, names not checked, nodes in the file's order. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import type { OnnxAttribute, OnnxAttributeKind, ValueInfo } from "../ir.ts";

/** `GraphProto`. */
export interface RawGraph {
  readonly name: string;
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly declared: readonly ValueInfo[];
  readonly initializers: readonly (readonly [
    name: string,
    tensor: PlainTensor,
  ])[];
  readonly nodes: readonly RawNode[];
}

/** `NodeProto`. */
export interface RawNode {
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  /** Tells functions of one name apart. */
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, RawAttribute>;
}

/** `AttributeProto`. */
export type RawAttribute =
  | Exclude<OnnxAttribute, { kind: "graph" | "graphs" }>
  | { readonly kind: "graph"; readonly value: RawGraph }
  | { readonly kind: "graphs"; readonly value: readonly RawGraph[] }
  | RawReference;

/** An attribute of a function's node that is the attribute of the function's caller. */
export interface RawReference {
  readonly kind: "reference";
  /** Attribute of the caller. */
  readonly value: string;
  /** What it has to be; undefined when the file does not say. */
  readonly declared: OnnxAttributeKind | undefined;
}

/** `FunctionProto`: nodes in place of a node. */
export interface RawFunction {
  readonly name: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Attributes that a caller may leave out, with what they are then. */
  readonly defaults: ReadonlyMap<string, RawAttribute>;
  readonly nodes: readonly RawNode[];
  readonly opsets: ReadonlyMap<string, number>;
}

/** Graphs that an attribute consists of. */
export function rawGraphsOf(attribute: RawAttribute): readonly RawGraph[] {
  if (attribute.kind === "graph") return [attribute.value];
  return attribute.kind === "graphs" ? attribute.value : [];
}
