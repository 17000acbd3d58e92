/** What `shoal plan` and `shoal tune` are asked, checked. */
import { needsProfile } from "../../plan/plan.ts";
import { partsOf, type RecordedPart } from "../../plan/recorded_part.ts";
import { POLICIES } from "../../policy/registry.ts";
import { Prng } from "../../base/prng.ts";
import type { Model } from "../../graph/model.ts";
import type { Target } from "../../load/result.ts";
import { MODELS } from "../../models/registry.ts";
import type { InputGenerator } from "../../workload/input_generator.ts";
import { lengthSampler } from "../../workload/lengths.ts";
import { traceSeconds } from "../../workload/trace.ts";
import { inputsOf, shapedModel } from "../bench_models.ts";
import { refuseFileOptions } from "../bench_settings.ts";
import { readText } from "../files.ts";
import { builtFile, isFile } from "../onnx_built.ts";
import { type FileOptions, ONNX_HELP, ONNX_OPTIONS } from "../onnx_file.ts";
import {
  integerOption,
  namesOption,
  numberOption,
  see,
  seedOption,
  sloNsOption,
} from "../options.ts";
import { UsageError } from "../terminal.ts";
import { type MachineProfile, machineProfile } from "./machine_profile.ts";

/** Options of both commands. */
export const PLAN_OPTIONS = {
  ...ONNX_OPTIONS,
  trace: { type: "string" },
  "slo-ms": { type: "string" },
  percentile: { type: "string" },
  policy: { type: "string" },
  lengths: { type: "string" },
  requests: { type: "string" },
  precision: { type: "string" },
  seed: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** Lines of help about them, but for those of files. */
export const PLAN_HELP =
  `  PROFILE           a file of shoal profile --out; more than one: the same model with more workers (--workers of
                    shoal profile), or on other machines
  --trace FILE.csv  t_seconds,input_tokens,output_tokens and a line for each request, or t_seconds,count and one for
                    each interval; the times count
  --slo-ms MS       within which requests are to be done
  --percentile P    so many of a hundred (default 99)
  --policy NAMES    that are tried (default: all; of a file those that need no profile)
  --lengths CORPUS  lengths of requests (default: the model's, as shoal profile has them)
  --requests N      of each part of the trace, at most (default 2000): one to plan with, the next one held back
  --precision F     rates are told apart to this share (default 0.02)
  --seed N          of inputs (default 1)`;

/** Lines of help about those of files. */
export const PLAN_FILE_HELP =
  `Where the profiles are of an ONNX file, what shoal profile was told of it:
${ONNX_HELP}`;

/** As they are given. */
export interface PlanValues extends FileOptions {
  readonly trace?: string;
  readonly "slo-ms"?: string;
  readonly percentile?: string;
  readonly policy?: string;
  readonly lengths?: string;
  readonly requests?: string;
  readonly precision?: string;
  readonly seed?: string;
}

/** What is planned. */
export interface PlanSettings {
  readonly profiles: readonly MachineProfile[];
  readonly model: Model;
  readonly inputs: InputGenerator;
  readonly trace: string;
  readonly made: RecordedPart;
  readonly heldBack: RecordedPart;
  readonly target: Target;
  readonly policies: readonly string[];
  readonly precision: number;
  readonly seed: number;
}

/** @throws UsageError saying what is missing or wrong */
export async function planSettings(
  name: string,
  files: readonly string[],
  values: PlanValues,
): Promise<PlanSettings> {
  const { trace, "slo-ms": slo } = values;
  if (files.length === 0) {
    throw new UsageError(`PROFILE is missing${see(name)}`);
  }
  if (trace === undefined || slo === undefined) {
    throw new UsageError(
      `--${trace === undefined ? "trace" : "slo-ms"} is missing${see(name)}`,
    );
  }
  const profiles = files.map((file) => machineProfile(file, values.lengths));
  const [first, ...others] = profiles;
  const other = others.find(({ model, options }) =>
    model !== first.model ||
    JSON.stringify(options) !== JSON.stringify(first.options)
  );
  if (other !== undefined) {
    throw new UsageError(
      `${other.file} is of another model than ${first.file}`,
    );
  }
  const seed = seedOption(values.seed);
  const { model, inputs } = await modelOf(name, first, values, seed);
  const requests = integerOption("requests", values.requests, 2000, {
    min: 100,
    max: 1_000_000,
  });
  const parts = usage(() =>
    partsOf(
      traceSeconds(readText(trace), trace),
      requests,
      inputs,
      new Prng(seed),
    )
  );
  const sloNs = sloNsOption(slo);
  const share = numberOption("percentile", values.percentile, 99, 100) / 100;
  const free = Object.keys(POLICIES).filter((policy) =>
    !isFile(first.model) || !needsProfile(policy)
  );
  return {
    ...{ profiles, model, inputs, trace, ...parts, seed },
    target: { sloNs, share },
    policies: autoFirst(
      values.policy === undefined
        ? free
        : namesOption("policy", values.policy, Object.keys(POLICIES)),
    ),
    precision: numberOption("precision", values.precision, 0.02, 1),
  };
}

/** Of those that are level the first is taken, and it asks for the least. */
function autoFirst(names: readonly string[]): string[] {
  return [
    ...names.filter((name) => name === "auto"),
    ...names.filter((name) => name !== "auto"),
  ];
}

async function modelOf(
  command: string,
  { model: name, options, file }: MachineProfile,
  values: PlanValues,
  seed: number,
): Promise<{ model: Model; inputs: InputGenerator }> {
  const { lengths } = values;
  if (isFile(name)) {
    if (lengths !== undefined) {
      throw new UsageError(
        `--lengths is for models of the registry, not for files${see(command)}`,
      );
    }
    return await builtFile(command, name, values, seed);
  }
  if (!Object.hasOwn(MODELS, name)) {
    throw new UsageError(`${file}: there is no model "${name}"`);
  }
  // What size it is of the profile says.
  refuseFileOptions(command, values, false);
  return usage(() => {
    if (lengths !== undefined) lengthSampler(lengths);
    const model = shapedModel(name, options);
    return { model, inputs: inputsOf(name, options, model, lengths) };
  });
}

/** What the caller's mistake throws, as such. */
function usage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const isTheirs = error instanceof RangeError ||
      error instanceof TypeError || error instanceof SyntaxError;
    throw isTheirs ? new UsageError(error.message) : error;
  }
}
