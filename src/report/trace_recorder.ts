import { Column } from "../metrics/column.ts";
import type { Launch, Note, Task } from "../policy/launch.ts";
import type { Observer, RequestRecord, TaskRecord } from "../policy/records.ts";
import type { Request } from "../policy/request.ts";

/** Why a launch was decided, and when. */
export interface LaunchReason {
  readonly atNs: number;
  readonly why: string;
  readonly notes: readonly Note[];
}

/**
 * Keeps the records of a run's first requests, for a trace of bearable size; of all the others only when
 * they waited, because they are part of the queue.
 */
export class TraceRecorder implements Observer {
  readonly requests: RequestRecord[] = [];
  /** The tasks in which one of these requests has a row. */
  readonly tasks: TaskRecord[] = [];
  /** Of the launches of these tasks, by id. */
  readonly reasons = new Map<number, LaunchReason>();
  /** Of every request that has departed, recorded or not: when it came, and when it began or gave up. */
  readonly queuedNs = new Column();
  readonly dequeuedNs = new Column();
  /** Arrival of the first request that is not recorded; Infinity when all are. */
  stopNs = Infinity;

  /** @param requestsMax requests that are recorded, in order of arrival; default 200 */
  constructor(readonly requestsMax = 200) {
    if (!Number.isInteger(requestsMax) || requestsMax < 1) {
      throw new RangeError(
        `"requestsMax" of a trace is a positive integer, got ${requestsMax}`,
      );
    }
  }

  /** Requests that have departed. */
  get requestsSeen(): number {
    return this.queuedNs.length;
  }

  /** Whether the request is one of those recorded: ids ascend from 0 in order of arrival. */
  includes(id: number): boolean {
    return id < this.requestsMax;
  }

  decided(atNs: number, launch: Launch, launchId: number): void {
    // Nothing is looked through for requests that have all departed.
    if (this.requests.length === this.requestsMax) return;
    const { steps, tail, why, notes = [] } = launch;
    const isOurs = tail?.requests.some(({ id }) => this.includes(id)) ||
      steps.some(({ nodes }) =>
        nodes.some(({ graph }) => this.includes((graph.owner as Request).id))
      );
    if (isOurs) this.reasons.set(launchId, { atNs, why, notes });
  }

  task(_task: Task | undefined, record: TaskRecord): void {
    if (record.requests.some((id) => this.includes(id))) {
      this.tasks.push(record);
    }
  }

  request(_request: Request | undefined, record: RequestRecord): void {
    const { id, arrivalNs, startNs, endNs } = record;
    this.queuedNs.push(arrivalNs);
    this.dequeuedNs.push(Number.isNaN(startNs) ? endNs : startNs);
    if (this.includes(id)) this.requests.push(record);
    else this.stopNs = Math.min(this.stopNs, arrivalNs);
  }
}
