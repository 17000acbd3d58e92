/** Runs a policy beside a naive one that works everything out anew: both decide the same, launch by launch. */
import assert from "node:assert/strict";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import type { CellNode } from "../../../src/graph/cell_graph.ts";
import type { Model } from "../../../src/graph/model.ts";
import type { Launch, Task } from "../../../src/policy/launch.ts";
import type { EngineView, Policy } from "../../../src/policy/policy.ts";
import type { Request } from "../../../src/policy/request.ts";
import { runSimulated } from "../../engine/harness.ts";
import type { ToldRequest } from "../told.ts";

/** Its state is the engine's: the policy's counters and tags are not looked at. */
export type Node = CellNode<Request>;

/** Rows of a worker's tasks, one after the other. */
export interface NaiveLaunch {
  readonly worker: number;
  readonly steps: readonly (readonly Node[])[];
}

/** A policy from a paper's text, without a thought of what it costs. */
export interface Naive {
  enqueue?(request: Request): void;
  decide(view: EngineView): NaiveLaunch | undefined;
  submitted?(launch: Launch): void;
  completed?(task: Task): void;
  finished?(launch: Launch): void;
  ended?(request: Request): void;
}

export interface BesideOptions {
  readonly policy: Policy;
  readonly naive: Naive;
  readonly models: readonly Model[];
  readonly requests: readonly ToldRequest[];
  readonly workers: number;
  readonly cost: CostModel;
}

/** Nodes of a request's graph. */
export function nodesOf({ graph }: Request): readonly Node[] {
  return graph.nodes as readonly Node[];
}

export function requestOf({ graph }: Node): Request {
  return graph.owner!;
}

/** Throws an AssertionError at the first decision that differs; rows of a task in any order. */
export function runBeside(
  { policy, naive, requests, models, ...rest }: BesideOptions,
): void {
  const watched: Policy = {
    ...policy,
    enqueue(request) {
      naive.enqueue?.(request);
      policy.enqueue(request);
    },
    schedule(view) {
      const expected = naive.decide(view);
      const decision = policy.schedule(view);
      const launch = decision.kind === "launch" ? decision.launch : undefined;
      assert.equal(
        launch &&
          shown(
            launch.worker,
            launch.steps.map(({ nodes }) => nodes as readonly Node[]),
          ),
        expected && shown(expected.worker, expected.steps),
      );
      return decision;
    },
    submitted(launch) {
      policy.submitted?.(launch);
      naive.submitted?.(launch);
    },
    completed(task, ranNs) {
      policy.completed?.(task, ranNs);
      naive.completed?.(task);
    },
    finished(launch) {
      policy.finished?.(launch);
      naive.finished?.(launch);
    },
    ended(request) {
      policy.ended?.(request);
      naive.ended?.(request);
    },
  };
  runSimulated({
    ...rest,
    models,
    policy: watched,
    arrivals: requests.map(({ model = models[0], input = {}, ...request }) => ({
      model,
      input,
      ...request,
    })),
  });
}

/** "w0 A:1.0,2.0 B:1.1": rows as request and node. */
function shown(worker: number, steps: readonly (readonly Node[])[]): string {
  const tasks = steps.map((nodes) => {
    const rows = nodes.map((node) => `${requestOf(node).id}.${node.index}`);
    return `${nodes[0].cell.name}:${rows.sort()}`;
  });
  return [`w${worker}`, ...tasks].join(" ");
}
