/** A model as protocols see it: what it is called, what it takes and gives on the wire, and the engine's model behind. */
import { withMethods } from "../../base/checked_options.ts";
import type { Model } from "../../graph/model.ts";
import type { Result } from "../../graph/result.ts";
import type { TextModel } from "../../text/text_model.ts";
import type { Datatype, WireElements } from "./datatypes.ts";

/** What a model is for; protocols look for the kinds that they serve. */
export type ServedKind =
  | "tensors"
  | "stream"
  | "embedding"
  | "classifier"
  | "reranker"
  | "decoder";

/** A tensor that a model takes or gives. */
export interface TensorSpec {
  /** Its name in requests and responses. */
  readonly name: string;
  /** Type of its elements. */
  readonly datatype: Datatype;
  /** Sizes of its axes, the slowest first; -1: any. */
  readonly shape: readonly number[];
  /** Whether requests may leave it out; default false. */
  readonly optional?: boolean;
}

/** A tensor as it came, or goes, over the wire. */
export interface WireTensor {
  /** As in its spec. */
  readonly name: string;
  /** Type of its elements. */
  readonly datatype: Datatype;
  /** Sizes of its axes, the slowest first. */
  readonly shape: readonly number[];
  /** As many elements as the product of the sizes, in the array of their type. */
  readonly data: WireElements;
}

/** A model under a name and a version. */
export interface ServedModel {
  /** What requests call it. */
  readonly name: string;
  /** Of several versions of a name, requests that name none get the one that was given last. */
  readonly version: string;
  /** What it is for. */
  readonly kind: ServedKind;
  /** `<project>_<format>` as the Open Inference Protocol has it, such as "onnx_onnxv1". */
  readonly platform: string;
  /** What the engine runs. */
  readonly model: Model;
  /** What a request brings. */
  readonly inputs: readonly TensorSpec[];
  /** What it gets. */
  readonly outputs: readonly TensorSpec[];
  /** Rows that one request may bring, along the first axis; 0: it is always one, and has no such axis. */
  readonly maxBatchSize: number;
  /** Rows that an input has, if it may have several; absent: it is always one. */
  rowsOf?(input: unknown): number;
  /** Of a model of texts: the way from text to its input, and back. */
  readonly text?: TextModel;
  /** What its files say and is not done, a sentence each. */
  readonly notes?: readonly string[];
  /** Settings beyond these, as the model's configuration file has them, in snake_case; told on request. */
  readonly config: Readonly<Record<string, unknown>>;
  /**
   * The engine's input of a request's tensors, whose names, types and shapes fit `inputs`.
   * @throws TypeError or RangeError naming the tensor that cannot be
   */
  toInput(tensors: ReadonlyMap<string, WireTensor>): unknown;
  /** The tensors of a result, or of a step of one, in the order of `outputs`; those that it does not have are left out. */
  toTensors(outputs: Result): readonly WireTensor[];
}

/** A model that is served, rather than the engine's own. */
export const servedModel = withMethods(
  "a served model, such as servedTokens() or servedOnnx() returns",
  ["toInput", "toTensors"],
);

/** How messages and logs name a model's version. */
export function servedLabel(
  { name, version }: Pick<ServedModel, "name" | "version">,
): string {
  return `${name}/${version}`;
}
