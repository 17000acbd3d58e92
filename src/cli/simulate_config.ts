/** The configuration of `shoal simulate`: its shape, its checks, what it means. */
import { z } from "zod";
import type { Model } from "../graph/model.ts";
import { constantCost, TableCost } from "../cost/table_cost.ts";
import type { CostModel } from "../cost/cost_model.ts";
import { MODELS } from "../models/registry.ts";
import { POLICIES } from "../policy/registry.ts";
import type { Policy } from "../policy/policy.ts";
import { shapesOnly } from "../tensor/weights.ts";
import { ARRIVALS, arrivals } from "../workload/arrivals.ts";
import { inputGenerator } from "../workload/inputs.ts";
import type { LengthsSpec } from "../workload/lengths.ts";
import type { TreesSpec } from "../workload/trees.ts";
import { type Arrival, workload } from "../workload/workload.ts";
import { readProfile } from "./read_profile.ts";
import { UsageError } from "./terminal.ts";

const nameOf = (names: readonly string[]) =>
  z.enum(names as [string, ...string[]]);
const positiveInteger = z.int().min(1);

const SCHEMA = z.strictObject({
  seed: z.int().default(1),
  model: z.strictObject({
    name: nameOf(Object.keys(MODELS)),
    options: z.record(z.string(), z.unknown()).default({}),
  }),
  policies: z.array(z.strictObject({
    name: nameOf(Object.keys(POLICIES)),
    options: z.record(z.string(), z.unknown()).default({}),
  })).min(1),
  workers: positiveInteger.default(1),
  workload: z.strictObject({
    requests: positiveInteger.optional(),
    arrivals: z.looseObject({ kind: nameOf(Object.keys(ARRIVALS)) }),
    vocabulary: positiveInteger.optional(),
    lengths: z.unknown().optional(),
    trees: z.unknown().optional(),
    extraSteps: z.int().min(0).optional(),
    /** Every request's deadline, counted from its arrival. */
    deadlineNs: positiveInteger.optional(),
  }),
  cost: z.union([
    z.strictObject({ constantNs: z.number().min(0) }),
    /** A file that `shoal profile` or `shoal npu --profile` saved. */
    z.strictObject({ profile: z.string() }),
    z.strictObject({
      tablesNs: z.record(
        z.string(),
        z.array(z.tuple([positiveInteger, z.number().min(0)])),
      ),
    }),
  ]),
  log: z.boolean().default(false),
});

export type SimulateConfig = z.infer<typeof SCHEMA>;

export interface Simulation {
  readonly seed: number;
  readonly model: Model;
  readonly policies: readonly { readonly name: string; build(): Policy }[];
  readonly workers: number;
  readonly arrivals: readonly Arrival[];
  readonly deadlineNs: number | undefined;
  readonly cost: CostModel;
  readonly log: boolean;
}

/**
 * @param label the file's name, for messages
 * @throws UsageError naming file, key and value
 */
export function readConfig(text: string, label: string): Simulation {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${label} is not JSON: ${(error as Error).message}`);
  }
  const checked = SCHEMA.safeParse(parsed);
  if (!checked.success) {
    throw new UsageError(`${label}: ${z.prettifyError(checked.error)}`);
  }
  try {
    return simulation(checked.data);
  } catch (error) {
    throw new UsageError(`${label}: ${(error as Error).message}`);
  }
}

function simulation(config: SimulateConfig): Simulation {
  const { seed, workers, log } = config;
  const entry = MODELS[config.model.name]!;
  for (const key of Object.keys(config.model.options)) {
    if (!entry.options.includes(key)) {
      throw new RangeError(
        `Model "${config.model.name}" has no option "${key}"; it takes ${
          entry.options.join(", ")
        }`,
      );
    }
  }
  // A simulation has no values: costs and lengths depend on shapes alone.
  const model = entry.build({
    ...config.model.options,
    weights: shapesOnly(),
  });
  const { kind, ...arrivalOptions } = config.workload.arrivals;
  const { requests, deadlineNs, vocabulary = 1, lengths, trees, extraSteps } =
    config.workload;
  const policies = config.policies.map(({ name, options }) => ({
    name,
    build: () => POLICIES[name]!.build(withProfile(options)),
  }));
  for (const { name, build } of policies) {
    const reason = build().supports(model);
    if (reason !== undefined) {
      throw new RangeError(
        `Policy "${name}" cannot batch model "${model.name}": ${reason}`,
      );
    }
  }
  return {
    seed,
    model,
    policies,
    workers,
    arrivals: workload({
      arrivals: arrivals(kind, arrivalOptions),
      inputs: inputGenerator({
        kind: entry.input,
        vocabulary,
        image: model.image,
        ...(lengths !== undefined && { lengths: lengths as LengthsSpec }),
        ...(trees !== undefined && { trees: trees as TreesSpec }),
        ...(extraSteps !== undefined && { extraSteps }),
      }),
      ...(requests !== undefined && { requests }),
      seed,
    }),
    deadlineNs,
    cost: costOf(config.cost),
    log,
  };
}

function costOf(cost: SimulateConfig["cost"]): CostModel {
  if ("constantNs" in cost) return constantCost(cost.constantNs);
  return new TableCost(
    "profile" in cost ? readProfile(cost.profile) : cost.tablesNs,
  );
}

/** A policy's options; a profile may be given as a file. */
function withProfile(
  options: Record<string, unknown>,
): Record<string, unknown> {
  const { profile } = options;
  return typeof profile === "string"
    ? { ...options, profile: readProfile(profile) }
    : options;
}
