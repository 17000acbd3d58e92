/** What `shoal bench` is asked to do. */
import { POLICIES } from "../policy/registry.ts";
import {
  BENCH_MODELS,
  type BenchModel,
  DEFAULT_MODELS,
} from "./bench_models.ts";
import {
  BATCH_MAX,
  BENCH_REQUESTS_MAX,
  HIDDEN_MAX,
  threadsMax,
} from "./limits.ts";
import {
  integerOption,
  namesOption,
  readOptions,
  seedOption,
} from "./options.ts";

/** Requests per second that model sizes aim at: a point of 1,000 requests then takes seconds. */
export const TARGET_PER_S = 1000;

/** What the recurrent models are usually compared under; "all" adds the rest of the registry. */
const DEFAULT_POLICIES = "serial,graph,bucketed,merged,cellular,late";

const HELP = `shoal bench [options]

Finds the capacity of this machine, then runs every policy at low, medium and high load.

  --model NAMES     ${
  BENCH_MODELS.map(({ name }) => name).join(", ")
}; comma-separated
                    (default: ${DEFAULT_MODELS}; "all" for every one, the default of
                    --policy all)
  --policy NAMES    ${Object.keys(POLICIES).join(", ")} (default:
                    ${DEFAULT_POLICIES}; "all" for every one)
  --seed N          seed of weights, inputs and arrivals (default 1)
  --requests N      requests per point (default 1000; 500 with --quick or --full)
  --workers N       worker threads (default 1: the second core schedules)
  --batch N         maximum batch size of every policy (default 64)
  --hidden N        hidden size (default: as this machine allows about ${TARGET_PER_S} requests/s)
  --quick           fewer requests, the medium load only
  --full            the papers' sizes: hidden 1024, vocabulary 30,000; images of 224 and 572 pixels a side
  --out DIR         where report and traces go (default build/bench)
  --json            the whole result as JSON on stdout`;

export interface BenchSettings {
  models: BenchModel[];
  policies: string[];
  seed: number;
  requests: number;
  workers: number;
  batchSizeMax: number;
  hidden: number | undefined;
  quick: boolean;
  full: boolean;
  out: string;
  json: boolean;
}

/** @returns undefined when help or version was asked for */
export function benchSettings(args: string[]): BenchSettings | undefined {
  const given = readOptions({
    name: "shoal bench",
    help: HELP,
    options: {
      model: { type: "string" },
      policy: { type: "string" },
      seed: { type: "string" },
      requests: { type: "string" },
      workers: { type: "string" },
      batch: { type: "string" },
      hidden: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      out: { type: "string", default: "build/bench" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return undefined;
  const { values } = given;
  const chosen = namesOption(
    "model",
    values.model ??
      (values.policy === "all" ? "all" : DEFAULT_MODELS.join()),
    BENCH_MODELS.map(({ name }) => name),
  );
  return {
    models: BENCH_MODELS.filter(({ name }) => chosen.includes(name)),
    policies: namesOption(
      "policy",
      values.policy ?? DEFAULT_POLICIES,
      Object.keys(POLICIES),
    ),
    seed: seedOption(values.seed),
    requests: integerOption(
      "requests",
      values.requests,
      values.quick || values.full ? 500 : 1000,
      { min: 1, max: BENCH_REQUESTS_MAX },
    ),
    workers: integerOption("workers", values.workers, 1, {
      min: 1,
      max: threadsMax(),
    }),
    batchSizeMax: integerOption("batch", values.batch, 64, {
      min: 1,
      max: BATCH_MAX,
    }),
    hidden: values.hidden === undefined
      ? undefined
      : hiddenOption(values.hidden, 0),
    quick: values.quick,
    full: values.full,
    out: values.out,
    json: values.json,
  };
}

/** @throws UsageError unless it is a hidden size that is measured */
export function hiddenOption(
  text: string | undefined,
  otherwise: number,
): number {
  return integerOption("hidden", text, otherwise, { min: 1, max: HIDDEN_MAX });
}
