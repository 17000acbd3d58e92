/** What becomes of a model's requests, in counts and sums of nanoseconds since it was first asked. */
import { SteadyMap } from "../../base/steady_map.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Observer } from "../../policy/records.ts";
import { dateMs } from "../../engine/wall/clock.ts";
import { msToNs } from "../../base/units.ts";
import type {
  HostEnding,
  HostObserver,
  ModelVersion,
} from "./host_observer.ts";
import type { HostRequest } from "./host_request.ts";
import { servedLabel, type ServedModel } from "./served_model.ts";

/** How often, and how long in all. */
export interface CountAndTime {
  /** Times. */
  readonly count: number;
  /** Nanoseconds of all of them. */
  readonly ns: number;
}

/** Figures of a model's version. */
export interface ModelFigures {
  /** When the last request ended, in milliseconds since 1970; 0: none has. */
  readonly lastInferenceMs: number;
  /** Requests that were done, each of their rows. */
  readonly inferences: number;
  /** Batches that workers executed: of cells, so that a request is in many. */
  readonly executions: number;
  /** Requests that were done, from arrival to end. */
  readonly success: CountAndTime;
  /** Those that were not. */
  readonly fail: CountAndTime;
  /** What those that were done waited, for admission and for a worker. */
  readonly queue: CountAndTime;
  /** From the start of their first batch to the end of the last one. */
  readonly compute: CountAndTime;
  /** Batches by their rows, padding left out, and how long workers executed them. */
  readonly batches: ReadonlyMap<number, CountAndTime>;
}

class Sum implements CountAndTime {
  count = 0;
  ns = 0;

  add(ns: number): void {
    this.count++;
    this.ns += Math.round(ns);
  }
}

class Figures implements ModelFigures {
  lastInferenceMs = 0;
  inferences = 0;
  executions = 0;
  readonly success: Sum = new Sum();
  readonly fail: Sum = new Sum();
  readonly queue: Sum = new Sum();
  readonly compute: Sum = new Sum();
  readonly batches: Map<number, Sum> = new Map();
}

/** Counts for all models of a host; figures of a version stay when it is loaded again, unless many others left since. */
export class ModelStatistics implements HostObserver {
  readonly #figures = new Map<string, Figures>();
  /** Of requests that are there, by label: a model may be served under several names. */
  readonly #asked = new SteadyMap<Figures>();

  /** Figures of a model's version. */
  of(served: ServedModel): ModelFigures {
    return this.#of(served);
  }

  /** See HostObserver. */
  engine(_generation: number, models: readonly ServedModel[]): Observer {
    const byCell = new Map<Cell, Figures>();
    for (const served of models) {
      for (const cell of served.model.cells) byCell.set(cell, this.#of(served));
    }
    return {
      task: ({ cell, nodes }, { rows, startNs, endNs }) => {
        // Rows of requests to several names share batches: one is its first row's.
        const label = nodes[0]?.graph.owner.label;
        const asked = label === undefined ? undefined : this.#asked.get(label);
        const figures = asked ?? byCell.get(cell)!;
        figures.executions++;
        let batches = figures.batches.get(rows);
        if (batches === undefined) {
          figures.batches.set(rows, batches = new Sum());
        }
        batches.add(endNs - startNs);
      },
    };
  }

  /** See HostObserver. */
  forget(version: ModelVersion): void {
    this.#figures.delete(servedLabel(version));
  }

  /** See HostObserver. */
  arrived({ label, served }: HostRequest): void {
    this.#asked.set(label, this.#of(served));
  }

  /** See HostObserver. */
  ended(
    { label, served, arrivalNs, input }: HostRequest,
    { outcome, endNs, timing }: HostEnding,
  ): void {
    this.#asked.delete(label);
    const figures = this.#of(served);
    const tookNs = endNs - arrivalNs;
    if (outcome !== "done" || timing === undefined) {
      return figures.fail.add(tookNs);
    }
    const computeNs = Math.min(tookNs, msToNs(timing.ranMs));
    figures.success.add(tookNs);
    figures.compute.add(computeNs);
    figures.queue.add(tookNs - computeNs);
    figures.inferences += served.rowsOf?.(input) ?? 1;
    figures.lastInferenceMs = dateMs();
  }

  #of(served: ServedModel): Figures {
    const label = servedLabel(served);
    let figures = this.#figures.get(label);
    if (figures === undefined) {
      this.#figures.set(label, figures = new Figures());
    }
    return figures;
  }
}
