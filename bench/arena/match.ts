/** One policy in one scenario: its best settings are searched for on some seeds, and judged on others. */
import { Prng } from "../../src/base/prng.ts";
import { mean, percentile } from "../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S } from "../../src/base/units.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { typicalProfile } from "../../src/cost/typical_profile.ts";
import type { Model } from "../../src/graph/model.ts";
import {
  type Given,
  knowsTarget,
  policyOf,
  type Setting,
  settingsOf,
} from "../../src/plan/policy_settings.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import type { Json } from "../reproduce/experiment.ts";
import type { PointKey } from "../reproduce/run/point_cache.ts";
import {
  type Outcome,
  simulate,
  type SimulatedArrival,
  type SimulateOptions,
} from "../reproduce/simulation.ts";
import { ARRIVALS } from "./arrivals.ts";
import { frameArrivals } from "./frames.ts";
import { DECISIONS, firstDecisions } from "./decisions.ts";
import { type Device, DEVICES, type Measured } from "./devices.ts";
import { type Scenario, type Score, type Target, TARGETS } from "./scenario.ts";
import { type Workload, workloadOf } from "./workloads.ts";

/** How much is run. */
export type MatchOptions = {
  /** Requests of a run. */
  readonly requests: number;
  /** Seeds that a policy is judged on. */
  readonly runs: number;
  readonly seed: number;
};

/** A result that is computed once for its key. */
export type Point = <T extends Json>(
  key: PointKey,
  compute: () => T,
) => Promise<T>;

/** How a policy did: a score for each run, with the settings that the search found. */
export type Entry = {
  readonly policy: string;
  readonly setting: Setting;
  readonly scores: readonly Score[];
};

/** Requests that times alone and the capacity are measured with. */
const FACTS = 128;

/** What the capacity is: as many requests at once as there are, under whoever is fastest of these. */
const FASTEST: readonly (readonly [string, Setting])[] = [
  ["graph", { batchSizeMax: 64 }],
  ["merged", { batchSizeMax: 64 }],
  ["cellular", { batchSizeMax: 64 }],
  ["late", { batchSizeMax: 64 }],
];

/** A workload on a device, and what can be said of it beforehand. */
export class Ground {
  readonly #name: { device: string; workload: string };
  readonly #device: Device;
  readonly #workload: Workload;
  readonly #cost: CostModel;
  readonly #options: MatchOptions;
  readonly #point: Point;
  readonly #codeOf: (policy: string) => string;
  /** Measured times are part of the keys. */
  readonly #measured: Measured | undefined;

  /** @param codeOf hash of the code that a policy is: part of its points' keys */
  constructor(
    name: { device: string; workload: string },
    measured: Measured | undefined,
    options: MatchOptions,
    point: Point,
    codeOf: (policy: string) => string,
  ) {
    this.#name = name;
    this.#device = DEVICES[name.device];
    this.#workload = workloadOf(name.workload, this.#device.size);
    this.#cost = this.#device.cost(this.#workload, measured);
    this.#measured = measured;
    this.#options = options;
    this.#point = point;
    this.#codeOf = codeOf;
  }

  /** Why a policy cannot serve the workload; undefined when it can. */
  obstacle(policy: string): string | undefined {
    const made = policyOf(policy, {}, {
      ...this.#given(),
      aloneNs: 1,
      targetNs: Infinity,
    });
    const reasons = this.#workload.models.map((model: Model) =>
      made.supports(model)
    );
    return reasons.find((reason) => reason !== undefined);
  }

  /** Mean time of a request with the device to itself, and requests per second when more wait than can be served. */
  facts(): Promise<{ aloneNs: number; capacityPerS: number }> {
    const { seed } = this.#options;
    return this.#point(
      {
        ...this.#key(),
        facts: FACTS,
        code: FASTEST.map(([name]) => this.#codeOf(name)),
        seed,
      },
      () => {
        const prng = new Prng(seed).fork("facts");
        const requests = Array.from(
          { length: FACTS },
          () => this.#workload.request(prng),
        );
        const alone = requests.map((request) =>
          simulate({ policy: serial(), cost: this.#cost, arrivals: [request] })
            .meanMs * NS_PER_MS
        );
        const rates = FASTEST.filter(([name]) => !this.obstacle(name))
          .map(([name, setting]) =>
            this.#simulate(name, setting, requests, {
              aloneNs: mean(alone),
              targetNs: Infinity,
            }).perS
          );
        return { aloneNs: mean(alone), capacityPerS: Math.max(...rates) };
      },
    );
  }

  /** A policy's match. */
  async match(
    policy: string,
    scenario: Scenario,
    target: Target,
  ): Promise<Entry> {
    const { requests, runs } = this.#options;
    const settings = settingsOf(policy);
    let setting = settings[0];
    if (settings.length > 1) {
      let best = -Infinity;
      for (const one of settings) {
        const score = await this.#run(policy, one, scenario, target, {
          requests: Math.ceil(requests / 2),
          run: "search",
        });
        const value = valueOf(score, target);
        if (value > best) [best, setting] = [value, one];
      }
    }
    const scores: Score[] = [];
    for (let run = 0; run < runs; run++) {
      scores.push(
        await this.#run(policy, setting, scenario, target, {
          requests,
          run: `run ${run}`,
        }),
      );
    }
    return { policy, setting, scores };
  }

  /** The first decisions of a policy in the first run that it is judged on. */
  async decisions(
    { policy, setting }: Pick<Entry, "policy" | "setting">,
    scenario: Scenario,
    target: Target,
  ): Promise<readonly string[]> {
    const { requests } = this.#options;
    const played = {
      policy,
      setting,
      scenario,
      target,
      requests,
      run: "run 0",
    };
    const { key, run } = await this.#prepared(played);
    return await this.#point(
      { ...key, decisions: DECISIONS },
      () => firstDecisions(policy, run),
    );
  }

  async #run(
    policy: string,
    setting: Setting,
    scenario: Scenario,
    target: Target,
    { requests, run }: { requests: number; run: string },
  ): Promise<Score> {
    const played = { policy, setting, scenario, target, requests, run };
    const { key, aloneNs, run: play } = await this.#prepared(played);
    return await this.#point(key, () => scoreOf(play(), aloneNs));
  }

  async #prepared(
    { policy, setting, scenario: { arrivals, load }, target, requests, run }: {
      policy: string;
      setting: Setting;
      scenario: Scenario;
      target: Target;
      requests: number;
      run: string;
    },
  ): Promise<{
    key: PointKey;
    aloneNs: number;
    run: (observer?: SimulateOptions["observer"]) => Outcome;
  }> {
    const { seed } = this.#options;
    const { aloneNs, capacityPerS } = await this.facts();
    const ratePerS = load * capacityPerS;
    return {
      aloneNs,
      key: {
        ...this.#key(),
        arrivals,
        load,
        // Whatever else the facts hang on.
        aloneNs,
        ratePerS,
        policy,
        code: this.#codeOf(policy),
        setting: setting as Json,
        // Whoever does not know the target does the same for all of them.
        ...(knowsTarget(policy) && { target }),
        requests,
        seed,
        run,
      },
      run: (observer) => {
        const submitted = this.#arrivals(arrivals, {
          requests,
          ratePerS,
          aloneNs,
          prng: new Prng(seed).fork(run),
        });
        const targetNs = TARGETS[target] * aloneNs;
        const given = { aloneNs, targetNs };
        return this.#simulate(policy, setting, submitted, given, observer);
      },
    };
  }

  #arrivals(
    name: string,
    { requests, ratePerS, aloneNs, prng }: {
      requests: number;
      ratePerS: number;
      aloneNs: number;
      prng: Prng;
    },
  ): SimulatedArrival[] {
    const { streams } = this.#workload;
    if (streams) {
      return frameArrivals({
        ...{ groups: streams, arrivals: name, requests, ratePerS, aloneNs },
        prng: prng.fork("frames"),
      });
    }
    const timesNs = ARRIVALS[name]({
      requests,
      ratePerS,
      prng: prng.fork("arrivals"),
    });
    const inputs = prng.fork("inputs");
    return timesNs.map((arrivalNs) => ({
      ...this.#workload.request(inputs),
      arrivalNs,
    }));
  }

  #key(): PointKey {
    return {
      ...this.#name,
      ...(this.#measured && { measured: this.#measured as unknown as Json }),
    };
  }

  #simulate(
    policy: string,
    setting: Setting,
    arrivals: readonly SimulatedArrival[],
    given: Pick<Given, "aloneNs" | "targetNs">,
    observer?: SimulateOptions["observer"],
  ): Outcome {
    return simulate({
      policy: policyOf(policy, setting, { ...this.#given(), ...given }),
      cost: this.#cost,
      workers: this.#device.workers,
      arrivals,
      ...(observer && { observer }),
    });
  }

  #given(): Pick<Given, "profile" | "decTimesteps"> {
    const { tokens, decTimesteps } = this.#workload;
    return {
      profile: typicalProfile(this.#cost, { tokens, steps: decTimesteps }),
      decTimesteps,
    };
  }
}

/** What a match is about, larger is better: with a target the share in time, without one the mean latency. */
export function valueOf(
  { inTime, meanMs }: Pick<Score, "inTime" | "meanMs">,
  target: Target,
): number {
  const index = Object.keys(TARGETS).indexOf(target);
  return target === "none" ? -meanMs : inTime[index] - 1e-9 * meanMs;
}

function scoreOf(outcome: Outcome, aloneNs: number): Score {
  const { sortedNs, meanMs, p99Ms, perS, workUs, rowsSeen } = outcome;
  return {
    meanMs,
    p50Ms: percentile(sortedNs, 0.5) / NS_PER_MS,
    p99Ms,
    perS: Number.isFinite(perS) ? perS : sortedNs.length * NS_PER_S,
    inTime: Object.values(TARGETS).map((times) =>
      sortedNs.filter((ns) => ns <= times * aloneNs).length / sortedNs.length
    ),
    workUs,
    rowsSeen,
  };
}
