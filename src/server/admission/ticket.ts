/** A request on its way through admission. */
import type { HostRequest } from "../host/host_request.ts";
import type { CostEstimate } from "./cost_estimate.ts";

export class Ticket {
  /** Those that were admitted before it and what they had left to do, when it came; nanoseconds of work. */
  aheadNs = 0;
  /** When it was asked for: its arrival, or, of a stream's frame, when those before it were on their way. */
  askedNs = 0;
  /** From then to its end, as expected then; NaN when nothing was known. */
  latencyNs = NaN;
  /** What it was expected to cost when it was given to the engine. */
  expectedNs = 0;
  /** What workers spent on it so far. */
  workNs = 0;
  /** Let in whatever was expected of it, so that what is known of its model does not stay wrong. */
  isTrial = false;
  /** How it left the queue, if it waits there. */
  settle: ((error?: unknown) => void) | undefined;
  /** Neighbours in its level, while it waits. */
  before: Ticket | undefined;
  after: Ticket | undefined;

  /**
   * @param level 0 is served first
   * @param size see `requestSize`
   * @param finishNs when its caller has no use for it any more; Infinity: never
   * @param dueNs when it is to be done, by its caller's deadline or the server's target, whichever is earlier
   */
  constructor(
    readonly request: HostRequest,
    readonly level: number,
    readonly size: number,
    readonly estimate: CostEstimate,
    readonly finishNs: number,
    readonly dueNs: number,
  ) {}

  /** Of what it was expected to cost, what was not spent yet. */
  get leftNs(): number {
    return Math.max(0, this.expectedNs - this.workNs);
  }
}
