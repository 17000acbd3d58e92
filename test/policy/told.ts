/** Timelines as lines of text, one per task, with the worker: "0..10 w0 A:1,2". */
import type { CostModel } from "../../src/cost/cost_model.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import type { Submission } from "../../src/engine/core/engine_options.ts";
import type { VirtualWorkersOptions } from "../../src/engine/virtual/virtual_workers.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { runSimulated } from "../engine/harness.ts";

export interface ToldRequest {
  arrivalNs: number;
  model?: Model;
  input?: unknown;
  stepsFixed?: Submission["stepsFixed"];
  deadlineNs?: Submission["deadlineNs"];
  finishNs?: Submission["finishNs"];
}

export interface ToldOptions {
  policy: Policy;
  models: readonly Model[];
  requests: readonly ToldRequest[];
  /** Default: one unit of time per batch. */
  cost?: CostModel;
  workers?: number;
  submitNs?: VirtualWorkersOptions["submitNs"];
}

/** Tasks by start and worker; requests are numbered from 1, their own rows of a task counted: "1x2". */
export function told(options: ToldOptions): string[] {
  const { requests, models, cost = constantCost(1), ...rest } = options;
  const tasks: { startNs: number; worker: number; text: string }[] = [];
  runSimulated({
    ...rest,
    models,
    cost,
    arrivals: requests.map(({ model = models[0], input = {}, ...rest }) => ({
      model,
      input,
      ...rest,
    })),
    observer: {
      task(_task, { startNs, endNs, worker, cell, requests }) {
        const rows = new Map<number, number>();
        for (const id of requests) {
          rows.set(id + 1, (rows.get(id + 1) ?? 0) + 1);
        }
        const names = [...rows].sort(([a], [b]) => a - b).map(([id, count]) =>
          count === 1 ? `${id}` : `${id}x${count}`
        );
        const text = `${startNs}..${endNs} w${worker} ${cell}:${names}`;
        tasks.push({ startNs, worker, text });
      },
    },
  });
  tasks.sort((a, b) => a.startNs - b.startNs || a.worker - b.worker);
  return tasks.map(({ text }) => text);
}
