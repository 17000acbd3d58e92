/**
 * A model's latencies over batch sizes as a table that policies use, saved and loaded as JSON.
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 */
import { describe } from "../base/describe.ts";
import type { LayerSpec } from "./layer_spec.ts";
import type { Npu } from "./npu.ts";
import { positiveInteger } from "./checks.ts";

export interface LatencyProfile {
  machine: string;
  model: string;
  batchSizes: readonly number[];
  /** Node names in order, and latencyNs[node][batch index]. */
  nodes: readonly string[];
  latencyNs: readonly (readonly number[])[];
}

/** Batch sizes of a profile, unless told: 1 to 64. */
export const BATCH_SIZES: readonly number[] = Array.from(
  { length: 64 },
  (_, i) => i + 1,
);

export interface ProfileOptions {
  model: string;
  /** Default: BATCH_SIZES. */
  batchSizes?: readonly number[];
}

/** Profiles a model given as a function from batch size to layers. */
export function profileModel(
  npu: Npu,
  layersOf: (batch: number) => readonly LayerSpec[],
  { model, batchSizes = BATCH_SIZES }: ProfileOptions,
): LatencyProfile {
  if (batchSizes.length === 0) {
    throw new RangeError("batchSizes must not be empty");
  }
  batchSizes.forEach((batch) => positiveInteger(batch, "batch size"));
  const nodes = layersOf(batchSizes[0]).map(({ name }) => name);
  const perBatch = batchSizes.map((batch) => {
    const layers = layersOf(batch);
    if (layers.length !== nodes.length) {
      throw new RangeError(
        `${model} has ${layers.length} layers at batch ${batch}, ${nodes.length} at first`,
      );
    }
    return layers.map((layer) => npu.latencyNs([layer]));
  });
  return {
    machine: npu.config.name,
    model,
    batchSizes: [...batchSizes],
    nodes,
    latencyNs: nodes.map((_, node) =>
      perBatch.map((latencies) => latencies[node])
    ),
  };
}

/** Nanoseconds of the whole model at a profiled batch size. */
export function totalNs(profile: LatencyProfile, batch: number): number {
  const at = profile.batchSizes.indexOf(batch);
  if (at < 0) {
    throw new RangeError(
      `batch size ${batch} is not in the profile (${
        profile.batchSizes.join(", ")
      }); profile it first`,
    );
  }
  return profile.latencyNs.reduce((sum, latencies) => sum + latencies[at], 0);
}

/** The profile as policies and `TableCost` take it: points [batch size, ns] by node. */
export function profileTable(
  { nodes, batchSizes, latencyNs }: LatencyProfile,
): Record<string, [batch: number, ns: number][]> {
  return Object.fromEntries(
    nodes.map((node, n) => [
      node,
      batchSizes.map((batch, i): [number, number] => [batch, latencyNs[n][i]]),
    ]),
  );
}

/** Throws a RangeError naming what is wrong: what loadProfile() would refuse is not saved. */
export function saveProfile(profile: LatencyProfile): string {
  return JSON.stringify(checked(profile), undefined, 1) + "\n";
}

/** Throws a RangeError naming what is wrong. */
export function loadProfile(text: string): LatencyProfile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RangeError(`profile: not JSON (${(cause as Error).message})`, {
      cause,
    });
  }
  return checked(value);
}

function checked(value: unknown): LatencyProfile {
  const { machine, model, batchSizes, nodes, latencyNs } = (value ??
    {}) as Partial<LatencyProfile>;
  if (typeof machine !== "string" || typeof model !== "string") {
    throw new RangeError('profile: "machine" and "model" must be strings');
  }
  if (
    !Array.isArray(batchSizes) || !Array.isArray(nodes) ||
    !Array.isArray(latencyNs)
  ) {
    throw new RangeError(
      'profile: "batchSizes", "nodes" and "latencyNs" must be arrays',
    );
  }
  batchSizes.forEach((batch) => positiveInteger(batch, "profile: batch size"));
  nodes.forEach((node) => {
    if (typeof node === "string") return;
    throw new RangeError(`profile: "nodes" are names, got ${describe(node)}`);
  });
  if (latencyNs.length !== nodes.length) {
    throw new RangeError(
      `profile: ${nodes.length} nodes but ${latencyNs.length} rows of latencies`,
    );
  }
  latencyNs.forEach((row: unknown, i: number) => {
    const good = Array.isArray(row) && row.length === batchSizes.length &&
      row.every((ns) => Number.isSafeInteger(ns) && ns >= 0);
    if (!good) {
      throw new RangeError(
        `profile: node "${
          nodes[i]
        }" needs ${batchSizes.length} latencies in whole nanoseconds`,
      );
    }
  });
  return { machine, model, batchSizes, nodes, latencyNs };
}
