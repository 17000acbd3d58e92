/** Worked examples: requests of given lengths to a one-cell model, one unit of time per cell, really driven. */
import { constantCost } from "../../../src/cost/table_cost.ts";
import { EngineCore } from "../../../src/engine/core/engine.ts";
import { SimExecutor } from "../../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../../src/engine/virtual/virtual_driver.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { ChartData } from "../experiment.ts";
import { MODELS } from "./datasets.ts";

export interface ExampleRequest {
  readonly arrival: number;
  readonly length: number;
}

export interface Example {
  /** Requests in the batch that starts at a time, by number. */
  batchAt(time: number): readonly number[];
  /** Start of a request's first cell, and when it returns. */
  startOf(request: number): number;
  endOf(request: number): number;
  /** Tasks, and the most that were decided at one instant. */
  readonly tasks: number;
  readonly tasksAtOnce: number;
  chart(title: string): ChartData;
}

/** @param firstNumber of the requests, which are numbered in order of arrival */
export function runExample(
  policy: Policy,
  requests: readonly ExampleRequest[],
  firstNumber = 1,
): Example {
  const batches: { start: number; end: number; ids: readonly number[] }[] = [];
  const starts = new Map<number, number>();
  const ends = new Map<number, number>();
  const decided = new Map<number, number>();
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(1),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const model = MODELS.lstm;
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    observer: {
      decided: (atNs, { steps }) =>
        void decided.set(atNs, (decided.get(atNs) ?? 0) + steps.length),
      task: (_task, { startNs: start, endNs: end, requests }) =>
        void batches.push({
          start,
          end,
          ids: requests.map((id) => id + firstNumber).sort((a, b) => a - b),
        }),
      request(_request, { id, startNs, endNs }) {
        starts.set(id + firstNumber, startNs);
        ends.set(id + firstNumber, endNs);
      },
    },
  });
  driveVirtual(
    engine,
    timeline,
    requests.map(({ arrival, length }) => ({
      model,
      arrivalNs: arrival,
      input: { tokens: new Array<number>(length).fill(0) },
    })),
  );
  const numbers = requests.map((_, i) => i + firstNumber);
  return {
    batchAt: (time) => batches.find(({ start }) => start === time)?.ids ?? [],
    startOf: (request) => starts.get(request)!,
    endOf: (request) => ends.get(request)!,
    tasks: batches.length,
    tasksAtOnce: Math.max(...decided.values()),
    chart: (title) => ({
      kind: "timeline",
      title,
      unit: "cells",
      rows: numbers.map((number, i) => ({
        name: `req${number}(${requests[i].length})`,
        spans: [
          ...spanUnless(requests[i].arrival, starts.get(number)!, "waits"),
          ...batches.filter(({ ids }) => ids.includes(number)).map((
            { start, end },
          ) => ({ from: start, to: end, label: "cell" })),
          ...spanUnless(
            batches.findLast(({ ids }) => ids.includes(number))!.end,
            ends.get(number)!,
            "held",
          ),
        ],
      })),
    }),
  };
}

function spanUnless(from: number, to: number, label: string) {
  return from < to ? [{ from, to, label }] : [];
}
