/** Products of int8. */
import type {
  OperatorOf,
  QuantizedOperator,
  Value,
} from "../../graph/operator.ts";
import { bytesOfRow, lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { ACTIVATIONS } from "../../kernels/module/activations.ts";
import { shapeWords } from "../../kernels/pack/image_words.ts";
import { packedQ8Words, packQ8 } from "../../kernels/pack/pack_q8.ts";
import {
  CELL_Q8_SCRATCH_BYTES,
  packGruQ8,
  packLstmQ8,
} from "../../kernels/pack/pack_q8_cells.ts";
import {
  convQ8ScratchBytes,
  packConvQ8,
} from "../../kernels/pack/pack_q8_conv.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import { imageShape } from "../../tensor/image_shape.ts";
import type { TableRef } from "./cell_program.ts";
import { fuseActivation, FUSED } from "./elementwise.ts";
import type { Lowering, Lowerings } from "./lowering.ts";

/** Of a quantised row: bytes to its scale and its zero point. */
const HEADER = { scale: 0, zero: 4 } as const;

export const quantized: Lowerings<QuantizedOperator> = {
  DynamicQuantizeLinear({ levels, per, inputs: [x], outputs: [q] }, lowering) {
    if (per === "request" && rowsOf(x) > 1) {
      return quantizeTogether(x, q, lowering);
    }
    lowering.kernel("quantize_rows_f32", [
      lowering.rows(x),
      lastAxis(x),
      levels,
      lowering.rowTable(x),
      lowering.outputRows(q),
    ]);
  },

  QuantizeLinear({ scale, zero, inputs: [x], outputs: [q] }, lowering) {
    lowering.kernel("quantize_static_rows_f32", [
      lowering.rows(x),
      lastAxis(x),
      scale,
      zero,
      lowering.rowTable(x),
      lowering.outputRows(q),
    ]);
  },

  /** A depthwise convolution of one tap, whose weight is 1. */
  DequantizeLinear({ inputs: [q], outputs: [x] }, lowering) {
    const channels = lastAxis(q);
    const { height, width, ...size } = q.image ??
      { height: 1, width: 1, channels };
    const shape = imageShape({
      height,
      width,
      channels: size.channels,
      outChannels: size.channels,
      kernel: 1,
      groups: size.channels,
    });
    const ones = packConvQ8(shape, {
      values: new Int8Array(size.channels).fill(1),
      scale: new Float32Array(size.channels).fill(1),
    });
    lowering.kernel("conv_q8_f32", [
      lowering.rows(q),
      lowering.place(shapeWords(shape)),
      seven(q, lowering),
      lowering.rowTable(q),
      lowering.place(ones),
      lowering.outputRows(x),
      ACTIVATIONS.none,
      { scratch: lowering.scratch(alignUp(convQ8ScratchBytes(shape))) },
    ]);
  },

  MatMulInteger(operator, lowering) {
    lowering.kernel("gemm_q8_i32", [
      ...product(operator, lowering),
      lowering.outputRows(operator.outputs[0]),
    ]);
  },

  MatMulIntegerToFloat(operator, lowering) {
    const { value, act } = fuseActivation(operator.outputs[0], lowering);
    lowering.kernel("gemm_q8_f32", [
      ...product(operator, lowering),
      lowering.outputRows(value),
      ACTIVATIONS[act],
    ]);
  },

  DynamicMatMulInteger: lowerDynamicProduct,
  DynamicMatMulIntegerToFloat: lowerDynamicProduct,

  QLinearMatMul(operator, lowering) {
    const { scale, zero, activation } = operator;
    lowering.kernel("gemm_q8_u8", [
      ...product(operator, lowering),
      lowering.outputRows(operator.outputs[0]),
      ACTIVATIONS[activation ? FUSED[activation] : "none"],
      scale,
      zero,
    ]);
  },

  ConvInteger(operator, lowering) {
    lowering.kernel("conv_q8_i32", [
      ...convolution(operator, lowering),
      lowering.output(operator.outputs[0]),
      scratchOf(operator, lowering),
    ]);
  },

  ConvIntegerToFloat(operator, lowering) {
    const { value, act } = fuseActivation(operator.outputs[0], lowering);
    lowering.kernel("conv_q8_f32", [
      ...convolution(operator, lowering),
      lowering.output(value),
      ACTIVATIONS[act],
      scratchOf(operator, lowering),
    ]);
  },

  QLinearConv(operator, lowering) {
    const { scale, zero, activation } = operator;
    lowering.kernel("conv_q8_u8", [
      ...convolution(operator, lowering),
      lowering.output(operator.outputs[0]),
      ACTIVATIONS[activation ? FUSED[activation] : "none"],
      scale,
      zero,
      scratchOf(operator, lowering),
    ]);
  },

  DynamicQuantizeLSTM(operator, lowering) {
    const { inputs, outputs } = operator;
    const [, h, c] = inputs as [Value, Value, Value];
    lowering.kernel("lstm_step_q8", [
      "rows",
      h.width,
      ...stepOperands(operator, lowering),
      lowering.tableOf(c),
      lowering.place(packLstmQ8(stepWeights(operator))),
      lowering.output(outputs[0]),
      lowering.output(outputs[1]),
      { scratch: lowering.scratch(CELL_Q8_SCRATCH_BYTES) },
    ]);
  },

  DynamicQuantizeGRU(operator, lowering) {
    const { inputs: [, h], outputs } = operator;
    lowering.kernel("gru_step_q8", [
      "rows",
      h.width,
      ...stepOperands(operator, lowering),
      lowering.tableOf(h),
      lowering.place(packGruQ8(stepWeights(operator))),
      lowering.output(outputs[0]),
      { scratch: lowering.scratch(CELL_Q8_SCRATCH_BYTES) },
    ]);
  },
};

/**
 * One range for all rows of a request: all of it is quantised as a single row, for the sake of its header, and then
 * row by row with the scale and zero point that it has found.
 */
function quantizeTogether(x: Value, q: Value, lowering: Lowering): void {
  const whole = lowering.temporary(bytesOfRow("q8", x.width));
  lowering.kernel("quantize_rows_f32", [
    "rows",
    x.width,
    255,
    lowering.tableOf(x),
    whole,
  ]);
  const rows = rowsOf(x);
  lowering.each(1, [{
    call: "kernel",
    kernel: "quantize_static_rows_f32",
    args: [
      rows,
      lastAxis(x),
      { word: "f32", of: whole, at: HEADER.scale },
      { word: "i32", of: whole, at: HEADER.zero },
      { entries: lowering.rowTable(x), step: rows },
      { entries: lowering.outputRows(q), step: rows },
    ],
  }]);
}

/** The right operand is packed, matrix by matrix. */
function lowerDynamicProduct(
  { op, transposed, inputs: [a, b], outputs: [c] }: OperatorOf<
    "DynamicMatMulInteger"
  >,
  lowering: Lowering,
): void {
  const [n, k] = [lastAxis(c), lastAxis(a)];
  const rows = transposed ? n : k;
  const matrices = rowsOf(b) / rows;
  const m = rowsOf(a) / matrices;
  const packed = {
    scratch: lowering.scratch(BYTES_PER_ELEMENT * packedQ8Words({ n, k })),
  };
  const bRows = { entries: lowering.rowTable(b), step: rows };
  const aRows = { entries: lowering.rowTable(a), step: m };
  const { value, act } = op === "DynamicMatMulInteger"
    ? { value: c, act: "none" as const }
    : fuseActivation(c, lowering);
  const cRows = { entries: lowering.outputRows(value), step: m };
  const operands = [m, n, k, seven(a, lowering), aRows, packed, cRows];
  const call = "kernel" as const;
  lowering.each(matrices, [
    {
      call,
      kernel: "pack_gemm_q8",
      args: [n, k, bRows, transposed ? 1 : 0, packed],
    },
    op === "DynamicMatMulInteger"
      ? { call, kernel: "gemm_q8_i32", args: operands }
      : {
        call,
        kernel: "gemm_q8_f32",
        args: [...operands, ACTIVATIONS[act]],
      },
  ]);
}

/** 1 if all bytes are below 128, as those of 7 bits are. */
function seven(q: Value, lowering: Lowering): 0 | 1 {
  const producer = lowering.producer(q);
  if (producer?.op === "Reshape") return seven(producer.inputs[0], lowering);
  return producer?.op === "DynamicQuantizeLinear" && producer.levels === 127
    ? 1
    : 0;
}

function product(
  { weight, bias, inputs: [q], outputs: [y] }: OperatorOf<
    "MatMulInteger" | "QLinearMatMul"
  >,
  lowering: Lowering,
) {
  const [n, k] = [lastAxis(y), lastAxis(q)];
  const { values, scale, zero } = weight;
  const packed = packQ8({
    ...{ n, k, values, scale, zero },
    ...(bias && { bias: bias.data }),
  });
  return [
    lowering.rows(q),
    n,
    k,
    seven(q, lowering),
    lowering.rowTable(q),
    lowering.place(packed),
  ] as const;
}

function convolution(
  { weight, bias, shape, inputs: [q] }: OperatorOf<
    "ConvInteger" | "QLinearConv"
  >,
  lowering: Lowering,
) {
  const { values, scale, zero } = weight;
  const packed = packConvQ8(shape, {
    ...{ values, scale, zero },
    ...(bias && { bias: bias.data }),
  });
  return [
    "rows",
    lowering.place(shapeWords(shape)),
    seven(q, lowering),
    lowering.tableOf(q),
    lowering.place(packed),
  ] as const;
}

function scratchOf(
  { shape }: OperatorOf<"ConvInteger" | "QLinearConv">,
  lowering: Lowering,
) {
  return { scratch: lowering.scratch(alignUp(convQ8ScratchBytes(shape))) };
}

type Step = OperatorOf<"DynamicQuantizeLSTM">;

/** x and h quantised, each row with its own range. */
function stepOperands({ levels, inputs }: Step, lowering: Lowering) {
  const quantize = (x: Value): TableRef => {
    const q = lowering.temporary(bytesOfRow("q8", x.width));
    lowering.kernel("quantize_rows_f32", [
      "rows",
      x.width,
      levels,
      lowering.tableOf(x),
      q,
    ]);
    return q;
  };
  const [x, h] = inputs as [Value, Value];
  return [
    x.width,
    levels === 127 ? 1 : 0,
    quantize(x),
    quantize(h),
  ] as const;
}

function stepWeights({ w, r, b, inputs: [x, h] }: Step) {
  return {
    hidden: h.width,
    inputSize: x.width,
    w,
    r,
    ...(b && { b: b.data }),
  };
}
