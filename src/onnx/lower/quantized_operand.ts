/**
 * A value of int8 or uint8 as kernels take it: rows of type "q8", whose bytes are unsigned. Its scale stays in the
 * lowering, rows say 1: what kernels compute of them is then whole numbers, and factors are applied where, and
 * rounded as, ONNX's operators do it.
 */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import { runPlain } from "../../plain/registry.ts";
import { scalarOf } from "../../tensor/plain_tensor.ts";
import { isShape, tensor } from "../../tensor/tensor.ts";
import type { KnownValue } from "../known_value.ts";
import { type ByteType, unsignedZero } from "../quantized_bytes.ts";
import { Operand } from "./operand.ts";

/** QuantizeLinear and DequantizeLinear, whole tensors. */
const OPSET = 13;

/** How quantised rows lie: in ONNX's order, or as an image. */
export type Layout = "row" | "image";

/** Quantised by a kernel before; as a row it is made of these bytes in plain TypeScript. */
export class QuantizedOperand extends Operand {
  #bytes: Value | undefined;

  /**
   * @param value of type q8 and scale 1
   * @param zero its zero point, of its own type
   */
  constructor(
    op: Operators,
    known: KnownValue & { readonly type: ByteType },
    readonly value: Value,
    readonly zero: number,
  ) {
    super(op, known, value);
  }

  override get isImage(): boolean {
    return false;
  }

  override get any(): Value {
    return this.row;
  }

  override get row(): Value {
    return this.#bytes ??= quantizedPlainly(this);
  }
}

function quantizedPlainly(x: QuantizedOperand): Value {
  const { op, zero, dims } = x;
  const type = x.type as ByteType;
  return op.Plain({
    name: "QuantizeLinear",
    opset: OPSET,
    inputs: [
      stepsOf(x, zero).row,
      scalarOf("float32", 1),
      scalarOf(type, zero),
    ],
    outputs: [{ dtype: type === "int8" ? "i8" : "u8", dims }],
    run: runPlain,
  })[0];
}

/** Bytes less a zero point, as floats: exact. */
export function stepsOf(x: Operand, zero: number): Operand {
  const { op, dims } = x;
  const type = x.type as ByteType;
  const known = { type: "float32", dims } as const;
  if (!(x instanceof QuantizedOperand)) {
    const [steps] = op.Plain({
      name: "DequantizeLinear",
      opset: OPSET,
      inputs: [x.row, scalarOf("float32", 1), scalarOf(type, zero)],
      outputs: [{ dtype: "f32", dims }],
      run: runPlain,
    });
    return new Operand(op, known, steps);
  }
  const steps = op.DequantizeLinear(x.value);
  if (x.zero === zero) return new Operand(op, known, steps);
  const more = tensor([1], Float32Array.of(x.zero - zero));
  return new Operand(op, known, op.Add(steps, op.Constant(more)));
}

/**
 * Quantised rows of scale 1.
 * @param zero of the value's own type
 */
export function quantizedOf(x: Operand, zero: number, layout: Layout): Value {
  if (x instanceof QuantizedOperand && x.zero === zero) {
    const { value, dims } = x;
    const lies = layout === "image"
      ? value.image !== undefined
      : value.image === undefined && isShape(axesOf(value), dims);
    if (lies) return value;
  }
  const steps = stepsOf(x, zero);
  return x.op.QuantizeLinear(layout === "image" ? steps.image : steps.row, {
    scale: 1,
    zero: unsignedZero(x.type as ByteType, zero),
  });
}
