/**
 * The paper's worked examples, driven on virtual time: policies over chains of nodes that take one unit each.
 * The figures are not in the text: inputs that had to be inferred are marked where they stand.
 */
import type { CostModel } from "../../../src/cost/cost_model.ts";
import type { Model } from "../../../src/graph/model.ts";
import type { Note } from "../../../src/policy/launch.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import {
  simulateStatic,
  type StaticRequest,
} from "../../../test/policy/static_chain.ts";
import { batchAt, type Timeline } from "../../../test/policy/timeline.ts";
import type { ChartData } from "../experiment.ts";

/** A decision's note, and when it was made. */
export interface TimedNote extends Note {
  readonly at: number;
}

export interface Example extends Timeline {
  readonly notes: readonly TimedNote[];
}

/** One unit of time is a nanosecond. */
export function drive(
  policy: Policy,
  models: readonly Model[],
  requests: readonly StaticRequest[],
  cost?: CostModel,
): Example {
  const notes: TimedNote[] = [];
  const timeline = simulateStatic(policy, models, requests, {
    ...(cost !== undefined && { cost }),
    observer: {
      decided: (at, { notes: all = [] }) => {
        for (const note of all) notes.push({ ...note, at });
      },
    },
  });
  return { ...timeline, notes };
}

/** When a request is first in a batch. */
export function startOf({ tasks }: Timeline, request: number): number {
  return Math.min(
    ...tasks.filter(({ requests }) => requests.includes(request))
      .map(({ startNs }) => startNs),
  );
}

/** "B: Req1-2" of what starts at a time. */
export function runningAt(timeline: Timeline, at: number): string {
  const task = timeline.tasks.find(({ startNs }) => startNs === at);
  const requests = batchAt(timeline, at);
  return task && requests
    ? `${task.cell}: Req${requests.join(", ")}`
    : "nothing";
}

/** Who executes which node when, one line per request. */
export function timelineChart(
  title: string,
  { tasks, departNs }: Timeline,
  nameOf: (request: number) => string = (request) => `Req${request}`,
): ChartData {
  return {
    kind: "timeline",
    title,
    unit: "units of time",
    rows: departNs.flatMap((_, request) =>
      request === 0 ? [] : [{
        name: nameOf(request),
        spans: tasks.filter(({ requests }) => requests.includes(request))
          .map(({ startNs, endNs, cell }) => ({
            from: startNs,
            to: endNs,
            label: cell,
          })),
      }]
    ),
  };
}
