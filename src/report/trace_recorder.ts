import type { Task } from "../policy/launch.ts";
import type { Observer, RequestRecord, TaskRecord } from "../policy/records.ts";
import type { Request } from "../policy/request.ts";

/** Keeps the records of a run's first requests, for a trace of bearable size. */
export class TraceRecorder implements Observer {
  readonly requests: RequestRecord[] = [];
  /** The tasks in which one of these requests has a row. */
  readonly tasks: TaskRecord[] = [];

  /** @param requestsMax requests that are recorded, in order of arrival; default 200 */
  constructor(readonly requestsMax = 200) {
    if (!Number.isInteger(requestsMax) || requestsMax < 1) {
      throw new RangeError(
        `"requestsMax" of a trace is a positive integer, got ${requestsMax}`,
      );
    }
  }

  /** Whether the request is one of those recorded: ids ascend from 0 in order of arrival. */
  includes(id: number): boolean {
    return id < this.requestsMax;
  }

  task(_task: Task | undefined, record: TaskRecord): void {
    if (record.requests.some((id) => this.includes(id))) {
      this.tasks.push(record);
    }
  }

  request(_request: Request | undefined, record: RequestRecord): void {
    if (this.includes(record.id)) this.requests.push(record);
  }
}
