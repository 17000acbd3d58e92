/** Layers in double precision as their definitions say, over named weights. */
import type { WeightSource } from "../../src/tensor/weights.ts";

export type Row = readonly number[];

export class ReferenceLayers {
  constructor(readonly weights: WeightSource) {}

  /** A tensor's elements; seeded weights depend on fan-in, so that it is the model's. */
  tensor(name: string, shape: readonly number[], fanIn: number): Float32Array {
    return this.weights(name, shape, fanIn).data;
  }

  /** W x + b. */
  linear(
    name: string,
    x: Row,
    { outputs, fanIn, bias }: {
      outputs: number;
      fanIn: number;
      bias?: string;
    },
  ): number[] {
    const w = this.tensor(name, [outputs, x.length], fanIn);
    const b = bias ? this.tensor(bias, [outputs], fanIn) : undefined;
    return Array.from(
      { length: outputs },
      (_, j) =>
        x.reduce(
          (sum, value, i) => sum + w[j * x.length + i] * value,
          b?.[j] ?? 0,
        ),
    );
  }

  embedding(
    name: string,
    id: number,
    count: number,
    width: number,
    fanIn: number,
  ): number[] {
    const table = this.tensor(name, [count, width], fanIn);
    return [...table.subarray(id * width, (id + 1) * width)];
  }
}

export function plus(...rows: readonly Row[]): number[] {
  return rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0));
}
