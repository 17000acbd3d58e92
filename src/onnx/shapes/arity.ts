/** How many inputs and outputs operators have at most, where that is not one. */

/** Most inputs; those of any number are not here. */
const INPUTS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    [
      ...[
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "Pow",
        "And",
        "Or",
        "Xor",
        "Equal",
      ],
      ...["Greater", "GreaterOrEqual", "Less", "LessOrEqual", "BitShift"],
      ...[
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "SwiGLU",
        "CastLike",
        "PRelu",
      ],
      ...["MatMul", "RMSNormalization", "ReverseSequence", "Trilu", "CumSum"],
      ...["CumProd", "Reshape", "Squeeze", "Unsqueeze", "Expand", "Split"],
      ...["Gather", "GatherElements", "GatherND", "Compress", "TopK"],
      ...["CenterCropPad", "Upsample", "ReduceSum", "ReduceProd", "ReduceMax"],
      ...["ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSum"],
      ...["ReduceLogSumExp", "ReduceSumSquare"],
    ].map((op) => [op, 2]),
  ),
  ...Object.fromEntries(
    [
      ...["Where", "Clip", "Dropout", "InstanceNormalization", "Range", "Tile"],
      ...["GroupNormalization", "ScatterElements", "ScatterND", "Scatter"],
      ...["OneHot", "Conv", "ConvTranspose", "Gemm", "LayerNormalization"],
      ...["QuantizeLinear", "DequantizeLinear"],
    ].map((op) => [op, 3]),
  ),
  DFT: 3,
  STFT: 4,
  RotaryEmbedding: 4,
  Pad: 4,
  Resize: 4,
  ConvInteger: 4,
  MatMulInteger: 4,
  BatchNormalization: 5,
  Slice: 5,
  RNN: 6,
  GRU: 6,
  Attention: 7,
  LSTM: 8,
  DynamicQuantizeLSTM: 12,
  QLinearMatMul: 8,
  QLinearConv: 9,
  Constant: 0,
  GridSample: 2,
  AffineGrid: 2,
  RoiAlign: 3,
  Col2Im: 3,
  MaxUnpool: 3,
  NonMaxSuppression: 5,
  TensorScatter: 3,
  CausalConvWithState: 4,
  LinearAttention: 6,
  ...Object.fromEntries(
    ["Max", "Min", "Mean", "Sum", "Concat", "Einsum", "Loop", "Scan"].map((
      op,
    ) => [op, Infinity] as const),
  ),
};

/** Most outputs. */
const OUTPUTS: Readonly<Record<string, number>> = {
  Dropout: 2,
  TopK: 2,
  MaxPool: 2,
  GRU: 2,
  RNN: 2,
  LSTM: 3,
  DynamicQuantizeLSTM: 3,
  LayerNormalization: 3,
  DynamicQuantizeLinear: 3,
  Attention: 4,
  BatchNormalization: 5,
  CausalConvWithState: 2,
  LinearAttention: 2,
  Split: Infinity,
  If: Infinity,
  Loop: Infinity,
  Scan: Infinity,
};

/** Most inputs and outputs of an operator that has a rule. */
export function mostOf(op: string): { inputs: number; outputs: number } {
  return {
    inputs: Object.hasOwn(INPUTS, op) ? INPUTS[op] : 1,
    outputs: Object.hasOwn(OUTPUTS, op) ? OUTPUTS[op] : 1,
  };
}
