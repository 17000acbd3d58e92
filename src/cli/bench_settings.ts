/** What `shoal bench` is asked to do. */
import { MODELS, SIZE_CLASSES, type SizeClass } from "../models/registry.ts";
import { POLICIES } from "../policy/registry.ts";
import { wrap } from "../report/wrap.ts";
import { DEFAULT_MODELS } from "./bench_models.ts";
import {
  BATCH_MAX,
  BENCH_REQUESTS_MAX,
  HIDDEN_MAX,
  threadsMax,
} from "./limits.ts";
import {
  integerOption,
  namesOption,
  oneName,
  readOptions,
  seedOption,
} from "./options.ts";
import { UsageError } from "./terminal.ts";

/** What the recurrent models are usually compared under; "all" adds the rest of the registry. */
const DEFAULT_POLICIES = "serial,graph,bucketed,merged,cellular,late";

const INDENT = " ".repeat(20);
const listed = (option: string, names: readonly string[]) =>
  wrap(`  ${option.padEnd(18)}${names.join(", ")}`, INDENT);

const HELP = `shoal bench [options]

Finds the capacity of this machine, then runs every policy at low, medium and high load.

${listed("--model NAMES", Object.keys(MODELS))}; comma-separated
                    (default: ${DEFAULT_MODELS}; "all" for every one, the default of
                    --policy all)
${listed("--policy NAMES", Object.keys(POLICIES))}
                    (default: ${DEFAULT_POLICIES}; "all" for every one)
  --size CLASS      how large the models are: ${
  SIZE_CLASSES.join(", ")
} (default: the class of
                    this machine, small, medium or large; nearly all are medium)
  --hidden N        hidden size of the models that have one, instead of the class's
  --seed N          seed of weights, inputs and arrivals (default 1)
  --requests N      requests per point (default 1000; 500 with --quick or --full)
  --workers N       worker threads (default 1: the second core schedules)
  --batch N         maximum batch size of every policy that has one (default 64)
  --quick           fewer requests, the medium load only
  --full            --size full, the papers' sizes: hidden 1024, vocabulary 30,000; images of 224
                    and 572 pixels a side
  --out DIR         where report and traces go (default shoal-bench)
  --json            the whole result as JSON on stdout`;

export interface BenchSettings {
  /** Names in the registry, in its order. */
  models: string[];
  policies: string[];
  /** Undefined: this machine's. */
  size: SizeClass | undefined;
  hidden: number | undefined;
  seed: number;
  requests: number;
  workers: number;
  batchSizeMax: number;
  quick: boolean;
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
      size: { type: "string" },
      hidden: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      out: { type: "string", default: "shoal-bench" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return undefined;
  const { values } = given;
  const size = sizeOption(values.size, values.full ? "full" : undefined);
  if (values.full && size !== "full") {
    throw new UsageError(`--full is --size full, got --size ${size} as well`);
  }
  const chosen = namesOption(
    "model",
    values.model ??
      (values.policy === "all" ? "all" : DEFAULT_MODELS.join()),
    Object.keys(MODELS),
  );
  const models = Object.keys(MODELS).filter((name) => chosen.includes(name));
  return {
    models,
    size,
    hidden: hiddenOption(values.hidden, models),
    policies: namesOption(
      "policy",
      values.policy ?? DEFAULT_POLICIES,
      Object.keys(POLICIES),
    ),
    seed: seedOption(values.seed),
    requests: integerOption(
      "requests",
      values.requests,
      values.quick || size === "full" ? 500 : 1000,
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
    quick: values.quick,
    out: values.out,
    json: values.json,
  };
}

/** @throws UsageError unless it is a class of sizes */
export function sizeOption<Otherwise extends SizeClass | undefined>(
  text: string | undefined,
  otherwise: Otherwise,
): SizeClass | Otherwise {
  return text === undefined ? otherwise : oneName("--size", text, SIZE_CLASSES);
}

/** @throws UsageError unless it is a hidden size, and one of the models has one */
export function hiddenOption(
  text: string | undefined,
  models: readonly string[],
): number | undefined {
  if (text === undefined) return undefined;
  const hidden = integerOption("hidden", text, 0, { min: 1, max: HIDDEN_MAX });
  if (!models.some(hasHidden)) {
    throw new UsageError(
      `--hidden is of no use: ${models.join(", ")} ${
        models.length === 1 ? "has" : "have"
      } no hidden size`,
    );
  }
  return hidden;
}

/** Whether a model of the registry has a hidden size. */
export function hasHidden(model: string): boolean {
  return MODELS[model].options.includes("hidden");
}
