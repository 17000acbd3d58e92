/** Plans for every machine that there is a profile of, and what else would give. */
import type { CostModel } from "../../cost/cost_model.ts";
import {
  type Carried,
  carriedBy,
  makePlan,
  type Plan,
  type PlanOptions,
} from "../../plan/plan.ts";
import {
  type MachineTimes,
  OutsideProfile,
  ProfiledCost,
} from "../../plan/profiled_cost.ts";
import { progress, UsageError } from "../terminal.ts";
import type { MachineProfile } from "./machine_profile.ts";
import type { PlanSettings } from "./plan_settings.ts";

/** What the plan's choice would carry if one thing were different. */
export interface Otherwise extends Carried {
  readonly what: string;
}

/** A plan for one machine. */
export interface MachinePlan extends Plan {
  readonly profile: MachineProfile;
  readonly otherwise: readonly Otherwise[];
}

/** Factors of the target that are asked for. */
const TARGETS = [0.5, 2];

/** A profile that there is no plan for. */
export interface Refused {
  readonly profile: MachineProfile;
  readonly why: string;
}

/** What came of several profiles, each in their order. */
export interface Planned {
  /** At least one. */
  readonly plans: readonly MachinePlan[];
  readonly refused: readonly Refused[];
}

/** @throws UsageError when no profile can be planned with: its target cannot be kept, or something was not measured */
export async function planned(settings: PlanSettings): Promise<Planned> {
  const plans: MachinePlan[] = [];
  const refused: Refused[] = [];
  for (const profile of settings.profiles) {
    try {
      plans.push(await plannedFor(profile, settings));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const what = error instanceof OutsideProfile ? "not measured: " : "";
      refused.push({ profile, why: `${what}${error.message}` });
    }
  }
  if (plans.length > 0) return { plans, refused };
  throw new UsageError(
    refused.map(({ profile: { file }, why }) => `${file}: ${why}`).join("; "),
  );
}

async function plannedFor(
  profile: MachineProfile,
  settings: PlanSettings,
): Promise<MachinePlan> {
  const { machine, times: { tablesNs } } = profile;
  const options: PlanOptions = {
    ...settings,
    machine,
    profile: tablesNs,
    tried: (policy) => progress(`${profile.file}: ${policy}`),
  };
  const plan = await makePlan(options);
  const { choice, perS } = plan;
  const with_ = async (
    what: string,
    other: Partial<PlanOptions>,
  ): Promise<Otherwise> => ({
    what,
    ...await carriedBy(choice, perS, { ...options, ...other }),
  });
  const { target } = settings;
  const otherwise: Otherwise[] = [];
  for (const factor of TARGETS) {
    const sloNs = Math.round(factor * target.sloNs);
    otherwise.push(
      await with_(`target ${sloNs / 1e6} ms`, { target: { ...target, sloNs } }),
    );
  }
  otherwise.push(
    await with_("a machine twice as fast", {
      machine: { ...machine, cost: twiceAsFast(profile.times) },
    }),
  );
  return { profile, ...plan, otherwise };
}

/** Cells take half as long; what is between two tasks is the host's. */
function twiceAsFast({ tablesNs, ...others }: MachineTimes): CostModel {
  const halved = Object.entries(tablesNs).map((
    [cell, points],
  ) => [cell, points.map(([rows, ns]) => [rows, ns / 2] as const)]);
  return new ProfiledCost({
    ...others,
    tablesNs: Object.fromEntries(halved),
  });
}

/** The plan that carries most; of those within the precision of it, the one with the fewest workers. */
export function bestOf(
  plans: readonly MachinePlan[],
  precision: number,
): MachinePlan {
  const most = Math.max(...plans.map(({ perS }) => perS));
  const level = plans.filter(({ perS }) => perS * (1 + precision) >= most);
  return level.reduce((best, plan) =>
    plan.profile.machine.workers < best.profile.machine.workers ? plan : best
  );
}
