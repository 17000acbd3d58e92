import { SharedCapacity } from "../../../src/cost/shared_capacity.ts";
import type { ChartData, Experiment, Outcome } from "../experiment.ts";

/** Section 7.1's two workers; capacity u0 is 1. */
interface Scenario {
  /** Total work, W0 and W0', of the worker that runs and of the one that is launched. */
  readonly first: number;
  readonly second: number;
  /** t0: when the second is launched. */
  readonly atNs: number;
}

interface Ends {
  readonly firstNs: number;
  readonly secondNs: number;
}

/**
 * Runs both on a device shared in proportion to demands: workers are as many equal jobs as they have parts, so that
 * the newcomer's share is u2 = parts / PARTS.
 */
function coRun({ first, second, atNs }: Scenario, parts: number): Ends {
  const device = new SharedCapacity<string>();
  const others = PARTS - parts;
  for (let i = 0; i < others; i++) {
    device.start(`first ${i}`, first / others, 1, 0);
  }
  const endsNs = new Map<string, number>();
  let launched = false;
  while (endsNs.size < PARTS) {
    const next = device.next();
    if (!launched && (next === undefined || next.atNs > atNs)) {
      for (let i = 0; i < parts; i++) {
        device.start(`second ${i}`, second / parts, 1, atNs);
      }
      launched = true;
    } else {
      device.finish(next!.job, next!.atNs);
      endsNs.set(next!.job, next!.atNs);
    }
  }
  const last = (name: string) =>
    Math.max(
      ...[...endsNs].filter(([job]) => job.startsWith(name)).map(([, ns]) =>
        ns
      ),
    );
  return { firstNs: last("first"), secondNs: last("second") };
}

const PARTS = 20;

/** Eq. 5's bounds on u2, u0 = 1, for work as Fig. 8 splits it. */
function bounds(
  { first, second, atNs }: Scenario,
  u2: number,
  qosNs: number,
): { least: number; most: number } {
  const u1 = 1 - u2;
  const w1 = atNs;
  const w2 = first - w1;
  // Beside each other until the first is done: W1' = u2 (t2 - t0).
  const w1Second = Math.min(second, u2 * w2 / u1);
  const w2Second = second - w1Second;
  return {
    most: 1 + w2 / (w1 - qosNs),
    least: w1Second / (qosNs - w2Second),
  };
}

/** A target that rounding to nanoseconds decides is none. */
const NEAR_NS = 100;

function scenarios(): Scenario[] {
  const found: Scenario[] = [];
  for (const first of [40e6, 60e6, 90e6]) {
    for (const second of [20e6, 50e6, 90e6]) {
      for (const share of [0.1, 0.5, 0.9]) {
        found.push({ first, second, atNs: first * share });
      }
    }
  }
  return found;
}

const SHOWN: Scenario = { first: 60e6, second: 50e6, atNs: 30e6 };
const SHOWN_QOS_NS = 110e6;

function chart(): ChartData {
  const shares = Array.from({ length: PARTS - 1 }, (_, i) => i + 1);
  const ends = shares.map((parts) => coRun(SHOWN, parts));
  const line = (name: string, ys: readonly number[]) => ({
    name,
    points: ys.map((y, i) => ({ x: shares[i] / PARTS, y })),
  });
  return {
    kind: "lines",
    title:
      "Latency of two workers by the newcomer's share (60 and 50 ms of work, launched at 30 ms)",
    x: "u2 / u0",
    y: "latency, ms",
    series: [
      line("worker that runs", ends.map(({ firstNs }) => firstNs / 1e6)),
      line(
        "worker that is launched",
        ends.map(({ secondNs }) => (secondNs - SHOWN.atNs) / 1e6),
      ),
      line("QoS target", shares.map(() => SHOWN_QOS_NS / 1e6)),
    ],
  };
}

function run(): Promise<Outcome> {
  let cases = 0;
  let kept = 0;
  let contradictions = 0;
  for (const scenario of scenarios()) {
    for (let parts = 1; parts < PARTS; parts++) {
      const { firstNs, secondNs } = coRun(scenario, parts);
      const u2 = parts / PARTS;
      // Eq. 2 to 5 suppose that the worker that runs ends first.
      if (firstNs > secondNs) continue;
      for (let qosNs = 60e6; qosNs <= 240e6; qosNs += 7e6) {
        const latencyNs = secondNs - scenario.atNs;
        const isNear = Math.abs(firstNs - qosNs) < NEAR_NS ||
          Math.abs(latencyNs - qosNs) < NEAR_NS;
        if (isNear || qosNs <= scenario.atNs || qosNs <= scenario.second) {
          continue;
        }
        const keeps = firstNs < qosNs && latencyNs < qosNs;
        const { least, most } = bounds(scenario, u2, qosNs);
        cases++;
        if (keeps) kept++;
        if (keeps !== (u2 > least && u2 < most)) contradictions++;
      }
    }
  }
  return Promise.resolve({
    findings: [{
      claim: "EB-08",
      compared: [{
        name: "cases in which Eq. 5 and the co-run disagree",
        as: "equal",
        published: 0,
        ours: contradictions,
      }, {
        name: "bounds",
        as: "holds",
        published: "the newcomer's share has a lower and an upper bound",
        ours: kept > 0 && kept < cases,
        seen: `${kept} of ${cases} cases keep the target`,
      }],
      note:
        "Eq. 4 as printed divides the newcomer's two parts by u1 and u2; Eq. 5 follows from u2 and u0, as Fig. 8 has it.",
    }],
    charts: [chart()],
    tables: [],
  });
}

/** Eq. 2-5: which share a new worker may have. */
export const EQ_5: Experiment = {
  id: "e2bird.eq5",
  title: "The bounds on a new worker's share",
  claims: ["EB-08"],
  conditions:
    "The simulated GPU's sharing (work is done at the rate of the capacity it gets): 27 pairs of workers, shares of 5 to " +
    "95 %, targets of 60 to 240 ms.",
  run,
};
