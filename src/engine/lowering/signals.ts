import type {
  Operator,
  OperatorOf,
  SignalOperator,
} from "../../graph/operator.ts";
import { lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { packFft } from "../../kernels/pack/pack_fft.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import { type Lowering, type Lowerings, times } from "./lowering.ts";

/** @param n real numbers of a row */
function lowerTransform(
  kernel: "rfft_f32" | "irfft_f32",
  n: number,
  { inputs: [x], outputs: [y] }: Operator,
  lowering: Lowering,
): void {
  const rows = x.width / (kernel === "rfft_f32" ? n : n + 2);
  const bytes = (width: number) => width / rows * BYTES_PER_ELEMENT;
  lowering.kernel(kernel, [
    times(rows),
    n,
    lowering.spread(lowering.tableOf(x), rows, bytes(x.width)),
    lowering.place(packFft(n)),
    lowering.spread(lowering.output(y), rows, bytes(y.width)),
    { scratch: lowering.scratch(2 * n * BYTES_PER_ELEMENT) },
  ]);
}

export const signals: Lowerings<SignalOperator> = {
  RFFT: (operator, lowering) =>
    lowerTransform(
      "rfft_f32",
      lastAxis(operator.inputs[0]),
      operator,
      lowering,
    ),
  IRFFT: (operator, lowering) =>
    lowerTransform(
      "irfft_f32",
      lastAxis(operator.outputs[0]),
      operator,
      lowering,
    ),
  Magnitude(
    { inputs: [x], outputs: [y] }: OperatorOf<"Magnitude">,
    lowering,
  ) {
    const n = lastAxis(x);
    const rows = rowsOf(y);
    const bytes = n * BYTES_PER_ELEMENT;
    const real = lowering.spread(lowering.tableOf(x), rows, 2 * bytes);
    lowering.kernel("magnitude_f32", [
      times(rows),
      n,
      real,
      lowering.offset(real, bytes, rows),
      lowering.outputRows(y),
    ]);
  },
};
