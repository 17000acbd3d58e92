import {
  type CaseDraw,
  type CaseFamily,
  caseFamily,
  drawRows,
  drawSize,
  type Work,
} from "../kernel_case.ts";
import { type Equivalent, floatsOf, type OnnxNode } from "../equivalent.ts";
import type {
  BinaryKernel,
  UnaryKernel,
} from "../../../src/kernels/module/elementwise.ts";
import type { KernelExports } from "../../../src/kernels/module/exports.ts";

/** Names of the exports with signature S. */
type NamesOf<S> = {
  [N in keyof KernelExports]: KernelExports[N] extends S ? N : never;
}[keyof KernelExports];

/** Size of a case over rows of n numbers. */
export interface RowSize {
  n: number;
}

/** Draws it. */
export const drawRowSize = ({ prng }: CaseDraw): RowSize => ({
  n: drawSize(prng),
});

/** Elements a second; copies and the like are counted in bytes. */
export const elements = (count: number): Work => ({
  count,
  unit: "G elements/s",
});

/** One operator from inputs of [rows][n] to outputs of the given widths. */
export function rowEquivalent(
  rows: number,
  n: number,
  node: Omit<OnnxNode, "inputs" | "outputs">,
  inputs: readonly Float32Array[],
  more: Partial<Equivalent> = {},
): Equivalent {
  const names = ["a", "b"].slice(0, inputs.length);
  const constants = more.constants ?? [];
  return {
    nodes: [{
      ...node,
      inputs: [...names, ...constants.map(({ name }) => name)],
      outputs: (more.outputs ?? [{ name: "y" }]).map(({ name }) => name),
    }],
    constants,
    inputs: inputs.map((data, i) => ({
      name: names[i],
      shape: [rows, n],
      data,
    })),
    outputs: [{ name: "y", shape: [rows, n], of: floatsOf("out") }],
    tolerance: 1e-5,
    ...more,
  };
}

/** What sets one elementwise kernel apart. */
interface Elementwise {
  /** The ONNX operator that computes it, if there is one. */
  onnx?: Omit<OnnxNode, "inputs" | "outputs">;
  /** Inputs are drawn from (-range, range). */
  range?: number;
  /** Relative error allowed; 0 (default) demands the correctly rounded result. */
  tolerance?: number;
}

/** Cases of an elementwise kernel of one operand. */
export function unaryCase(
  name: NamesOf<UnaryKernel>,
  reference: (x: number) => number,
  { onnx, range = 1, tolerance = 0 }: Elementwise = {},
): CaseFamily<RowSize> {
  return caseFamily<RowSize>(drawRowSize, (draw, { n }) => {
    const { rows } = draw;
    const a = drawRows(draw, n);
    a.data.forEach((value, i) => a.data[i] = value * range);
    return {
      label: `m=${rows} n=${n}`,
      rows,
      inputs: { a },
      results: { out: { width: n, type: "f32" } },
      call: (kernels, at, m) => kernels[name](m, n, at.a, at.out),
      expected: () => ({ out: Float64Array.from(a.data, reference) }),
      tolerance,
      work: elements(rows * n),
      ...(onnx && {
        equivalent: () =>
          rowEquivalent(rows, n, onnx, [a.data as Float32Array]),
      }),
    };
  });
}

/** Cases of an elementwise kernel of two operands; results are correctly rounded. */
export function binaryCase(
  name: NamesOf<BinaryKernel>,
  reference: (a: number, b: number) => number,
  opType?: string,
): CaseFamily<RowSize> {
  return caseFamily<RowSize>(drawRowSize, (draw, { n }) => {
    const { rows } = draw;
    const a = drawRows(draw, n);
    const b = drawRows(draw, n);
    return {
      label: `m=${rows} n=${n}`,
      rows,
      inputs: { a, b },
      results: { out: { width: n, type: "f32" } },
      call: (kernels, at, m) => kernels[name](m, n, at.a, at.b, at.out),
      expected: () => ({
        out: Float32Array.from(
          a.data,
          (value, i) => reference(value, b.data[i]),
        ),
      }),
      tolerance: 0,
      work: elements(rows * n),
      ...(opType !== undefined && {
        equivalent: () =>
          rowEquivalent(
            rows,
            n,
            { opType },
            [a.data, b.data] as Float32Array[],
          ),
      }),
    };
  });
}
