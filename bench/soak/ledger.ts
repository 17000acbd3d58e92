import type { Outcome, RequestRecord } from "../../src/policy/records.ts";
import { nsToMs } from "../../src/base/units.ts";
import { LogHistogram } from "./histogram.ts";

/** How a request may end at its caller. The last four should not happen. */
export const ENDINGS = [
  "done",
  "expired",
  "cancelled",
  "queueFull",
  "badInput",
  "wrong",
  "lost",
  "doubled",
  "unexpected",
] as const;

export type EndingName = (typeof ENDINGS)[number];

const FAULTS: readonly EndingName[] = [
  "wrong",
  "lost",
  "doubled",
  "unexpected",
];

/** Faults that are told in full. */
const TOLD = 20;

/** What happened in one phase, in bounded memory. Times in milliseconds. */
export class Ledger {
  readonly counts = Object.fromEntries(
    ENDINGS.map((name) => [name, 0]),
  ) as Record<EndingName, number>;
  /** Answers by model. */
  readonly doneByModel: Record<string, number> = {};
  /** Requests handed to the engine, and those of them that have not ended. */
  offered = 0;
  open = 0;
  /** Arrivals the generator could not submit within its patience. */
  skipped = 0;
  /** Answers of requests that started in time and ended after their deadline. */
  afterDeadline = 0;
  /** From the call of `run` to the answer. */
  readonly latencyMs = new LogHistogram();
  /** From a deadline to the DeadlineError. */
  readonly latenessMs = new LogHistogram();
  /** From the time a request was due to the call of `run`. */
  readonly submittedLateMs = new LogHistogram();
  /** By how much later a timer's callback came than it was due. */
  readonly loopDelayMs = new LogHistogram();
  /** Time of a worker on one task. */
  readonly taskMs = new LogHistogram();
  /** Departures as the engine's observer is told. */
  readonly departed: Record<Outcome, number> = {
    done: 0,
    failed: 0,
    cancelled: 0,
    expired: 0,
  };
  readonly #told: string[] = [];

  end(ending: EndingName, what?: string): void {
    this.counts[ending]++;
    if (what !== undefined && this.#told.length < TOLD) {
      this.#told.push(`${ending}: ${what}`);
    }
  }

  /** The right answer came. */
  answered(model: string, tookMs: number, deadlineMs = Infinity): void {
    this.counts.done++;
    this.doneByModel[model] = (this.doneByModel[model] ?? 0) + 1;
    this.latencyMs.add(tookMs);
    if (tookMs > deadlineMs) this.afterDeadline++;
  }

  /** The engine says that a request departed. */
  departure({ id, outcome, model }: RequestRecord, isFirst: boolean): void {
    this.departed[outcome]++;
    if (!isFirst) {
      this.end("doubled", `request ${id} of ${model} departed twice`);
    }
  }

  task(startNs: number, endNs: number): void {
    this.taskMs.add(nsToMs(endNs - startNs));
  }

  /** Nothing more will come: what is still open is lost, and the engine's own books have to agree. */
  close(): void {
    if (this.open > 0) {
      this.counts.lost += this.open;
      this.#told.push(`lost: ${this.open} requests never ended`);
      return;
    }
    for (const outcome of ["done", "expired"] as const) {
      const here = this.counts[outcome] +
        (outcome === "done" ? this.counts.wrong : 0);
      const there = this.departed[outcome];
      if (here === there) continue;
      this.end(
        here > there ? "doubled" : "lost",
        `${here} callers heard "${outcome}", the engine reported ${there}`,
      );
    }
  }

  get faults(): number {
    return FAULTS.reduce((sum, name) => sum + this.counts[name], 0);
  }

  /** The first faults in words. */
  get told(): readonly string[] {
    return this.#told;
  }
}
