/** What `shoal bench` is asked to do. */
import { parseArgs } from "node:util";
import { POLICIES } from "../policy/registry.ts";
import {
  BENCH_MODELS,
  type BenchModel,
  DEFAULT_MODELS,
} from "./bench_models.ts";
import { integerOption, namesOption, UsageError } from "./terminal.ts";

/** Requests per second that model sizes aim at: a point of 1,000 requests then takes seconds. */
export const TARGET_PER_S = 1000;

/** What the recurrent models are usually compared under; "all" adds the rest of the registry. */
const DEFAULT_POLICIES = "serial,graph,bucketed,merged,cellular,late";

export const HELP = `shoal bench [options]

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

/** @returns undefined when help is asked for */
export function benchSettings(args: string[]): BenchSettings | undefined {
  const { values } = parseArgs({
    args,
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
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const chosen = namesOption(
    "model",
    values.model ??
      (values.policy === "all" ? "all" : DEFAULT_MODELS.join()),
    BENCH_MODELS.map(({ name }) => name),
  );
  const settings = {
    models: BENCH_MODELS.filter(({ name }) => chosen.includes(name)),
    policies: namesOption(
      "policy",
      values.policy ?? DEFAULT_POLICIES,
      Object.keys(POLICIES),
    ),
    seed: integerOption("seed", values.seed, 1),
    requests: integerOption(
      "requests",
      values.requests,
      values.quick ? 500 : values.full ? 500 : 1000,
    ),
    workers: integerOption("workers", values.workers, 1),
    batchSizeMax: integerOption("batch", values.batch, 64),
    hidden: values.hidden === undefined
      ? undefined
      : integerOption("hidden", values.hidden, 0),
    quick: values.quick,
    full: values.full,
    out: values.out,
    json: values.json,
  };
  for (
    const [option, value] of [
      ["requests", settings.requests],
      ["workers", settings.workers],
      ["batch", settings.batchSizeMax],
      ["hidden", settings.hidden],
    ] as const
  ) {
    if (value === 0) throw new UsageError(`--${option} is at least 1`);
  }
  return settings;
}
