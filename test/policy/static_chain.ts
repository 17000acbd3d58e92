/** Small static models: a chain of cells A, B, C, ..., each with weights of its own. */
import type { Timeline, TimelineTask } from "./timeline.ts";
import { runSimulated } from "../engine/harness.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { CellNode } from "../../src/graph/cell_graph.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Observer } from "../../src/policy/records.ts";
import { seededWeights } from "../../src/tensor/weights.ts";

const WIDTH = 3;

export interface ChainInput {
  /** WIDTH floats; default: zeros. */
  x?: readonly number[];
  /** Steps of each recurrent cell; default 1. */
  steps?: number;
}

export interface StaticChainOptions {
  name?: string;
  /** Names of the cells in order; one that ends in "*" recurs as often as the input says. */
  cells: readonly string[];
  /** Of a cell, by name; default 0. */
  priorities?: Readonly<Record<string, number>>;
}

/** A chain of Gemm + Tanh cells. */
export function staticChain(options: StaticChainOptions): Model<ChainInput> {
  const id = options.name ?? options.cells.join("");
  const weights = seededWeights(7);
  const cells: Cell[] = options.cells.map((label) => {
    const name = label.replace("*", "");
    return defineCell({
      name,
      priority: options.priorities?.[name] ?? 0,
      recurrent: label.endsWith("*"),
      phase: label.endsWith("*") ? "encoder" : "static",
      inputs: { x: f32(WIDTH) },
      body: (op, { x }) => ({
        y: op.Tanh(
          op.Gemm(x, weights(`${id}.${label}`, [WIDTH, WIDTH], WIDTH)),
        ),
      }),
    });
  });
  return {
    name: id,
    cells,
    shape: "chain",
    check(input): asserts input is ChainInput {
      if (typeof input !== "object") throw new TypeError("An object");
    },
    unfold({ x = [0, 0, 0], steps = 1 }, graph) {
      const rows = graph.rows(x);
      let last: CellNode | undefined;
      for (const cell of cells) {
        for (let t = 0; t < (cell.recurrent ? steps : 1); t++) {
          last = graph.node(cell, {
            x: last ? graph.output(last, "y") : graph.row(rows, 0, WIDTH),
          });
        }
      }
      graph.result("y", graph.output(last!, "y"));
    },
  };
}

/** Names A, B, ... of `count` cells. */
export function letters(count: number): string[] {
  return Array.from({ length: count }, (_, i) => String.fromCharCode(65 + i));
}

export interface StaticRequest {
  arrivalNs: number;
  model?: Model;
  steps?: number;
}

/** Simulates requests, numbered from 1; one unit of time per cell unless a cost says otherwise. */
export function simulateStatic(
  policy: Policy,
  models: readonly Model[],
  requests: readonly StaticRequest[],
  { cost = constantCost(1), workers = 1, observer = {} as Observer } = {} as {
    cost?: CostModel;
    workers?: number;
    observer?: Observer;
  },
): Timeline {
  const tasks: TimelineTask[] = [];
  const { records } = runSimulated({
    models,
    policy,
    cost,
    workers,
    arrivals: requests.map(({ arrivalNs, model = models[0], steps }) => ({
      model,
      arrivalNs,
      input: { ...(steps !== undefined && { steps }) } satisfies ChainInput,
    })),
    observer: {
      ...observer,
      task: (task, record) => {
        const { startNs, endNs, cell, requests } = record;
        tasks.push({
          startNs,
          endNs,
          cell,
          requests: requests.map((id) => id + 1).sort((a, b) => a - b),
        });
        observer.task?.(task, record);
      },
    },
  });
  tasks.sort((a, b) => a.startNs - b.startNs || a.requests[0] - b.requests[0]);
  const departNs: number[] = [];
  for (const { id, endNs } of records) departNs[id + 1] = endNs;
  return { tasks, departNs };
}

/** "cell:1,2" of the task that starts at a time. */
export function runsAt({ tasks }: Timeline, startNs: number): string {
  const task = tasks.find((task) => task.startNs === startNs);
  return task ? `${task.cell}:${task.requests}` : "";
}
