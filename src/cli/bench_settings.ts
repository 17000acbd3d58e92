/** What `shoal bench` is asked to do. */
import { describe } from "../base/describe.ts";
import { MODELS, SIZE_CLASSES, type SizeClass } from "../models/registry.ts";
import { POLICIES } from "../policy/registry.ts";
import { wrap } from "../report/wrap.ts";
import { DEFAULT_MODELS } from "./bench_models.ts";
import { isFile } from "./onnx_built.ts";
import {
  FILE_OPTIONS,
  type FileOptions,
  ONNX_HELP,
  ONNX_OPTIONS,
} from "./onnx_file.ts";
import { INPUT_OPTION } from "./onnx_inputs.ts";
import {
  BATCH_MAX,
  BENCH_REQUESTS_MAX,
  HIDDEN_MAX,
  RATE_PER_S_MAX,
  threadsMax,
} from "./limits.ts";
import {
  integerOption,
  integersOption,
  namesOption,
  oneName,
  readOptions,
  see,
  seedOption,
} from "./options.ts";
import { UsageError } from "./terminal.ts";

/** What the recurrent models are usually compared under; "all" adds the rest of the registry. */
const DEFAULT_POLICIES = "serial,graph,bucketed,merged,cellular,late,auto";

/** Rounds of which anybody would wait for the end. */
const ROUNDS_MAX = 99;

const INDENT = " ".repeat(20);
const listed = (option: string, names: readonly string[]) =>
  `  ${wrap(`${option.padEnd(18)}${names.join(", ")}`, INDENT)}`;

/** What `shoal bench` and `shoal profile` take besides where the model is a file. */
export const BENCH_FILE_HELP =
  `  --input NAME=FILE what requests bring as an input, one of its rows each; .npy, .pb (TensorProto) or .json
${ONNX_HELP}`;

const HELP = `shoal bench [MODEL.onnx] [options]

Finds the capacity of this machine, then runs every policy at low, medium and high load, or at --rate: models of the
registry, or one of an ONNX file.

${listed("--model NAMES", Object.keys(MODELS))}; comma-separated
                    (default: ${DEFAULT_MODELS}; "all" for every one, the default of
                    --policy all)
${listed("--policy NAMES", Object.keys(POLICIES))}
                    (default: ${DEFAULT_POLICIES}; "all" for every one)
  --rate N,N,...    requests per second, instead of shares of the best policy's peak
  --size CLASS      how large models of the registry are: ${
  SIZE_CLASSES.join(", ")
} (default: the class of
                    this machine, small, medium or large; nearly all are medium)
  --hidden N        hidden size of the models that have one, instead of the class's
  --seed N          seed of weights, inputs and arrivals (default 1)
  --requests N      requests per point (default 1000; 500 with --quick or --full)
  --rounds N        times that every peak and point is measured, the policies in turns: the round in the middle counts,
                    by p90, and all of them for what is beyond noise (default 1)
  --workers N       worker threads (default 1: the second core schedules)
  --batch N         maximum batch size of every policy that has one (default 64)
  --quick           fewer requests, the medium load only
  --full            --size full, the papers' sizes: hidden 1024, vocabulary 30,000; images of 224
                    and 572 pixels a side
  --out DIR         where traces go and, after every model, the report (default shoal-bench)
  --json            the whole result as JSON on stdout

Of a file, whose requests are drawn as its inputs say (ids below the size of the table that they pick from):
${BENCH_FILE_HELP}`;

/** An ONNX file with the options that it takes. */
export interface MeasuredFile extends FileOptions {
  readonly path: string;
  readonly input: readonly string[];
}

export interface BenchSettings {
  /** Names in the registry, in its order; none where there is a file. */
  models: string[];
  file: MeasuredFile | undefined;
  policies: string[];
  /** Undefined: this machine's. */
  size: SizeClass | undefined;
  hidden: number | undefined;
  seed: number;
  requests: number;
  rounds: number;
  /** Requests per second of the points; undefined: shares of a peak. */
  ratesPerS: number[] | undefined;
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
    positionalsMax: 1,
    options: {
      ...ONNX_OPTIONS,
      ...INPUT_OPTION,
      model: { type: "string" },
      policy: { type: "string" },
      seed: { type: "string" },
      requests: { type: "string" },
      rounds: { type: "string" },
      workers: { type: "string" },
      batch: { type: "string" },
      rate: { type: "string" },
      hidden: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      out: { type: "string", default: "shoal-bench" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return undefined;
  const { values, positionals: [path] } = given;
  const file = path === undefined
    ? undefined
    : measuredFile("shoal bench", path, values);
  const others = ["model", "hidden", "full"] as const;
  const other = others.find((option) => values[option]);
  if (file !== undefined && other !== undefined) {
    throw new UsageError(
      `--${other} is for models of the registry, not for files${
        see("shoal bench")
      }`,
    );
  }
  if (file === undefined) refuseFileOptions("shoal bench", values);
  const size = file
    ? undefined
    : sizeOption(values.size, values.full ? "full" : undefined);
  if (values.full && size !== "full") {
    throw new UsageError(`--full is --size full, got --size ${size} as well`);
  }
  const chosen = file ? [] : namesOption(
    "model",
    values.model ??
      (values.policy === "all" ? "all" : DEFAULT_MODELS.join()),
    Object.keys(MODELS),
  );
  const models = Object.keys(MODELS).filter((name) => chosen.includes(name));
  return {
    models,
    file,
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
    rounds: integerOption("rounds", values.rounds, 1, {
      min: 1,
      max: ROUNDS_MAX,
    }),
    ratesPerS: values.rate === undefined
      ? undefined
      // One load twice would be compared with itself.
      : [
        ...new Set(
          integersOption("rate", values.rate, { min: 1, max: RATE_PER_S_MAX }),
        ),
      ],
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

/** The file of a command with its options. @throws UsageError when it is called otherwise */
export function measuredFile(
  command: string,
  path: string,
  {
    size = [],
    "size-max": sizeMax = [],
    shape = [],
    constant = [],
    cells,
    input = [],
  }: FileOptions & {
    readonly input?: readonly string[];
  },
): MeasuredFile {
  if (!isFile(path)) {
    throw new UsageError(
      `${describe(path)} is no file called *.onnx${see(command)}`,
    );
  }
  return {
    ...{ path, size, "size-max": sizeMax, shape, constant, input },
    ...(cells !== undefined && { cells }),
  };
}

/**
 * @param isClass whether `--size` is a class of sizes of such a model
 * @throws UsageError when an option is given that only a file takes
 */
export function refuseFileOptions(
  command: string,
  values: FileOptions & { readonly input?: readonly string[] },
  isClass = true,
): void {
  for (const option of [...FILE_OPTIONS, "input"] as const) {
    if (option === "size" && isClass) continue;
    if (values[option] === undefined) continue;
    throw new UsageError(`--${option} goes with a file${see(command)}`);
  }
}

/** @throws UsageError unless it is one class of sizes, or nothing is given */
export function sizeOption<Otherwise extends SizeClass | undefined>(
  texts: readonly string[] | undefined,
  otherwise: Otherwise,
): SizeClass | Otherwise {
  if (texts === undefined) return otherwise;
  const [size, another] = texts;
  if (another !== undefined) {
    throw new UsageError("--size of models of the registry is given once");
  }
  return oneName("--size", size, SIZE_CLASSES);
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
