/** Runs an engine to the end, on virtual or real time, and collects what became of every request. */
import assert from "node:assert/strict";
import type { CostModel } from "../../src/cost/cost_model.ts";
import type {
  ActiveRequest,
  Ending,
} from "../../src/engine/core/active_request.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import type { DoneStep, OnStep } from "../../src/engine/core/step_rows.ts";
import type { Executor } from "../../src/engine/core/executor.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { replay } from "../../src/engine/wall/replay.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { TensorExecutor } from "../../src/engine/wall/tensor_executor.ts";
import type { TensorOptions } from "../../src/engine/tensors/tensor_options.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveVirtual,
  type VirtualArrival,
} from "../../src/engine/virtual/virtual_driver.ts";
import type { VirtualWorkersOptions } from "../../src/engine/virtual/virtual_workers.ts";
import { NODE } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Observer, RequestRecord } from "../../src/policy/records.ts";

/** Deterministic build over unshared memory, compiled once for all tests. */
export const kernels: WebAssembly.Module = await WebAssembly.compile(
  await readKernels("shoal"),
);

export interface RunOptions {
  models: readonly Model[];
  policy: Policy;
  arrivals: readonly VirtualArrival[];
  cost: CostModel;
  workers?: number;
  /** On virtual time, see VirtualWorkersOptions. */
  submitNs?: VirtualWorkersOptions["submitNs"];
  observer?: Observer;
  /** Hears of the steps of all requests. */
  onStep?: OnStep;
  /** Changes the executor before the engine has it. */
  executor?(executor: Executor): void;
  queueMax?: number;
  /** Of real tensors on virtual time; default: a million, enough for all. */
  slotBytes?: number;
}

/** How the threads of a real run share the work. */
export type ThreadOptions = Pick<
  TensorOptions,
  "threadsPerWorker" | "team" | "taskBytes" | "spinMs"
>;

/** What became of request i of the arrivals. */
export interface RunOutcome {
  endings: (Ending | undefined)[];
  /** The steps that it was told of. */
  steps: DoneStep[][];
  records: RequestRecord[];
}

/** Real tensors on virtual time. */
export function runPaired(options: RunOptions): RunOutcome {
  const { models, slotBytes = 2 ** 20 } = options;
  return runVirtual(
    options,
    (devices) => new PairedExecutor({ ...devices, models, kernels, slotBytes }),
  );
}

/** No tensors, virtual time. */
export function runSimulated(options: RunOptions): RunOutcome {
  return runVirtual(
    options,
    (devices) => new SimExecutor(devices),
  );
}

function runVirtual(
  options: RunOptions,
  build: (devices: VirtualWorkersOptions) => PairedExecutor | SimExecutor,
): RunOutcome {
  const { cost, workers, submitNs } = options;
  const timeline = new Timeline();
  const executor = build({
    timeline,
    cost,
    ...(workers !== undefined && { workers }),
    ...(submitNs && { submitNs }),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const { outcome, arrivals, observer } = watched(options);
  options.executor?.(executor);
  const slots = watchSlots(executor);
  const engine = engineOf(options, executor, observer);
  driveVirtual(engine, timeline, arrivals);
  assert.equal(engine.tasksInFlight, 0, "nothing is under way");
  assert.equal(slots.size, 0, "every slot is free again");
  return outcome;
}

/** @returns requests that have a slot; one gives it back once, with no row of it under way */
function watchSlots(executor: Executor): ReadonlySet<ActiveRequest> {
  const { admit, release } = executor;
  const slots = new Set<ActiveRequest>();
  executor.admit = (request) => {
    admit.call(executor, request);
    slots.add(request);
  };
  executor.release = (request) => {
    assert(slots.delete(request), "a slot is given back once");
    assert.equal(request.inFlight, 0, "no row of a freed slot is under way");
    release.call(executor, request);
  };
  return slots;
}

/** Real tensors in worker threads, on the wall clock. */
export async function runThreads(
  options: Omit<RunOptions, "cost" | "submitNs"> & ThreadOptions,
): Promise<RunOutcome> {
  const { models, workers, threadsPerWorker, team, taskBytes, spinMs } =
    options;
  const executor = await TensorExecutor.start({
    models,
    ...(workers !== undefined && { workers }),
    ...(threadsPerWorker !== undefined && { threadsPerWorker }),
    ...(team !== undefined && { team }),
    ...(taskBytes !== undefined && { taskBytes }),
    ...(spinMs !== undefined && { spinMs }),
    slotBytes: 2 ** 22,
    warmUp: false,
    onFatal: (error) => {
      throw error;
    },
  });
  const { outcome, arrivals, observer } = watched(options);
  try {
    await replay(
      engineOf(options, executor, observer),
      executor,
      arrivals,
    );
  } finally {
    await executor.close();
  }
  return outcome;
}

export function engineOf(
  { models, policy, queueMax, isRemote = false }:
    & Omit<RunOptions, "cost">
    & { isRemote?: boolean },
  executor: Executor,
  observer: Observer,
): EngineCore {
  return new EngineCore({
    models,
    policy,
    executor,
    observer,
    isRemote,
    ...(queueMax !== undefined && { queueMax }),
  });
}

/** Adds the checks that every run must pass: each request ends once, each node runs once and after its inputs. */
export function watched(
  options: Pick<RunOptions, "arrivals" | "observer" | "onStep">,
) {
  const outcome: RunOutcome = {
    endings: options.arrivals.map(() => undefined),
    steps: options.arrivals.map(() => []),
    records: [],
  };
  // By request: its graph may have been another's before.
  const executed = new Set<string>();
  const observer: Observer = {
    ...options.observer,
    task(task, record) {
      let rows = 0;
      for (const node of task.nodes) {
        if (node.state !== NODE.done) continue;
        rows++;
        const which = `${node.graph.owner.id} ${node.index}`;
        assert(!executed.has(which), "a node runs once");
        executed.add(which);
        for (const before of node.predecessors) {
          assert.equal(before.state, NODE.done, "a node runs after its inputs");
        }
      }
      assert.equal(record.rows, rows);
      options.observer?.task?.(task, record);
    },
    request(request, record) {
      outcome.records.push(record);
      if (record.outcome === "done") {
        const done = request.graph.nodes.filter(({ state }) =>
          state === NODE.done
        ).length;
        assert.equal(record.nodes, done, "all nodes that ran are counted");
      }
      options.observer?.request?.(request, record);
    },
  };
  const arrivals = options.arrivals.map((arrival, i) => ({
    ...arrival,
    onStep(step: DoneStep, endNs: number) {
      assert.equal(outcome.endings[i], undefined, "no step behind the end");
      outcome.steps[i].push(step);
      options.onStep?.(step, endNs);
    },
    onEnd(ending: Ending) {
      assert.equal(outcome.endings[i], undefined, "a request ends once");
      outcome.endings[i] = ending;
    },
  }));
  return { outcome, arrivals, observer };
}
