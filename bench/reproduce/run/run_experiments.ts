/** Runs experiments in threads, as many at once as there are jobs, those that need the machine to themselves last. */
import { shorten } from "../../../src/base/describe.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import type { Paper } from "../registry.ts";
import type { Order, Report } from "./messages.ts";

export interface RunOptions extends Omit<Order, "paper" | "id"> {
  readonly papers: readonly Paper[];
  /** Ids. */
  readonly experiments: readonly string[];
  readonly jobs: number;
  /** Hears a line about everything that begins or ends. */
  progress(line: string): void;
}

/** How an experiment went. */
export type Ran =
  & { readonly id: string; readonly seconds: number }
  & ({ readonly outcome: Outcome } | { readonly error: string });

/** Characters of a point's key in a line of progress. */
const KEY_SHOWN = 100;

interface Job {
  readonly paper: string;
  readonly experiment: Experiment;
}

/** @returns how each went, in the order asked for; one that fails stops no other */
export async function runExperiments(
  { papers, experiments, jobs, progress, ...settings }: RunOptions,
): Promise<Ran[]> {
  const chosen = papers.flatMap(({ name, experiments: all }) =>
    all.filter(({ id }) => experiments.includes(id))
      .map((experiment): Job => ({ paper: name, experiment }))
  );
  const ran = new Map<string, Ran>();
  const startMs = performance.now();
  const secondsSince = (ms: number) => (performance.now() - ms) / 1000;
  const say = (line: string) =>
    progress(
      `[${ran.size}/${chosen.length}, ${
        secondsSince(startMs).toFixed(0)
      } s] ${line}`,
    );

  const runOne = async (
    thread: Thread,
    { paper, experiment: { id } }: Job,
  ): Promise<void> => {
    const jobMs = performance.now();
    let points = 0;
    say(`${id} begins`);
    const result = await thread.run({ ...settings, paper, id }, (key) => {
      points++;
      say(`${id}: ${shorten(key, KEY_SHOWN)}`);
    });
    const seconds = secondsSince(jobMs);
    ran.set(id, { id, seconds, ...result });
    say(
      "error" in result
        ? `${id} FAILED: ${result.error}`
        : `${id} done in ${seconds.toFixed(1)} s, ${points} points computed`,
    );
  };

  const runAll = async (jobs: readonly Job[], threads: number) => {
    const waiting = new Waiting(jobs);
    await Promise.all(
      Array.from({ length: Math.min(threads, jobs.length) }, async () => {
        const thread = new Thread();
        try {
          for (let job = waiting.next(); job; job = waiting.next()) {
            await runOne(thread, job);
            waiting.ended(job);
          }
        } finally {
          thread.end();
        }
      }),
    );
  };

  await runAll(
    chosen.filter(({ experiment }) => !experiment.exclusive),
    jobs,
  );
  await runAll(chosen.filter(({ experiment }) => experiment.exclusive), 1);
  return chosen.map(({ experiment }) => ran.get(experiment.id)!);
}

/**
 * Experiments that wait for a thread. Those of a paper often have points in common, which two threads would both
 * compute: so threads are on different papers for as long as there are several, the one with most left first.
 */
class Waiting {
  readonly #jobs: Job[];
  readonly #running: Job[] = [];

  constructor(jobs: readonly Job[]) {
    this.#jobs = [...jobs];
  }

  next(): Job | undefined {
    const left = (paper: string) =>
      this.#jobs.filter((job) => job.paper === paper).length;
    const others = this.#jobs.filter(({ paper }) =>
      !this.#running.some((job) => job.paper === paper)
    );
    const [next] = (others.length > 0 ? others : this.#jobs)
      .toSorted((a, b) => left(b.paper) - left(a.paper));
    if (next === undefined) return undefined;
    this.#jobs.splice(this.#jobs.indexOf(next), 1);
    this.#running.push(next);
    return next;
  }

  ended(job: Job): void {
    this.#running.splice(this.#running.indexOf(job), 1);
  }
}

/** A thread for experiments; one that dies is replaced for the next. */
class Thread {
  #worker: Worker | undefined;

  run(
    order: Order,
    computing: (key: string) => void,
  ): Promise<{ outcome: Outcome } | { error: string }> {
    const worker = this.#worker ??= new Worker(
      new URL("./worker.ts", import.meta.url),
      { type: "module" },
    );
    return new Promise((resolve) => {
      worker.onmessage = ({ data }: MessageEvent<Report>) => {
        if (data.kind === "computing") computing(data.key);
        else if (data.kind === "done") resolve({ outcome: data.outcome });
        else resolve({ error: data.error });
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.end();
        resolve({ error: event.message });
      };
      worker.postMessage(order);
    });
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
