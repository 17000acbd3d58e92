/**
 * A model's latencies over batch sizes as a table that policies use, saved and loaded as JSON.
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 */
import {
  anything,
  checkedOptions,
  type Checks,
  listOf,
  ofType,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import type { LayerSpec } from "./layer_spec.ts";
import type { Npu } from "./npu.ts";
import { positiveInteger } from "./checks.ts";

/** What the nodes of a model take on a machine, by batch size. JSON as it is. */
export interface LatencyProfile {
  /** Name of the machine. */
  machine: string;
  /** Name of the model. */
  model: string;
  /** Positive integers. */
  batchSizes: readonly number[];
  /** Names of the layers or cells, in order. */
  nodes: readonly string[];
  /** latencyNs[node][index of the batch size], whole nanoseconds. */
  latencyNs: readonly (readonly number[])[];
}

/** Batch sizes of a profile, unless told: 1 to 64. */
export const BATCH_SIZES: readonly number[] = Array.from(
  { length: 64 },
  (_, i) => i + 1,
);

/** Options of `profileModel`. */
export interface ProfileOptions {
  /** Name of the model. */
  model: string;
  /** Positive integers; default 1 to 64. */
  batchSizes?: readonly number[];
}

const PROFILE_CHECKS: Checks<ProfileOptions> = {
  model: ofType("string"),
  batchSizes: listOf(anything),
};

/**
 * Profiles a model given as a function from batch size to layers.
 * Source of the idea: LazyBatching, section IV-C (node-level latency lookup table).
 * @param layersOf the layers of a batch, equally many at every size
 * @throws RangeError when a batch size is not a positive integer or there is none, the number of layers changes, or
 * one does not fit the machine
 * @throws TypeError on an option that is none, or of another type
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createNpu, preset, profileModel } from "@shoal/core/npu";
 *
 * const dense = (batch: number) => ({
 *   name: "dense",
 *   gemms: [{ gemm: { m: batch, n: 256, k: 256 }, copies: 1 }],
 *   vector: [],
 *   extraReadWords: 0,
 *   extraWriteWords: 0,
 * });
 * const { latencyNs } = profileModel(
 *   createNpu(preset("gemmini")),
 *   (batch) => [dense(batch)],
 *   { model: "mlp", batchSizes: [1, 16] },
 * );
 * const [[one, sixteen]] = latencyNs;
 * assert(sixteen < 16 * one); // weights are loaded once per batch
 * ```
 */
export function profileModel(
  npu: Npu,
  layersOf: (batch: number) => readonly LayerSpec[],
  options: ProfileOptions,
): LatencyProfile {
  const { model, batchSizes = BATCH_SIZES } = checkedOptions(
    "profileModel()",
    options,
    PROFILE_CHECKS,
    ["model"],
  );
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

/**
 * Nanoseconds of the whole model at a profiled batch size.
 * @throws RangeError naming the sizes that were profiled, for another one
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { totalNs } from "@shoal/core/npu";
 *
 * const profile = {
 *   ...{ machine: "own", model: "two layers", batchSizes: [1, 8] },
 *   ...{ nodes: ["a", "b"], latencyNs: [[10, 20], [5, 15]] },
 * };
 * assert.equal(totalNs(profile, 8), 35);
 * ```
 */
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

/**
 * The profile as policies (option `profile`) and `TableCost` take it: points [batch size, ns] by node.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { profileTable } from "@shoal/core/npu";
 *
 * const table = profileTable({
 *   machine: "bench",
 *   model: "lstm",
 *   batchSizes: [1, 64],
 *   nodes: ["lstm_step"],
 *   latencyNs: [[20_000, 180_000]],
 * });
 * assert.deepEqual(table, { lstm_step: [[1, 20_000], [64, 180_000]] });
 * ```
 */
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

/**
 * A profile as the text of a file, JSON.
 * @throws RangeError naming what is wrong: what `loadProfile` would refuse is not saved
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadProfile, saveProfile } from "@shoal/core/npu";
 *
 * const profile = {
 *   machine: "bench",
 *   model: "lstm",
 *   batchSizes: [1, 64],
 *   nodes: ["lstm_step"],
 *   latencyNs: [[20_000, 180_000]],
 * };
 * assert.deepEqual(loadProfile(saveProfile(profile)), profile);
 * ```
 */
export function saveProfile(profile: LatencyProfile): string {
  return JSON.stringify(checked(profile), undefined, 1) + "\n";
}

/**
 * Reads what `saveProfile` wrote, or `shoal profile`.
 * @throws RangeError naming what is wrong
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadProfile } from "@shoal/core/npu";
 *
 * const { nodes } = loadProfile(
 *   '{"machine": "bench", "model": "mlp", "batchSizes": [1], "nodes": ["dense"], "latencyNs": [[700]]}',
 * );
 * assert.deepEqual(nodes, ["dense"]);
 * assert.throws(() => loadProfile("{}"), /"machine" and "model" must be strings/);
 * ```
 */
export function loadProfile(text: string): LatencyProfile {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
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
