import { NODE } from "../../graph/cell_graph.ts";
import type { Step } from "../../policy/launch.ts";
import type { Policy } from "../../policy/policy.ts";
import type { ActiveList } from "./active_list.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { Admission } from "./admission.ts";
import { checkRow } from "./check_decision.ts";
import type { Executor } from "./executor.ts";
import type { Growth } from "./growth.ts";
import {
  countTask,
  type EngineTask,
  hold,
  idleWorkers,
  nextOfTail,
  type Run,
  tasksAhead,
  type WorkerLoad,
} from "./run.ts";
import { looksAtInput } from "./task_extents.ts";

/** Who hears of what is submitted. */
interface Parts {
  readonly policy: Policy;
  readonly executor: Executor;
  readonly growth: Growth;
  readonly admission: Admission;
  readonly active: ActiveList;
}

/** Steps of runs on their way to workers: each becomes a task, and its nodes are submitted. */
export class Dispatch {
  /** By id, as policies see them. */
  readonly workers: readonly WorkerLoad[];
  /** Tasks submitted and not completed, by worker: what a policy writes to what it sees is not believed. */
  readonly #queued: number[];
  readonly #policy: Policy;
  readonly #executor: Executor;
  readonly #growth: Growth;
  readonly #admission: Admission;
  readonly #active: ActiveList;
  #tasks = 0;

  constructor({ policy, executor, growth, admission, active }: Parts) {
    // A policy that sorts them in place would have them counted as each other.
    this.workers = Object.freeze(idleWorkers(executor.workers));
    this.#queued = new Array<number>(executor.workers).fill(0);
    this.#policy = policy;
    this.#executor = executor;
    this.#growth = growth;
    this.#admission = admission;
    this.#active = active;
  }

  /** Tasks submitted and not completed. */
  get tasksInFlight(): number {
    return this.#queued.reduce((sum, queued) => sum + queued, 0);
  }

  /** Whether every worker has a task. */
  get isBusy(): boolean {
    return this.#queued.every((queued) => queued > 0);
  }

  /** Submits all steps of a run, and what there is of its tail. */
  begin(run: Run): void {
    for (const step of run.launch.steps) this.#submit(run, step);
    this.goOn(run);
  }

  /** Submits what follows in a run's tail while some request of it still goes on. */
  goOn(run: Run): void {
    const { tail } = run.launch;
    if (tail === undefined) return;
    while (run.inFlight < tasksAhead(run, tail)) {
      const step = nextOfTail(
        run,
        tail,
        (request) => request.over || this.#growth.isStunted(request),
      );
      if (step === undefined) return;
      this.#submit(run, step);
    }
  }

  /** A task is completed. */
  done({ worker, run }: EngineTask): void {
    this.#count(worker, -1);
    run.inFlight--;
  }

  #count(worker: number, change: 1 | -1): void {
    this.#queued[worker] += change;
    this.workers[worker].queued = this.#queued[worker];
  }

  #submit(run: Run, step: Step<ActiveRequest>): void {
    const { worker, paddedRows = 0, paddedLength = 0 } = run.launch;
    const { cell } = step;
    // The policy may use its list again.
    const nodes = step.nodes.slice();
    const padding = Math.max(0, paddedRows - nodes.length);
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      checkRow(node, cell, worker, this.#active, this.#policy);
      const request = node.graph.owner;
      node.state = NODE.submitted;
      node.worker = worker;
      request.inFlight++;
      hold(run, request);
      if (!request.begun) {
        request.begun = true;
        this.#admission.began(request);
      }
      if (cell.stop) this.#growth.submitted(node, request);
      this.#active.submitted(request);
    }
    const task: EngineTask = {
      id: this.#tasks++,
      launchId: run.id,
      run,
      worker,
      cell,
      nodes,
      padding,
      padsDone: paddedRows > 0,
      paddedLength: looksAtInput(cell) ? paddedLength : 0,
      quiet: countTask(run),
    };
    this.#count(worker, 1);
    this.#executor.push(task);
  }
}
