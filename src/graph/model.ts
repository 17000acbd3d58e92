import type { Cell } from "./cell.ts";
import type { CellGraph, CellNode } from "./cell_graph.ts";
import type { ImageSize } from "./operator.ts";
import type { OutputTypes } from "./result.ts";
import type { Tensor, TensorData } from "../tensor/tensor.ts";

/** The shape of a model's cell graphs; says which policies can batch it. */
export type GraphShape =
  /**
   * Per request, the nodes of each cell form one chain, and cells follow in the order of `cells`; where a
   * graph grows, its growing cells do so in every step.
   */
  | "chain"
  /** Anything else without cycles: padding to a common shape is impossible. */
  | "dag";

/** What a model's requests are made of; a workload produces it. */
export type InputKind =
  /** `{ tokens }`: one sentence. */
  | "tokens"
  /** `{ tokens, maxSteps }`: a source sentence to decode from. */
  | "seq2seq"
  /** `{ tree }`: a ParseTree. */
  | "tree"
  /** `{ image }`: the numbers of an image, [height][width][channels]. */
  | "image"
  /** `{ frames }`: an utterance, [frames][numbers of a frame]. */
  | "frames"
  /** `{ frames, maxSteps }`: an utterance to decode from. */
  | "frames2seq";

/**
 * Requests that hold several of a model's: rows of a batch.
 */
export interface ModelRows {
  /**
   * The rows of an input, a request each, in order, at least one; undefined where it is none of several. Nothing has
   * been checked yet: `check` sees the input, or each row of it, afterwards.
   * @throws TypeError or RangeError where rows cannot be told apart
   */
  split(input: unknown): readonly unknown[] | undefined;
  /** Results of all rows, in order, as one: of the same names and types. */
  join(
    results: readonly Readonly<Record<string, Tensor<TensorData>>>[],
  ): Record<string, Tensor<TensorData>>;
}

/**
 * A network: its cells, and the function that unfolds a request into a graph of them. Either one that a function
 * such as `lstm()` returns, or an object of one's own.
 * @typeParam Input what a request brings
 * @typeParam Outputs names and element types of its results, such as `{ logits: "f32" }`; a model that does
 * not say has results of any name
 */
export interface Model<
  // deno-lint-ignore no-explicit-any -- a registry holds models of different inputs
  Input = any,
  Outputs extends OutputTypes = OutputTypes,
> {
  /** What records, options by model and messages call it. */
  readonly name: string;
  /** Every cell that its graphs are made of, in the order in which a request passes through them. */
  readonly cells: readonly Cell[];
  /** "chain" if every policy may batch it, padded ones too; otherwise "dag". */
  readonly shape: GraphShape;
  /**
   * Names and element types of a request's results. Given, every request has to be unfolded with exactly
   * these; otherwise names are whatever `unfold` says, and types f32 or i32.
   */
  readonly outputs?: Outputs;
  /** For input "image": the images that requests bring. */
  readonly image?: ImageSize;
  /** For inputs "frames" and "frames2seq": numbers of a frame. */
  readonly frameSize?: number;
  /**
   * Of requests that are ids of tokens: most of them, of which texts are refused or cut; where an answer goes on from
   * its prompt, of both together. Absent: it does not say.
   */
  readonly tokensMax?: number;
  /** Most nodes of a request's graph, growth included; default 2^20, at most 2^24 - 2. */
  readonly nodesMax?: number;
  /**
   * How a request of several rows is taken apart: a serving engine runs each as a request of its own and puts their
   * results together. Absent: a request is always one.
   */
  readonly rows?: ModelRows;
  /**
   * Checks a request's input at the boundary, before anything is queued.
   * @throws TypeError or RangeError naming the offending value
   */
  check(input: unknown): asserts input is Input;
  /**
   * Unfolds a checked input: appends nodes to a new graph, and names the outputs that are results
   * (`graph.result`). May declare growth with `graph.grows`.
   */
  unfold(input: Input, graph: CellGraph): void;
  /**
   * Of a model whose requests all have the same nodes and results, whatever they bring, and do not grow: the data of a
   * checked input, one for each that `unfold` brings (`CellGraph.ids`, `rows`, `data`), in the order of its calls and of
   * the same types and lengths; undefined where they are the same for every request. Given, an engine uses graphs of
   * requests that are over again instead of calling `unfold`. Arrays are copied before it takes the request. What does
   * not fit what `unfold` brought is refused with a TypeError, other numbers than it brought for an engine's first
   * request, too.
   */
  brings?(input: Input): readonly (TensorData | undefined)[];
  /**
   * Appends what follows `node`, a node of a cell with a stop rule. Called when `node` is submitted,
   * before its values exist (Cellular Batching's Algorithm 1, line 18): a step that turns out to lie
   * behind the end is void. Required by growing graphs. Appends one node of each growing cell (phase
   * "decoder"), the one with the stop rule last; each must follow, by way of others, the stop node of the
   * step before and lead to that of its own, and reads no growing node older than the step before.
   */
  grow?(node: CellNode, graph: CellGraph): void;
}
