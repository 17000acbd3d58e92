/** What tables of docs/onnx.md say of operators. */

/** When kernels compute an operator; in all other cases plain TypeScript does. */
export const ON_KERNELS: Readonly<Record<string, string>> = {
  Abs: "float32",
  Add: "float32, broadcast",
  Attention:
    "float32, of values; no mask, past, softcap or other results; heads apart: as many of keys as of queries",
  AveragePool: "float32, images and signals; windows begin inside",
  BatchNormalization: "float32, images and signals; statistics constant",
  Cast: "to the type that it is; costs nothing",
  Celu: "float32, alpha above 0",
  Clip: "float32, bounds constant, the lower one first, one of them finite",
  Concat: "float32 and int32",
  Conv: "float32, images and signals; weights and bias constant",
  ConvInteger: "images and signals; x of a request, all else constant",
  ConvTranspose:
    "float32, images and signals; weights and bias constant, no auto_pad, no output_shape",
  DepthToSpace: "float32",
  DequantizeLinear: "of int8 and uint8; one scale and zero point, constant",
  Div: "float32, broadcast",
  Dropout: "as it is not trained, mask not wanted; costs nothing",
  Einsum:
    "written as ReduceSum, Transpose, Reshape and MatMul or Mul: one or two operands, no diagonals, sizes not broadcast",
  Elu: "float32",
  Erf: "float32",
  Exp: "float32",
  Expand: "float32; int32 of as many elements",
  Flatten: "any; costs nothing",
  GRU: "as LSTM",
  Gather: "float32 and int32; constant indices, up to 128 runs of neighbours",
  Gelu: "float32",
  Gemm: "float32; B constant, C constant of one row or one number",
  GlobalAveragePool: "float32, images and signals",
  GlobalMaxPool: "float32, images and signals",
  GroupNormalization: "float32, images and signals; scale and shift constant",
  HardSigmoid: "float32",
  HardSwish: "float32",
  Identity: "any that rows hold; costs nothing",
  InstanceNormalization: "as GroupNormalization",
  LRN: "float32, images and signals; beta 0.25, 0.5, 0.75 or 1",
  LSTM:
    "one sequence; weights constant, no lengths, peepholes, clipping or other activations; steps up to 256 positions",
  LayerNormalization:
    "float32; scale and shift constant and full, mean and deviation not wanted",
  LeakyRelu: "float32, 0 < alpha <= 1",
  MatMul:
    "float32; b constant of two axes, or both of two axes and more with the same batches (or b without)",
  MatMulInteger: "a of a request, all else constant",
  Max: "float32, broadcast",
  MaxPool:
    "float32, images and signals; indices not wanted, windows begin inside",
  Min: "float32, broadcast",
  Mish: "float32",
  Mul: "float32, broadcast",
  Neg: "float32",
  PRelu: "float32, since version 7",
  Pad:
    "float32, none negative; a constant value, or up to 128 pieces of an axis",
  Pow: "float32, exponent 1, 2 or 0.5, constant",
  QLinearConv: "images and signals; x of a request, all else constant",
  QLinearMatMul: "a of a request, all else constant",
  QuantizeLinear: "to int8 and uint8; one scale and zero point, constant",
  RMSNormalization: "float32; scale constant and full",
  RNN: "as LSTM",
  Reciprocal: "float32",
  ReduceMax: "float32; axes constant",
  ReduceMean: "float32; axes constant",
  ReduceL2: "float32; axes constant",
  ReduceSum: "float32; axes constant",
  ReduceSumSquare: "float32; axes constant",
  Relu: "float32",
  RotaryEmbedding:
    "written as Slice, Mul, Add, Concat and Gather of the angles: tables and heads of known sizes",
  Resize:
    "float32, images and signals, nearest and linear; scales or sizes constant, coordinates half_pixel, pytorch_half_pixel, asymmetric or align_corners, no antialias",
  Reshape: "any; costs nothing",
  Sigmoid: "float32",
  Slice: "float32 and int32; ranges constant, steps positive",
  Softmax: "float32",
  SpaceToDepth: "float32",
  Split: "float32 and int32",
  Sqrt: "float32",
  Squeeze: "any; costs nothing",
  Sub: "float32, broadcast",
  Sum: "float32, broadcast",
  Swish: "float32, alpha 1",
  Tanh: "float32",
  Tile: "float32 and int32; repeats constant, up to 128",
  Transpose: "float32 and int32",
  Upsample: "as Resize",
  Unsqueeze: "any; costs nothing",
  DFT: "float32, real and one-sided; a length that the transforms have",
  STFT:
    "float32, real; step and length constant, a length that the transforms have",
};

/** What an operator of `com.microsoft` is written as, and what is left out. */
export const WRITTEN_AS: Readonly<Record<string, string>> = {
  Attention:
    "MatMul, Split, products of heads, Softmax; masks of keys or lengths, unidirectional, an attention_bias; no past, no rotary",
  BiasGelu: "Add, Gelu",
  DequantizeLinear: "DequantizeLinear",
  DynamicQuantizeMatMul: "DynamicQuantizeLinear, then that",
  EmbedLayerNormalization:
    "Gather, Slice, Add, LayerNormalization, ReduceSum of the mask",
  FastGelu: "Add, Gelu of tanh",
  FusedConv:
    "Conv, Add, an activation (Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid, Clip)",
  FusedGemm: "Gemm, an activation of those",
  FusedMatMul: "Transpose, MatMul, Mul; no transBatchA, transBatchB",
  GatherBlockQuantized:
    "Gather along axis 0; a table of 2, 4 or 8 bits in blocks along its last axis, constant, becomes floats when the file is loaded",
  Gelu: "Gelu",
  GroupQueryAttention:
    "Split, RotaryEmbedding, Attention with its past; lengths, local_window_size of a token at a time, an attention_bias, softcap; no smooth_softmax, head_sink, caches filled in place or of integers",
  LayerNormalization:
    "LayerNormalization; also that of ONNX's domain before version 17",
  MatMulNBits:
    "MatMul, Add; weights of 2, 4 or 8 bits, constant, become floats when the file is loaded; no g_idx",
  MatMulIntegerToFloat: "MatMulInteger, Cast, Mul, Add",
  MultiHeadAttention:
    "products of heads, Softmax; bias, masks as there; with keys and values of the past Attention; no caches filled in place, no beams, nothing packed",
  QAttention: "MatMulInteger, Cast, Mul, Add, then as Attention",
  QGemm: "Gemm between them, a product of integers",
  QLinearAdd: "Add between DequantizeLinear and QuantizeLinear",
  QLinearAveragePool: "AveragePool between them; channels first",
  QLinearConcat: "Concat between DequantizeLinear and QuantizeLinear",
  QLinearGlobalAveragePool: "GlobalAveragePool between them; channels first",
  QLinearLeakyRelu: "LeakyRelu between DequantizeLinear and QuantizeLinear",
  QLinearMul: "Mul between DequantizeLinear and QuantizeLinear",
  QLinearSigmoid: "Sigmoid between DequantizeLinear and QuantizeLinear",
  QLinearSoftmax: "Softmax between DequantizeLinear and QuantizeLinear",
  QuantizeLinear: "QuantizeLinear",
  QuickGelu: "Swish with alpha",
  RotaryEmbedding: "as that of ONNX's domain; no scale, nothing packed",
  SimplifiedLayerNormalization: "RMSNormalization; also in ONNX's domain",
  SkipLayerNormalization: "Add, LayerNormalization; the sum as a result",
  SkipSimplifiedLayerNormalization:
    "Add, RMSNormalization; the sum as a result",
  TransposeMatMul: "as FusedMatMul",
};
