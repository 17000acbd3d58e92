import type { Value } from "../graph/operator.ts";
import { f32, type Operators, type PortSpec } from "../graph/cell_builder.ts";
import type { CellGraph, CellNode, Source } from "../graph/cell_graph.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { concatenated, type Tensor } from "../tensor/tensor.ts";

/** The recurrent cells that sequence models are built from. */
export const RNN_KINDS = ["lstm", "gru"] as const;
export type RnnKind = (typeof RNN_KINDS)[number];

/** One recurrent step as part of a cell: its state ports, its operator, its initial state. */
export interface RnnStep {
  /** Names of the state rows: h, and c for LSTM. */
  readonly state: readonly ("h" | "c")[];
  readonly ports: Record<"h" | "c", PortSpec>;
  /** The initial state. */
  readonly zeros: Source;
  apply(
    op: Operators,
    x: Value,
    state: Record<"h" | "c", Value>,
  ): Record<"h" | "c", Value>;
}

/**
 * A recurrent step of `hidden` units over inputs of `inputSize`.
 * Weights: `<prefix>.W` [gates*hidden, inputSize], `.R` [gates*hidden, hidden], `.Wb`, `.Rb` [gates*hidden],
 * gates in ONNX order (LSTM i, o, f, c; GRU z, r, h with linear_before_reset = 1).
 */
export function rnnStep(
  kind: RnnKind,
  prefix: string,
  inputSize: number,
  hidden: number,
  weights: WeightSource,
): RnnStep {
  const gates = kind === "lstm" ? 4 : 3;
  const rows = gates * hidden;
  const w = weights(`${prefix}.W`, [rows, inputSize], hidden);
  const r = weights(`${prefix}.R`, [rows, hidden], hidden);
  const b: Tensor = concatenated(
    weights(`${prefix}.Wb`, [rows], hidden),
    weights(`${prefix}.Rb`, [rows], hidden),
  );
  const ports = { h: f32(hidden), c: f32(hidden) };
  const zeros: Source = { kind: "zeros", width: hidden };
  if (kind === "lstm") {
    return {
      state: ["h", "c"],
      ports,
      zeros,
      apply: (op, x, { h, c }) => op.LSTM(x, h, c, { w, r, b }),
    };
  }
  return {
    state: ["h"],
    ports,
    zeros,
    apply: (op, x, { h }) => {
      const next = op.GRU(x, h, { w, r, b });
      return { h: next, c: next };
    },
  };
}

/** Only the ports or values that the step's state has. */
export function pickState<T>(
  step: RnnStep,
  all: Record<"h" | "c", T>,
): Record<"h" | "c", T> {
  return Object.fromEntries(
    step.state.map((name) => [name, all[name]]),
  ) as Record<"h" | "c", T>;
}

/**
 * Inputs of the next node of a chain: its token, and the state that the node before hands on (zeros
 * at the start). Called once per step of every request.
 */
export function stepInputs(
  step: RnnStep,
  graph: CellGraph,
  token: Source,
  before: CellNode | undefined,
): Record<string, Source> {
  const h = before ? graph.output(before, "h") : step.zeros;
  if (step.state.length === 1) return { token, h };
  return { token, h, c: before ? graph.output(before, "c") : step.zeros };
}
