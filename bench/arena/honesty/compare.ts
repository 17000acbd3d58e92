/** A model under every policy at three loads: measured, and predicted. */
import { NS_PER_MS } from "../../../src/base/units.ts";
import type { MachineProfile } from "../../../src/cli/planning/machine_profile.ts";
import { progress } from "../../../src/cli/terminal.ts";
import type { SizeClass } from "../../../src/models/registry.ts";
import { startsOf } from "../../../src/plan/carried.ts";
import { OutsideProfile } from "../../../src/plan/profiled_cost.ts";
import { type Figures, figuresOf, middleOf } from "./figures.ts";
import { type Ground, groundOf, simulatedNs } from "./ground.ts";
import { type Ran, runsOf } from "./runs.ts";

/** A policy at a load. */
export interface Comparison {
  readonly model: string;
  readonly policy: string;
  /** Share of the capacity. */
  readonly load: number;
  readonly ratePerS: number;
  readonly requests: number;
  readonly targetMs: number;
  /** What the profile does not cover, in words. */
  readonly refused?: string;
  readonly predicted?: Figures;
  /** The same requests, run again and again. */
  readonly measured: readonly Figures[];
}

export interface CompareOptions {
  readonly model: string;
  readonly size: SizeClass;
  readonly profile: MachineProfile;
  readonly policies: readonly string[];
  readonly seconds: number;
  readonly runs: number;
  readonly seed: number;
}

/**
 * Measures everything, and predicts it from the profile as plans do: on stretches of the machine that were recorded with it,
 * begun at several places. Requests of the profile are others than those that are measured.
 */
export async function compare(options: CompareOptions): Promise<Comparison[]> {
  const ground = groundOf(options);
  const all = await runsOf(ground, options);
  progress(`${ground.name}: predicting`);
  return all.map((ran) => compared(ground, ran));
}

/** What was measured, beside a prediction that knows nothing of it. */
export function compared(
  { name, machine, targetNs, make }: Ground,
  { policy, load, ratePerS, arrivals, latenciesNs }: Ran,
): Comparison {
  const figures = (ns: readonly number[]) => figuresOf(ns, targetNs, ratePerS);
  const what = {
    ...{ model: name, policy, load, ratePerS, requests: arrivals.length },
    targetMs: targetNs / NS_PER_MS,
    measured: latenciesNs.map(figures),
  };
  try {
    const predicted = middleOf(
      startsOf(machine).map((from) =>
        figures(simulatedNs(machine, make(policy), arrivals, from))
      ),
    );
    return { ...what, predicted };
  } catch (error) {
    if (!(error instanceof OutsideProfile)) throw error;
    return { ...what, refused: error.message };
  }
}
