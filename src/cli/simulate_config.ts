/** The configuration of `shoal simulate`: its shape, its checks, what it means. */
import { describe, shorten } from "../base/describe.ts";
import { basename } from "node:path";
import * as z from "zod";
import type { Model } from "../graph/model.ts";
import { constantCost, TableCost } from "../cost/table_cost.ts";
import type { CostModel } from "../cost/cost_model.ts";
import { MODELS } from "../models/registry.ts";
import { POLICIES } from "../policy/registry.ts";
import type { Policy } from "../policy/policy.ts";
import { profileOf, type ProfileTable } from "../policy/profile.ts";
import { shapesOnly } from "../tensor/weights.ts";
import { ARRIVALS, arrivals } from "../workload/arrivals.ts";
import type { InputGenerator } from "../workload/input_generator.ts";
import { inputGenerator } from "../workload/inputs.ts";
import type { LengthsSpec } from "../workload/lengths.ts";
import type { TreesSpec } from "../workload/trees.ts";
import { type Arrival, workload } from "../workload/workload.ts";
import { CellGraph } from "../graph/cell_graph.ts";
import { growingCells } from "../graph/growing_cells.ts";
import { Prng } from "../base/prng.ts";
import { checkedBy } from "./checked_by.ts";
import { parseJson, readText } from "./files.ts";
import { builtFile } from "./onnx_built.ts";
import { AS_KEYS } from "./onnx_file.ts";
import {
  boundedWeights,
  checkDurations,
  checkModelSizes,
  DURATION_NS_MAX,
  NODES_MAX,
  POLICIES_MAX,
  SIMULATED_ELEMENTS_MAX,
  TOKENS_MAX,
  VIRTUAL_WORKERS_MAX,
} from "./limits.ts";
import { policyModule } from "./policy_module.ts";
import { profileReader } from "./read_profile.ts";
import { UsageError } from "./terminal.ts";

const nameOf = (names: readonly string[]) =>
  z.enum(names as [string, ...string[]]);
const positiveInteger = z.int().min(1);
const durationNs = z.number().min(0).max(DURATION_NS_MAX);

const SCHEMA = z.strictObject({
  seed: z.int().default(1),
  model: z.union([
    z.strictObject({
      name: nameOf(Object.keys(MODELS)),
      options: z.record(z.string(), z.unknown()).default({}),
    }),
    /** An ONNX file, with options as the commands take them. */
    z.strictObject({
      file: z.string(),
      size: z.array(z.string()).default([]),
      sizeMax: z.array(z.string()).default([]),
      shape: z.array(z.string()).default([]),
      constant: z.array(z.string()).default([]),
      cells: z.string().optional(),
    }),
  ]),
  policies: z.array(z.union([
    z.strictObject({
      name: nameOf(Object.keys(POLICIES)),
      options: z.record(z.string(), z.unknown()).default({}),
    }),
    /** The caller's own: a file whose default export makes it of the options. */
    z.strictObject({
      module: z.string(),
      options: z.record(z.string(), z.unknown()).default({}),
    }),
  ])).min(1).max(POLICIES_MAX),
  workers: positiveInteger.max(VIRTUAL_WORKERS_MAX).default(1),
  workload: z.strictObject({
    requests: positiveInteger.optional(),
    arrivals: z.looseObject({ kind: nameOf(Object.keys(ARRIVALS)) }),
    vocabulary: positiveInteger.optional(),
    lengths: z.unknown().optional(),
    trees: z.unknown().optional(),
    extraSteps: z.int().min(0).optional(),
    /** Every request's deadline, counted from its arrival. */
    deadlineNs: positiveInteger.max(DURATION_NS_MAX).optional(),
  }),
  cost: z.union([
    z.strictObject({ constantNs: durationNs }),
    /** A file that `shoal profile` or `shoal npu --profile` saved. */
    z.strictObject({ profile: z.string() }),
    z.strictObject({
      tablesNs: z.record(
        z.string(),
        z.array(z.tuple([positiveInteger, durationNs])),
      ),
    }),
  ]),
  log: z.boolean().default(false),
});

export type SimulateConfig = z.infer<typeof SCHEMA>;

export interface Simulation {
  readonly seed: number;
  readonly model: Model;
  /** Names are distinct. */
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
export async function readConfig(
  text: string,
  label: string,
): Promise<Simulation> {
  const config = checkedBy(SCHEMA, parseJson(text, label), label);
  try {
    return await simulation(config);
  } catch (error) {
    // What the parts of the engine say of options that they cannot take; anything else is a failure.
    const isCallers = error instanceof RangeError ||
      error instanceof TypeError || error instanceof SyntaxError ||
      error instanceof UsageError;
    if (!isCallers) throw error;
    throw new UsageError(`${shorten(label)}: ${error.message}`);
  }
}

async function simulation(config: SimulateConfig): Promise<Simulation> {
  const { seed, workers, log } = config;
  const { model, inputs } = "file" in config.model
    ? await fileModel(config.model, config)
    : registryModel(config.model, config);
  const { kind, ...arrivalOptions } = config.workload.arrivals;
  const { requests, deadlineNs } = config.workload;
  const profileAt = profileReader();
  const given = (await Promise.all(config.policies.map(namedPolicy))).map(
    (one) => ({ ...one, options: withProfile(one.options, profileAt) }),
  );
  const names = distinctNames(given);
  const policies = given.map(({ make, options }, i) => ({
    name: names[i],
    build: () => make(options),
  }));
  for (const { name, options } of given) {
    checkDurations(options, `the options of policy "${name}"`);
  }
  for (const { name, build } of policies) {
    const reason = build().supports(model);
    if (reason !== undefined) {
      throw new RangeError(
        `Policy "${name}" cannot batch model "${model.name}": ${reason}`,
      );
    }
  }
  const cost = costOf(config.cost, profileAt);
  const process = arrivals(
    kind,
    kind === "trace" ? withTrace(arrivalOptions) : arrivalOptions,
  );
  checkProfiles(model, given);
  checkRoom({
    model,
    inputs,
    cost,
    seed,
    requests: requests ?? process.requestsMax,
  });
  return {
    seed,
    model,
    policies,
    workers,
    arrivals: workload({
      arrivals: process,
      inputs,
      ...(requests !== undefined && { requests }),
      seed,
    }),
    deadlineNs,
    cost,
    log,
  };
}

interface NamedPolicy {
  readonly name: string;
  readonly options: Record<string, unknown>;
  make(options: Record<string, unknown>): Policy;
}

/** One of the registry, or of a module, by whose file it is called. */
async function namedPolicy(
  given: SimulateConfig["policies"][number],
): Promise<NamedPolicy> {
  const { options } = given;
  if ("name" in given) {
    const { name } = given;
    return { name, options, make: POLICIES[name].build };
  }
  const name = basename(given.module).replace(/\.[cm]?[jt]s$/, "");
  return { name, options, make: await policyModule(given.module) };
}

interface Subject {
  model: Model;
  inputs: InputGenerator;
}

function registryModel(
  { name, options }: Extract<SimulateConfig["model"], { name: string }>,
  { workload }: SimulateConfig,
): Subject {
  const entry = MODELS[name];
  for (const key of Object.keys(options)) {
    if (!entry.options.includes(key)) {
      throw new RangeError(
        `Model "${name}" has no option ${describe(key)}; it takes ${
          entry.options.join(", ")
        }`,
      );
    }
  }
  checkModelSizes(name, options);
  // A simulation has no values: costs and lengths depend on shapes alone.
  const model = entry.build({
    ...options,
    weights: boundedWeights(shapesOnly(), {
      elementsMax: SIMULATED_ELEMENTS_MAX,
      each: true,
    }),
  });
  const { vocabulary = 1, lengths, trees, extraSteps } = workload;
  const inputs = inputGenerator({
    kind: entry.input,
    vocabulary,
    image: model.image,
    frameSize: model.frameSize,
    ...(lengths !== undefined && { lengths: lengths as LengthsSpec }),
    ...(trees !== undefined && { trees: trees as TreesSpec }),
    ...(extraSteps !== undefined && { extraSteps }),
  });
  return { model, inputs };
}

/** Requests to a file are all alike where its sizes are fixed, and drawn where one is free. */
async function fileModel(
  { file, size, sizeMax, shape, constant, cells }: Extract<
    SimulateConfig["model"],
    { file: string }
  >,
  { seed, workload }: SimulateConfig,
): Promise<Subject> {
  const others = ["vocabulary", "lengths", "trees", "extraSteps"] as const;
  const other = others.find((option) => workload[option] !== undefined);
  if (other !== undefined) {
    throw new RangeError(
      `"${other}" of a workload goes with models of the registry, not with files`,
    );
  }
  return await builtFile(
    "shoal simulate",
    file,
    {
      ...{ size, "size-max": sizeMax, shape, constant },
      ...(cells !== undefined && { cells }),
    },
    seed,
    AS_KEYS,
  );
}

/** That every cell has a time where a policy has a profile: asked before anything runs. */
function checkProfiles(
  model: Model,
  policies: readonly NamedPolicy[],
): void {
  for (const { name, options } of policies) {
    const { profile } = options;
    if (profile === undefined) continue;
    const times = profileOf(name, profile as ProfileTable);
    for (const cell of model.cells) times(cell, 1);
  }
}

/** Requests that stand for all of them. */
const SAMPLES = 8;
/** Rows at which a batch's time is taken for the longest. */
const ROWS_LONG = 4096;

interface Room {
  model: Model;
  inputs: InputGenerator;
  cost: CostModel;
  seed: number;
  requests: number | undefined;
}

/**
 * That the requests fit into memory, and their time into integers; judged by a few of them, before the
 * rest is made.
 * @throws RangeError when they do not
 */
function checkRoom(room: Room): void {
  const { inputs, cost, seed, requests = 1 } = room;
  const model: Model = room.model;
  const prng = new Prng(seed).fork("room");
  const growing = growingCells(model.cells).length;
  let tokens = 0;
  let nodes = 0;
  for (let i = 0; i < SAMPLES; i++) {
    const { input, stepsFixed = 0 } = inputs.next(prng);
    const { tokens: given } = input as { tokens?: ArrayLike<number> };
    tokens += given?.length ?? 0;
    // A node per token and cell is the most that any model has.
    if ((given?.length ?? 0) * model.cells.length > NODES_MAX) {
      throw new RangeError(
        `A request of ${
          given!.length
        } tokens to the ${model.cells.length} cells of model "${model.name}" may be more ` +
          `than ${NODES_MAX} cell nodes; make lengths or the model smaller`,
      );
    }
    model.check(input);
    const graph = new CellGraph(model);
    model.unfold(input, graph);
    nodes += graph.nodes.length + growing * stepsFixed;
  }
  const of = (count: number) => Math.round(count / SAMPLES * requests);
  if (of(tokens) > TOKENS_MAX || of(nodes) > NODES_MAX) {
    throw new RangeError(
      `${requests} requests are about ${of(tokens)} tokens and ${
        of(nodes)
      } cell nodes; a simulation has up to ` +
        `${TOKENS_MAX} and ${NODES_MAX}; lower "requests", lengths, or the model's layers`,
    );
  }
  const longestNs = Math.max(
    ...model.cells.map((cell) => cost.latencyNs(cell, ROWS_LONG)),
  );
  if (of(nodes) * longestNs > Number.MAX_SAFE_INTEGER) {
    throw new RangeError(
      `${
        of(nodes)
      } cell nodes of up to ${longestNs} ns may take longer than 2^53 ns (104 days); lower the cost or "requests"`,
    );
  }
}

type ProfileReader = ReturnType<typeof profileReader>;

function costOf(
  cost: SimulateConfig["cost"],
  profileAt: ProfileReader,
): CostModel {
  if ("constantNs" in cost) return constantCost(cost.constantNs);
  return new TableCost(
    "profile" in cost ? profileAt(cost.profile) : cost.tablesNs,
  );
}

/** A policy's options; a profile may be given as a file. */
function withProfile(
  options: Record<string, unknown>,
  profileAt: ProfileReader,
): Record<string, unknown> {
  const { profile } = options;
  return typeof profile === "string"
    ? { ...options, profile: profileAt(profile) }
    : options;
}

/** A trace's options: its text, or the file that has it. */
function withTrace(
  options: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { csv, file } = options;
  if (csv !== undefined) return options;
  if (typeof file === "string") return { ...options, csv: readText(file) };
  throw new RangeError(
    `Arrivals of kind "trace" have a "file", or its text as "csv"; "file" is ${
      describe(file)
    }`,
  );
}

/** Of policies that are there more than once, with other options, each has a number: `graph-1`, `graph-2`. */
function distinctNames(policies: readonly { name: string }[]): string[] {
  return policies.map(({ name }, i) => {
    const isAlike = (other: { name: string }) => other.name === name;
    return policies.filter(isAlike).length === 1
      ? name
      : `${name}-${policies.slice(0, i + 1).filter(isAlike).length}`;
  });
}
