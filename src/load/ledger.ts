/** Books of a run: for each request when it was due, sent, heard of and over, and how it ended. */
import { Column } from "../metrics/column.ts";
import type { WireAnswer } from "./wire.ts";

/** How a request can end. */
export const ENDS = [
  /** A whole answer with a status from 200 to 299. */
  "completed",
  /** 429 or 503: the server would not take it. */
  "refused",
  /** Any other status, a broken connection, an error in a stream, a time-out. */
  "failed",
  /** Its client left, as the plan has it. */
  "left",
] as const;

export type End = typeof ENDS[number];

const REFUSALS: readonly number[] = [429, 503];

/** What stands for a request that no status is known of. */
export const TIMED_OUT = "timed out";

export class Ledger {
  /** Times of the generator's clock; NaN where it did not come to it. */
  readonly dueNs: Float64Array;
  /** When the generator came to it. */
  readonly launchedNs: Float64Array;
  /** When it had a connection. */
  readonly sentNs: Float64Array;
  /** The answer's first byte. */
  readonly firstNs: Float64Array;
  /** Its first event, of a stream. */
  readonly firstEventNs: Float64Array;
  readonly endNs: Float64Array;
  /** Index into ENDS; 255: it is not over. */
  readonly ends: Uint8Array;
  /** Between an event of a stream and the next, of all requests that count. */
  readonly gapsNs = new Column();
  /** Requests that failed or were refused, by status or by why. */
  readonly reasons = new Map<string, number>();
  /** Events of streams of requests that count. */
  events = 0;
  /** Most that were under way or waited for a connection at a time. */
  openMost = 0;

  /** @param requests how many there are */
  constructor(requests: number) {
    const column = () => new Float64Array(requests).fill(NaN);
    this.dueNs = column();
    this.launchedNs = column();
    this.sentNs = column();
    this.firstNs = column();
    this.firstEventNs = column();
    this.endNs = column();
    this.ends = new Uint8Array(requests).fill(255);
  }

  /** Notes the end of a request. @param counts whether it is after the warm-up */
  ended(
    i: number,
    answer: WireAnswer,
    why: "left" | "timed out" | undefined,
    counts: boolean,
  ): void {
    const { status, error, firstNs, endNs, eventsNs } = answer;
    const end = why === "left" && error !== undefined
      ? "left"
      : error !== undefined
      ? "failed"
      : status >= 200 && status < 300
      ? "completed"
      : REFUSALS.includes(status)
      ? "refused"
      : "failed";
    this.ends[i] = ENDS.indexOf(end);
    this.firstNs[i] = firstNs;
    this.endNs[i] = endNs;
    if (eventsNs.length > 0) this.firstEventNs[i] = eventsNs[0];
    if (!counts) return;
    if (end === "failed" || end === "refused") {
      const reason = why === "timed out" && error !== undefined
        ? TIMED_OUT
        : error ?? `status ${status}`;
      this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    }
    this.events += eventsNs.length;
    for (let k = 1; k < eventsNs.length; k++) {
      this.gapsNs.push(eventsNs[k] - eventsNs[k - 1]);
    }
  }
}
