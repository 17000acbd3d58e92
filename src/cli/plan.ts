/** `shoal plan`: which load a machine carries, under which policy and settings, with how many workers. */
import { readOptions } from "./options.ts";
import type { MeasuredLoad } from "./planning/measured.ts";
import { measuredPlan } from "./planning/measured_plan.ts";
import { planText } from "./planning/plan_text.ts";
import {
  bestOf,
  type MachinePlan,
  type Planned,
  planned,
} from "./planning/planned.ts";
import {
  PLAN_FILE_HELP,
  PLAN_HELP,
  PLAN_OPTIONS,
  planSettings,
} from "./planning/plan_settings.ts";
import { formatNumber } from "../report/format.ts";
import { print, stdoutColor } from "./terminal.ts";

const NAME = "shoal plan";

const HELP = `${NAME} PROFILE... --trace FILE.csv --slo-ms MS [options]

Says which load a machine carries, under which policy and settings, with how many workers, and what another target or a
faster machine would give; all of it on virtual time, from times that shoal profile measured, for requests that come as
in a trace. What was not measured is refused. As many requests as the plan is made with are held back, and it is judged
on them.

${PLAN_HELP}
  --check           what this machine's workers really carry of what was held back, and how far off the plan is
  --json            prints everything as JSON

${PLAN_FILE_HELP}`;

export async function plan(args: string[]): Promise<number> {
  const given = readOptions({
    ...{ name: NAME, help: HELP, positionalsMax: Infinity },
    options: { ...PLAN_OPTIONS, check: { type: "boolean", default: false } },
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  const settings = await planSettings(NAME, positionals, values);
  const all = await planned(settings);
  const best = bestOf(all.plans, settings.precision);
  // Before it is checked, which takes as long again and may be given up.
  if (!values.json) print(planText(all, best, settings, stdoutColor()));
  let measured: MeasuredLoad | undefined;
  try {
    if (values.check) {
      const { heldBack } = settings;
      measured = await measuredPlan(NAME, best, heldBack, settings, values);
    }
  } finally {
    if (values.json) print(planJson(all, best, measured));
  }
  if (measured && !values.json) print(checkText(best, measured));
  return 0;
}

function planJson(
  { plans, refused }: Planned,
  best: MachinePlan,
  measured: MeasuredLoad | undefined,
): string {
  return JSON.stringify(
    {
      plans: plans.map((plan) => ({
        ...plan,
        profile: plan.profile.file,
        workers: plan.profile.machine.workers,
      })),
      best: plans.indexOf(best),
      ...(refused.length > 0 && {
        refused: refused.map(({ profile: { file }, why }) => ({
          profile: file,
          why,
        })),
      }),
      ...(measured && { measured }),
    },
    // The times of a profile are in its file.
    (key, value) =>
      key === "profile" && typeof value === "object" ? undefined : value,
  );
}

function checkText(
  { perS, heldBack }: MachinePlan,
  { perS: measuredPerS, obstacle, leastPerS, runs }: MeasuredLoad,
): string {
  if (measuredPerS === undefined) {
    const why = obstacle ??
      `not even ${formatNumber(leastPerS)}/s keeps the target`;
    return `Measured on what was held back: ${why}, in ${runs.length} runs.`;
  }
  const off = (predictedPerS: number) =>
    `${formatNumber(100 * Math.abs(predictedPerS / measuredPerS - 1))} %`;
  return `Measured on what was held back: ${
    formatNumber(measuredPerS)
  }/s, in ${runs.length} runs; the plan is off by ${off(perS)}` +
    (heldBack.perS === undefined
      ? "."
      : `, the simulation of the same requests by ${off(heldBack.perS)}.`);
}
