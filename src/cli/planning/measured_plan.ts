import type { RecordedPart } from "../../plan/recorded_part.ts";
import { buildModel } from "../bench_models.ts";
import { withExecutor } from "../bench_run.ts";
import { threadsMax } from "../limits.ts";
import { builtFile, isFile } from "../onnx_built.ts";
import type { FileOptions } from "../onnx_file.ts";
import { progress, UsageError } from "../terminal.ts";
import { type MeasuredLoad, measuredLoad } from "./measured.ts";
import type { MachinePlan } from "./planned.ts";
import type { PlanSettings } from "./plan_settings.ts";

/** Requests that kernels are optimised with before anything counts. */
const WARM_UP = 200;

/** Where a plan is near, half of its rate would only be the longest of all runs. */
const STEP = 1.25;

/**
 * What this machine's workers carry of a part of a trace under a plan's choice.
 * @throws UsageError when the plan is for more of them than are started here
 */
export async function measuredPlan(
  command: string,
  { profile: { model: name, options, machine }, choice, perS }: MachinePlan,
  part: RecordedPart,
  { target, seed, precision }: PlanSettings,
  file: FileOptions,
): Promise<MeasuredLoad> {
  const { workers } = machine;
  if (workers > threadsMax()) {
    throw new UsageError(
      `the plan is for ${workers} workers, and on this machine ${threadsMax()} are the most; check it where its profile was made`,
    );
  }
  const built = isFile(name)
    ? await builtFile(command, name, file, seed)
    : buildModel(name, "medium", seed, options);
  const sizes = { workers, requests: part.seconds.length };
  return await withExecutor(built, sizes, async (executor) => {
    const subject = { executor, model: built.model, choice, target };
    progress(`${name}: warming up`);
    const first = { ...part, seconds: part.seconds.slice(0, WARM_UP) };
    // So coarse that it is a trial or two.
    await measuredLoad({ ...subject, part: first }, {
      ...{ fromPerS: perS / 2, precision: 16, areWhole: true },
    });
    return await measuredLoad({ ...subject, part }, {
      ...{ fromPerS: perS, precision: 2 * precision, step: STEP },
    });
  });
}
