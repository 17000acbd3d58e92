/** Timelines of simulated runs: what the worked examples of the papers state. */
import { constantCost } from "../../src/cost/table_cost.ts";
import type { Model } from "../../src/graph/model.ts";
import { lstm } from "../../src/models/lstm.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { runSimulated } from "../engine/harness.ts";

/** One-cell model: its graphs are chains as long as the sentence. */
export const chain: Model = lstm({ hidden: 1, vocabulary: 2 });

export interface ChainRequest {
  arrivalNs: number;
  length: number;
}

export interface TimelineTask {
  startNs: number;
  endNs: number;
  cell: string;
  /** Numbered from 1 in order of arrival, as the papers do. */
  requests: number[];
}

export interface Timeline {
  tasks: TimelineTask[];
  /** Departure of each request, by number; index 0 is unused. */
  departNs: number[];
}

export function chainArrivals(requests: readonly ChainRequest[]) {
  return requests.map(({ arrivalNs, length }) => ({
    model: chain,
    input: { tokens: new Array(length).fill(0) },
    arrivalNs,
  }));
}

/** Simulates with one unit of time per cell. Requests are numbered from `firstNumber`. */
export function simulateChain(
  policy: Policy,
  requests: readonly ChainRequest[],
  firstNumber = 1,
): Timeline {
  const tasks: TimelineTask[] = [];
  const { records } = runSimulated({
    models: [chain],
    policy,
    arrivals: chainArrivals(requests),
    cost: constantCost(1),
    observer: {
      task: (_task, { startNs, endNs, cell, requests }) =>
        tasks.push({
          startNs,
          endNs,
          cell,
          requests: requests.map((id) => id + firstNumber).sort((a, b) =>
            a - b
          ),
        }),
    },
  });
  const departNs: number[] = [];
  for (const { id, endNs } of records) departNs[id + firstNumber] = endNs;
  return { tasks, departNs };
}

/** Requests of the task that starts at a time. */
export function batchAt(
  { tasks }: Timeline,
  startNs: number,
): number[] | undefined {
  return tasks.find((task) => task.startNs === startNs)?.requests;
}
