/** What bench:kernels times: one operator on one shape, ours and a peer's model of the same. */
import type { Own } from "./own.ts";
import type { OnnxModel } from "./onnx_model.ts";

/** Something of ours ready to run. */
export interface OwnRun {
  run(): void;
  /** Result in the peer's layout, after a run. */
  result(): ArrayLike<number>;
}

/** One line of the table. */
export interface Workload {
  /** Row of the table it belongs to. */
  area: string;
  shape: string;
  /** Operations counted, for rates; elements where `unit` says so. */
  operations: number;
  unit: "GFLOP/s" | "GOP/s" | "G elements/s";
  /** Bytes that have to move at least once, for the roofline. */
  bytes: number;
  own(own: Own): OwnRun;
  peer: OnnxModel;
  feeds: Readonly<
    Record<string, { shape: readonly number[]; data: Float32Array }>
  >;
  /** Name of the peer's result. */
  output: string;
  /** Largest difference allowed between ours and the peer's. */
  tolerance: number;
}
