/** Another implementation of the same operators. */
import type { Equivalent } from "../../../test/kernels/equivalent.ts";

/** An operation of a peer, ready to run. */
export interface PeerRun {
  /** Runs once; outputs stay in the peer's memory where it has one. */
  run(): void | Promise<void>;
  /** Outputs of the last run in ONNX's layouts, by name. */
  outputs(): Record<string, ArrayLike<number | bigint>>;
  release(): void | Promise<void>;
}

/** A peer. */
export interface Peer {
  name: string;
  version: string;
  /** Operators whose results it gets wrong on some processors: compared, but not insisted on. */
  inexact?: readonly string[];
  /** undefined where the peer has no such operator. */
  prepare(operation: Equivalent): Promise<PeerRun | undefined>;
}
