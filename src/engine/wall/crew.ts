import { endTeam, prepareTeam } from "../../kernels/team/block.ts";
import type { CrewPlan } from "./crew_plan.ts";
import {
  endThreads,
  startThreads,
  type Thread,
  type ThreadOptions,
} from "./threads.ts";
import { openControl, stopWorker } from "./worker_ring.ts";

/** The threads of one worker: itself and its helpers. They live and die together. */
export class Crew {
  readonly #plan: CrewPlan;
  readonly #threads: readonly Thread[];
  readonly #patienceMs: number;
  readonly #words: Int32Array;

  /**
   * Makes the shared words ready and starts the threads. No thread of an earlier crew may be left.
   * @throws Error when one does not start; none is left then
   */
  static async start(plan: CrewPlan, options: ThreadOptions): Promise<Crew> {
    openControl(new Int32Array(plan.memory.buffer), plan.control);
    if (plan.team) prepareTeam(plan.memory, plan.team);
    let died = false;
    const threads = await startThreads(plan.starts, {
      ...options,
      onDeath(error) {
        if (died) return;
        died = true;
        options.onDeath(error);
      },
    });
    return new Crew(plan, threads, options.patienceMs);
  }

  private constructor(
    plan: CrewPlan,
    threads: readonly Thread[],
    patienceMs: number,
  ) {
    this.#plan = plan;
    this.#threads = threads;
    this.#patienceMs = patienceMs;
    this.#words = new Int32Array(plan.memory.buffer);
  }

  /**
   * Ends all: whoever is alive leaves after the task that it is at, or the part of one.
   * @returns whether they are certainly over; false: one may still write to memory
   */
  async end(): Promise<boolean> {
    stopWorker(this.#words, this.#plan.control);
    if (this.#plan.team) endTeam(this.#plan.memory, this.#plan.team);
    return await endThreads(this.#threads, this.#patienceMs);
  }
}
