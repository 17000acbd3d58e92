/** Which load a machine carries, under which policy: found by simulating a part of a trace, judged on another. */
import { ascending, mean, percentile } from "../base/statistics.ts";
import { NS_PER_S } from "../base/units.ts";
import type { Model } from "../graph/model.ts";
import type { Target } from "../load/result.ts";
import { serial } from "../policy/baselines/serial.ts";
import type { Policy } from "../policy/policy.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { POLICIES } from "../policy/registry.ts";
import { formatMs, formatPercentile } from "../report/format.ts";
import { carriedPerS, type IN_RUNS, REACH, startsOf } from "./carried.ts";
import { crowded } from "./crowded.ts";
import { tooFew } from "./lasting.ts";
import {
  policyOptionsOf,
  type Setting,
  settingsOf,
} from "./policy_settings.ts";
import { OutsideProfile } from "./profiled_cost.ts";
import { arrivalsAt, type RecordedPart } from "./recorded_part.ts";
import { type Machine, simulatedTrial } from "./simulated_trial.ts";

/** What is planned. */
export interface PlanOptions {
  readonly model: Model;
  readonly machine: Machine;
  /** What policies are told that decide by time. */
  readonly profile: ProfileTable;
  readonly made: RecordedPart;
  readonly heldBack: RecordedPart;
  readonly target: Target;
  /** Names; of those that are level the first is taken. */
  readonly policies: readonly string[];
  /** Rates are told apart to this share. */
  readonly precision: number;
  /** Hears of every policy that is tried. */
  readonly tried?: (policy: string) => void;
}

/** A policy with options, as the registry takes them. */
export interface Choice {
  readonly policy: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** How a policy did. */
export interface Contender extends Choice {
  /** What it carries; of one that is not the best, less than the best before it. */
  readonly perS?: number;
  /** Why it takes no part. */
  readonly obstacle?: string;
}

/** What a choice carries of a part of a trace. */
export interface Carried {
  /** Requests per second; undefined: the target is not kept at any rate, or it cannot be told. */
  readonly perS: number | undefined;
  /** Why it cannot be told. */
  readonly obstacle?: string;
}

/** What came of it. */
export interface Plan {
  /** Mean time of a request alone. */
  readonly aloneNs: number;
  readonly choice: Choice;
  /** What it carries of the part that the plan was made with, in half of what was recorded of the machine. */
  readonly perS: number;
  /** What it carries in eight of nine places of what was recorded, and in two: less, and more. */
  readonly rangePerS: readonly [number, number];
  /** The plan on the part that was held back: in time at that rate, and what it carries of it. */
  readonly heldBack: Carried & { readonly inTime: number };
  readonly contenders: readonly Contender[];
}

/** Requests that times alone are measured with. */
const ALONE = 64;
/** Rows of the largest batches, as everywhere by default. */
const ROWS_MAX = 64;
/** What is tried of policies that have no other settings. */
const LIMITS: readonly Setting[] = [{ batchSizeMax: 64 }, { batchSizeMax: 8 }];

/** Whether a policy has to be told times; `auto` finds them out. */
export function needsProfile(policy: string): boolean {
  return "profile" in POLICIES[policy].options && policy !== "auto";
}

/** Options of each setting of a policy that a search tries, with batches as large as were measured. */
function optionsOf(
  policy: string,
  given: {
    profile: ProfileTable;
    decTimesteps: number;
    aloneNs: number;
    targetNs: number;
  },
): Record<string, unknown>[] {
  const { options, limited } = POLICIES[policy];
  const rowsMax = Math.min(
    ROWS_MAX,
    ...Object.values(given.profile).map((points) =>
      points[points.length - 1][0]
    ),
  );
  const isLimited = "batchSizeMax" in options;
  const all = settingsOf(policy);
  const settings = (all.length > 1 || !isLimited ? all : LIMITS).map((
    setting: Setting,
  ) => {
    const { batchSizeMax = ROWS_MAX } = setting;
    return {
      ...setting,
      ...(isLimited
        ? { batchSizeMax: Math.min(batchSizeMax as number, rowsMax) }
        : { ...limited?.(rowsMax), ...setting }),
    };
  });
  const distinct = new Map(settings.map((one) => [JSON.stringify(one), one]));
  return [...distinct.values()].map((setting) => {
    const { profile, ...rest } = policyOptionsOf(policy, setting, given);
    return { ...rest, ...(needsProfile(policy) && { profile }) };
  });
}

/**
 * Makes a plan.
 * @throws OutsideProfile when requests alone are outside of what was measured
 * @throws RangeError when the target cannot be kept by anybody at any rate, or the requests are too few to tell
 */
export async function makePlan(options: PlanOptions): Promise<Plan> {
  const { model, machine, profile, made, heldBack, target, precision } =
    options;
  const aloneNs = mean(timesAlone(options, machine, [0]));
  const steps = made.inputs.map(({ stepsFixed = 1 }) => stepsFixed);
  const given = {
    profile,
    decTimesteps: percentile(ascending(steps), 0.9),
    ...{ aloneNs, targetNs: target.sloNs },
  };
  const subject = { model, machine, part: made, target };
  const contenders: Contender[] = [];
  let best: { choice: Choice; perS: number } | undefined;
  for (const policy of options.policies) {
    options.tried?.(policy);
    for (const own of optionsOf(policy, given)) {
      const choice = { policy, options: own };
      const build = () => POLICIES[policy].build({ ...own });
      const obstacle = build().supports(model);
      if (obstacle !== undefined) {
        contenders.push({ ...choice, obstacle });
        break;
      }
      try {
        const perS = await carriedPerS(
          subject,
          build,
          best
            // Whoever is ahead has to be so by what can be told apart.
            ? {
              fromPerS: best.perS * (1 + precision),
              leastPerS: best.perS * (1 + precision),
              precision,
            }
            : { fromPerS: firstPerS(machine, aloneNs), precision },
        );
        contenders.push({ ...choice, ...(perS !== undefined && { perS }) });
        if (perS !== undefined) best = { choice, perS };
      } catch (error) {
        if (!(error instanceof OutsideProfile)) throw error;
        contenders.push({ ...choice, obstacle: error.message });
      }
    }
  }
  if (best === undefined) {
    throw new RangeError(nobodyKeeps(contenders, options, aloneNs));
  }
  const obstacle = tooFew(made, best.perS, target);
  if (obstacle !== undefined) throw new RangeError(obstacle);
  return {
    aloneNs,
    ...best,
    rangePerS: await rangeOf(best, options),
    heldBack: await judged(best, options, heldBack),
    contenders,
  };
}

/** What a choice would carry elsewhere: with another target, on another machine. */
export async function carriedBy(
  { policy, options: own }: Choice,
  fromPerS: number,
  options: PlanOptions,
  inRuns: keyof typeof IN_RUNS = "half",
): Promise<Carried> {
  const { model, machine, made, target, precision } = options;
  const build = (): Policy =>
    POLICIES[policy].build({
      ...own,
      ...("slaNs" in POLICIES[policy].options && { slaNs: target.sloNs }),
    });
  const subject = { model, machine, part: made, target };
  const perS = await carriedPerS(subject, build, {
    ...{ fromPerS, precision, inRuns },
  });
  const obstacle = perS === undefined ? undefined : tooFew(made, perS, target);
  return obstacle === undefined ? { perS } : { perS: undefined, obstacle };
}

/** What a machine that is now faster and now slower carries nearly always, and seldom. */
async function rangeOf(
  { choice, perS }: { choice: Choice; perS: number },
  options: PlanOptions,
): Promise<[number, number]> {
  if (options.machine.recorded === undefined) return [perS, perS];
  const low = await carriedBy(choice, perS, options, "mostly");
  const high = await carriedBy(choice, perS, options, "seldom");
  // Which of two rates is carried is not always the lower one.
  return [
    Math.min(perS, low.perS ?? 0),
    Math.max(perS, high.perS ?? perS),
  ];
}

/** A plan on requests that it was not made with. */
async function judged(
  { choice, perS }: { choice: Choice; perS: number },
  options: PlanOptions,
  heldBack: RecordedPart,
): Promise<Plan["heldBack"]> {
  const { model, machine, target } = options;
  const arrivals = arrivalsAt(heldBack, model, perS);
  const inTime = mean(
    startsOf(machine).map((from) =>
      simulatedTrial({
        ...{ machine, arrivals, target, from },
        policy: POLICIES[choice.policy].build({ ...choice.options }),
      }, true).inTime
    ),
  );
  return {
    inTime: inTime / arrivals.length,
    ...await carriedBy(choice, perS, { ...options, made: heldBack }),
  };
}

/** Where a search begins that knows of no plan. */
function firstPerS({ workers }: Machine, aloneNs: number): number {
  return workers * NS_PER_S / aloneNs;
}

/** Times of requests alone, which begin at a place, or at several, of what was recorded of a machine. */
function timesAlone(
  { model, made }: PlanOptions,
  machine: Machine,
  starts: readonly number[],
): number[] {
  const requests = arrivalsAt(made, model, 1).slice(0, ALONE);
  const target = { sloNs: Infinity, share: 1 };
  return starts.flatMap((from) =>
    requests.map((request) => {
      const [ns] = simulatedTrial({
        ...{ machine, policy: serial(), arrivals: [request], target, from },
      }).latenciesNs;
      return ns;
    })
  );
}

function nobodyKeeps(
  contenders: readonly Contender[],
  options: PlanOptions,
  aloneNs: number,
): string {
  const { sloNs, share } = options.target;
  const obstacles = contenders.flatMap(({ policy, obstacle }) =>
    obstacle === undefined ? [] : [`${policy}: ${obstacle}`]
  );
  if (obstacles.length === contenders.length) {
    return `no policy can be planned with: ${obstacles.join("; ")}`;
  }
  const ms = (ns: number) => `${formatMs(ns)} ms`;
  const percent = `${formatPercentile(share)} %`;
  const why = `${percent} within ${ms(sloNs)} is not kept at any rate; ` +
    `a request alone takes ${ms(aloneNs)} on average`;
  if (aloneNs > sloNs) return why;
  // The mean is none of the reasons.
  const { recorded, ...undisturbed } = options.machine;
  const most = (machine: Machine) =>
    percentile(
      ascending(timesAlone(options, machine, startsOf(machine))),
      share,
    );
  const mostNs = most(options.machine);
  const which = `${why}, ${percent} of them up to ${ms(mostNs)}`;
  if (mostNs <= sloNs) {
    const { made, heldBack, machine, target } = options;
    const leastPerS = firstPerS(machine, aloneNs) / REACH;
    const together = crowded(made, heldBack, leastPerS, target);
    if (together !== undefined) return `${which}; ${together}`;
  }
  return recorded
    ? `${which}, without what held the machine up when it was measured up to ${
      ms(most(undisturbed))
    }`
    : which;
}
