/** A file in onnxruntime-web. */
import { readFileSync } from "node:fs";
import type { DeclaredDim, ValueInfo } from "../../src/onnx/ir.ts";
import type { InputSpec } from "../../src/onnx/input_tensors.ts";
import {
  createSession,
  type Ort,
  ORT_TYPES,
  type OrtSession,
  type OrtTensor,
} from "../kernels/peers/ort.ts";
import { type Elements, stacked } from "./inputs.ts";

const TYPES = { ...ORT_TYPES, bool: "bool" } as const;

/** A session over a file on disk: read, parsed, optimised, weights laid out. */
export function openSession(ort: Ort, path: string): Promise<OrtSession> {
  return createSession(ort, readFileSync(path));
}

/** Inputs of one run. */
export function feedsOf(
  ort: Ort,
  specs: readonly InputSpec[],
  requests: readonly Elements[],
): Record<string, OrtTensor> {
  const all = stacked(requests);
  return Object.fromEntries(specs.map(({ name, dtype, shape }) => {
    const dims = requests.length === 1
      ? shape
      : [requests.length, ...shape.slice(1)];
    return [name, new ort.Tensor(TYPES[dtype], all[name], dims)];
  }));
}

/** Whether a file takes batches as it stands: every input and output has an axis in front of which the size is open. */
export function hasFreeBatch(
  { inputs, outputs }: {
    inputs: readonly ValueInfo[];
    outputs: readonly ValueInfo[];
  },
): boolean {
  const isFree = (dims: readonly DeclaredDim[] | null) =>
    dims !== null && dims.length > 0 && typeof dims[0] !== "number";
  return [...inputs, ...outputs].every(({ dims }) => isFree(dims));
}
