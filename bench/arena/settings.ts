/** What the arena is asked for. */
import { cpus } from "node:os";
import {
  integerOption,
  namesOption,
  seedOption,
} from "../../src/cli/options.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { ARRIVALS } from "./arrivals.ts";
import { DEVICES } from "./devices.ts";
import type { MatchOptions } from "./match.ts";
import { LOADS, type Target, TARGETS } from "./scenario.ts";
import { WORKLOADS } from "./workloads.ts";

/** The options as they are given. */
export interface ArenaValues {
  device?: string;
  workload?: string;
  policy?: string;
  arrivals?: string;
  load?: string;
  target?: string;
  requests?: string;
  runs?: string;
  seed?: string;
  minutes?: string;
  jobs?: string;
  out?: string;
  quick?: boolean;
}

/** What they ask for. */
export interface ArenaSettings extends MatchOptions {
  readonly devices: readonly string[];
  readonly workloads: readonly string[];
  readonly policies: readonly string[];
  readonly arrivals: readonly string[];
  readonly loads: readonly number[];
  readonly targets: readonly Target[];
  readonly minutes: number;
  readonly jobs: number;
  readonly out: string;
}

const REQUESTS = 500;
const RUNS = 3;
/** Under five minutes on two cores. */
const QUICK = {
  devices: "npu",
  arrivals: "poisson",
  loads: "0.25,0.9",
  targets: "normal,none",
  requests: 300,
  runs: 1,
};
const REQUESTS_MAX = 1e5;
const RUNS_MAX = 100;
const MINUTES_MAX = 10_000;

/** @throws {UsageError} on a value that does not do */
export function arenaSettings(values: ArenaValues): ArenaSettings {
  const { quick = false } = values;
  const loads = LOADS.map(String);
  return {
    devices: namesOption(
      "device",
      values.device ?? (quick ? QUICK.devices : undefined),
      Object.keys(DEVICES),
    ),
    workloads: namesOption("workload", values.workload, WORKLOADS),
    policies: namesOption("policy", values.policy, Object.keys(POLICIES)),
    arrivals: namesOption(
      "arrivals",
      values.arrivals ?? (quick ? QUICK.arrivals : undefined),
      Object.keys(ARRIVALS),
    ),
    loads: namesOption(
      "load",
      values.load ?? (quick ? QUICK.loads : undefined),
      loads,
    ).map(Number),
    targets: namesOption(
      "target",
      values.target ?? (quick ? QUICK.targets : undefined),
      Object.keys(TARGETS),
    ) as Target[],
    requests: integerOption(
      "requests",
      values.requests,
      quick ? QUICK.requests : REQUESTS,
      { min: 20, max: REQUESTS_MAX },
    ),
    runs: integerOption("runs", values.runs, quick ? QUICK.runs : RUNS, {
      min: 1,
      max: RUNS_MAX,
    }),
    seed: seedOption(values.seed),
    minutes: values.minutes === undefined
      ? Infinity
      : integerOption("minutes", values.minutes, 0, {
        min: 0,
        max: MINUTES_MAX,
      }),
    jobs: integerOption("jobs", values.jobs, cpus().length, {
      min: 1,
      max: 64,
    }),
    out: values.out ?? "build/arena",
  };
}
