import type { ImageShape } from "../tensor/image_shape.ts";
import type { SignedWeights } from "../tensor/quantized.ts";
import type { PlainAttributes, PlainContext } from "../plain/operator.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import type { NearestMode, ResizeAxis } from "../tensor/resize_axis.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { CacheSpec } from "./cache.ts";
import type { RowShape } from "./row_layout.ts";

export type { ImageSize } from "./row_layout.ts";

/** Activations that a product or a convolution before them applies. */
export type Activation =
  | "Relu"
  | "Sigmoid"
  | "Tanh"
  | "Gelu"
  | "GeluTanh"
  | "Swish";

/** One value inside a cell: a row of `width` elements per request, produced once. */
export interface Value extends RowShape {
  /** Number of the value within its cell; the cell's input ports come first. */
  readonly id: number;
}

/** A cache that an operator works on: a port of the cell, or one that lives in the cell alone. */
export interface CacheRef extends CacheSpec {
  /** "port": the request's, by the cell's port; "local": of a node's own tokens. */
  readonly kind: "port" | "local";
  /** Among the cell's ports, or its local caches. */
  readonly index: number;
}

/** What every operator has. */
export interface Operands {
  /** Values that it reads, in ONNX's order. */
  readonly inputs: readonly Value[];
  /** Values that it makes. */
  readonly outputs: readonly Value[];
}

/** Matrix products and tables. */
export type DenseOperator =
  /** Row `id` of `table` [count][width]; the id is an i32. */
  | Operands & { readonly op: "Gather"; readonly table: Tensor }
  /** y = W x + b with W [n][k], i.e. ONNX Gemm with transB = 1. */
  | Operands & {
    readonly op: "Gemm";
    readonly weight: Tensor;
    readonly bias?: Tensor;
  }
  /** a b, both of the request: a [.., m, k] and b [.., k, n], or b [.., n, k] if transposed. */
  | Operands & { readonly op: "MatMul"; readonly transposed: boolean }
  /** Index (i32) of the largest element; the lowest index wins ties. */
  | Operands & { readonly op: "ArgMax" }
  /** The k largest or smallest elements, best first, and their indices (i32). */
  | Operands & { readonly op: "TopK"; readonly largest: boolean };

/** Steps of recurrent networks. `TreeLSTM*` are not in ONNX (Tai, Socher and Manning 2015, N-ary form). */
export type RecurrentOperator =
  /** One step of ONNX LSTM: inputs x, h, c; outputs h', c'. W [4h][x], R [4h][h], B [8h], gates i, o, f, c. */
  | Operands & {
    readonly op: "LSTM";
    readonly w: Tensor;
    readonly r: Tensor;
    readonly b?: Tensor;
  }
  /** One step of ONNX GRU, linear_before_reset = 1: inputs x, h; output h'. W [3h][x], R [3h][h], B [6h], gates z, r, h. */
  | Operands & {
    readonly op: "GRU";
    readonly w: Tensor;
    readonly r: Tensor;
    readonly b?: Tensor;
  }
  /** Leaf: input x; outputs h, c. W [3h][x], b [3h], gates i, o, u. */
  | Operands & {
    readonly op: "TreeLSTMLeaf";
    readonly w: Tensor;
    readonly b?: Tensor;
  }
  /**
   * Internal node of `arity` children: inputs h_1..h_n, c_1..c_n; outputs h, c.
   * U [(3 + n)h][n h] over the concatenated children's h, b [(3 + n)h], gates i, f_1..f_n, o, u.
   */
  | Operands & {
    readonly op: "TreeLSTMNode";
    readonly arity: number;
    readonly u: Tensor;
    readonly b?: Tensor;
  };

/** What is computed element by element; Softmax over the row. */
export type ElementwiseOperator =
  | Operands & { readonly op: "Add" | "Sub" | "Mul" | "Div" | "Max" | "Min" }
  | Operands & {
    readonly op: "Relu" | "Sigmoid" | "Tanh" | "Exp" | "Gelu" | "GeluTanh";
  }
  | Operands & {
    readonly op: "Swish" | "Erf" | "Sqrt" | "Neg" | "Abs" | "Softmax";
  }
  /** min(max(x, least), most), of the bounds that there are. */
  | Operands & {
    readonly op: "Clip";
    readonly least?: number;
    readonly most?: number;
  }
  /** alpha x where x is below 0; alpha from 0 to 1. */
  | Operands & { readonly op: "LeakyRelu"; readonly alpha: number }
  /** min(max(alpha x + beta, 0), 1), and x times it. */
  | Operands & {
    readonly op: "HardSigmoid" | "HardSwish";
    readonly alpha: number;
    readonly beta: number;
  };

/**
 * Attention. Where it looks is a cache: positions that earlier tokens of the request, and the token
 * itself, have filled.
 */
export type AttentionOperator =
  /**
   * Writes a key and a value per token behind what the cache holds: ONNX Attention's `present_key` and
   * `present_value`. Inputs k, v; no output.
   */
  | Operands & { readonly op: "CacheAppend"; readonly cache: CacheRef }
  /**
   * ONNX Attention (opset 23): softmax(scale q K^T) V for every head, K and V from the cache, head h from
   * key-value head h / (heads / kvHeads). A token sees all that the cache holds once the node has
   * appended, or, causal, up to itself. Scores: cap tanh(scale q K^T) unless the cap is 0, then bias [heads, distances]
   * added, by how far a position is before the last that is seen.
   */
  | Operands & {
    readonly op: "Attention";
    readonly cache: CacheRef;
    readonly heads: number;
    readonly kvHeads: number;
    readonly scale: number;
    readonly cap: number;
    readonly bias?: Tensor;
    readonly causal: boolean;
  }
  /**
   * ONNX Attention without past, between the rows of one request: q [.., queries, width], k and v [.., keys, width], each
   * of the axes in front by itself.
   */
  | Operands & {
    readonly op: "RowAttention";
    readonly heads: number;
    readonly kvHeads: number;
    readonly scale: number;
    readonly causal: boolean;
  }
  /**
   * Not in ONNX: the mean of the cache's values weighted by the softmax of v . tanh(q + key)
   * (Bahdanau, Cho, Bengio 2015, appendix A.1.2, with projected queries and keys).
   */
  | Operands & {
    readonly op: "AdditiveAttention";
    readonly cache: CacheRef;
    readonly v: Tensor;
  }
  /** ONNX LayerNormalization over the row. */
  | Operands & {
    readonly op: "LayerNormalization";
    readonly scale: Tensor;
    readonly bias?: Tensor;
    readonly epsilon: number;
  }
  /** ONNX RMSNormalization over the row. */
  | Operands & {
    readonly op: "RMSNormalization";
    readonly scale: Tensor;
    readonly epsilon: number;
  };

/** Fourier transforms of real rows. A spectrum is [.., 2, n / 2 + 1]: real parts, then imaginary ones. */
export type SignalOperator =
  /** Frequencies 0 .. n / 2 of n real numbers. */
  | Operands & { readonly op: "RFFT" }
  /** Back, 1 / n included. */
  | Operands & { readonly op: "IRFFT" }
  /** sqrt(real^2 + imaginary^2) of every number. */
  | Operands & { readonly op: "Magnitude" };

/** What only says where rows lie, or moves them. */
export type RowOperator =
  /** The same elements in the same order, of other axes. */
  | Operands & { readonly op: "Reshape" }
  /** Axis i of the result is axis perm[i] of the input. */
  | Operands & { readonly op: "Transpose"; readonly perm: readonly number[] }
  /** Rows one after the other; images, all of one height and width, along their channels. */
  | Operands & { readonly op: "Concat" }
  /** Elements [start, start + width) of the input. */
  | Operands & { readonly op: "Slice"; readonly start: number }
  /** A row that is the same for every request. */
  | Operands & { readonly op: "Constant"; readonly value: Tensor };

/** Images: ONNX's operators, the layout of a row apart. */
export type ImageOperator =
  /**
   * Zero padding. Conv: W [out][channels / groups][kernel height][kernel width]; ConvTranspose:
   * W [channels][out / groups][kernel height][kernel width].
   */
  | Operands & {
    readonly op: "Conv" | "ConvTranspose";
    readonly weight: Tensor;
    readonly bias?: Tensor;
    readonly shape: ImageShape;
  }
  /** In inference form: scale (x - mean) / sqrt(variance + epsilon) + shift, [channels] each. */
  | Operands & {
    readonly op: "BatchNormalization";
    readonly scale: Tensor;
    readonly shift: Tensor;
    readonly mean: Tensor;
    readonly variance: Tensor;
    readonly epsilon: number;
  }
  | Operands & {
    readonly op: "MaxPool" | "GlobalAveragePool";
    readonly shape: ImageShape;
  }
  | Operands & {
    readonly op: "AveragePool";
    readonly shape: ImageShape;
    readonly countIncludePad: boolean;
  }
  /** The middle of an image; nothing is padded. */
  | Operands & { readonly op: "CenterCropPad" }
  /** ONNX Resize of lines and columns; of the tables that the kernels take. */
  | Operands & {
    readonly op: "Resize";
    readonly mode: "nearest" | "linear";
    readonly lines: ResizeAxis;
    readonly columns: ResizeAxis;
    readonly nearestMode: NearestMode;
  }
  /** An image as a plain row in ONNX's order, [channels][height][width]; and such a row as an image. */
  | Operands & { readonly op: "Flatten" | "Unflatten" };

/** Scale and zero point of results that are quantised; of unsigned bytes. */
export interface Requantized {
  /** What a step of one is worth. */
  readonly scale: number;
  /** The byte that is 0. */
  readonly zero: number;
  /** Applied before they are quantised. */
  readonly activation?: Activation;
}

/** Products of int8, and what leads into them and out of them: rows of type "q8". */
export type QuantizedOperator =
  /**
   * Range and zero point of every request's row, or of every row of its last axis; to bytes of 8 bits (levels 255) or
   * 7 (127).
   */
  | Operands & {
    readonly op: "DynamicQuantizeLinear";
    readonly levels: 127 | 255;
    readonly per: "request" | "row";
  }
  | Operands & {
    readonly op: "QuantizeLinear";
    readonly scale: number;
    readonly zero: number;
  }
  | Operands & { readonly op: "DequantizeLinear" }
  /** Exact sums (i32), these scaled and biased, or quantised again. W [n][k]. */
  | Operands & {
    readonly op: "MatMulInteger" | "MatMulIntegerToFloat";
    readonly weight: SignedWeights;
    readonly bias?: Tensor;
  }
  /** The same of two quantised values of a request: a [.., m, k] and b [.., k, n], or b [.., n, k] if transposed. */
  | Operands & {
    readonly op: "DynamicMatMulInteger" | "DynamicMatMulIntegerToFloat";
    readonly transposed: boolean;
  }
  | Operands & Requantized & {
    readonly op: "QLinearMatMul";
    readonly weight: SignedWeights;
    readonly bias?: Tensor;
  }
  /** The same of convolutions; W [out][channels / groups][kernel height][kernel width]. */
  | Operands & {
    readonly op: "ConvInteger" | "ConvIntegerToFloat";
    readonly weight: SignedWeights;
    readonly bias?: Tensor;
    readonly shape: ImageShape;
  }
  | Operands & Requantized & {
    readonly op: "QLinearConv";
    readonly weight: SignedWeights;
    readonly bias?: Tensor;
    readonly shape: ImageShape;
  }
  /** Steps of LSTM and GRU of which x and h are quantised, row by row; operands as there. */
  | Operands & {
    readonly op: "DynamicQuantizeLSTM" | "DynamicQuantizeGRU";
    readonly w: SignedWeights;
    readonly r: SignedWeights;
    readonly b?: Tensor;
    readonly levels: 127 | 255;
  };

/** Runs an operator in plain TypeScript: `runPlain` of `src/plain/registry.ts`, or one that knows this operator alone. */
export type RunPlain = (
  name: string,
  inputs: readonly (PlainTensor | undefined)[],
  attributes: PlainAttributes,
  context: PlainContext,
) => PlainTensor[];

/** An operand of a plain operator: a value, as a tensor of such sizes, or a constant; undefined for one that is left out. */
export type PlainOperand =
  | { readonly input: number; readonly dims: readonly number[] }
  | PlainTensor
  | undefined;

/**
 * An ONNX operator that no kernel computes, or not as it is asked for: run in plain TypeScript, row by row, over values
 * of any type but q8.
 */
export type PlainRowOperator = Operands & {
  readonly op: "Plain";
  /** ONNX's name. */
  readonly name: string;
  /** What its file calls the node. */
  readonly node?: string;
  /** Version of the operator set that it is written for. */
  readonly opset: number;
  readonly attributes: PlainAttributes;
  /** Names by which its graphs read the last operands. */
  readonly captured?: readonly string[];
  readonly operands: readonly PlainOperand[];
  /** Runs it in the engine's own thread; worker threads have theirs. */
  readonly run: RunPlain;
};

/**
 * The operators a cell is made of, by family. Names and semantics are ONNX's, per row: the batch axis
 * is the row and is not written. Each family has a file in graph/operators (building and checking),
 * engine/lowering (kernel calls) and npu/operators (cost); registries there miss nothing listed here.
 */
export type Operator =
  | DenseOperator
  | RecurrentOperator
  | ElementwiseOperator
  | AttentionOperator
  | RowOperator
  | SignalOperator
  | ImageOperator
  | QuantizedOperator
  | PlainRowOperator;

export type OperatorName = Operator["op"];

/** The operators of one name. */
export type OperatorOf<Name extends OperatorName> = Operator extends infer O
  ? O extends { readonly op: infer Names } ? Name extends Names ? O : never
  : never
  : never;

/** Something for every operator of a family. */
export type ByOperator<Family extends Operator, Rest extends unknown[], T> = {
  readonly [Name in Family["op"]]: (
    operator: OperatorOf<Name>,
    ...rest: Rest
  ) => T;
};
