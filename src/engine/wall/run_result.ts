import type { OutputTypes, Result } from "../../graph/result.ts";
import type { Timing } from "./timing.ts";

/** What became of a request, or of a frame of a stream. */
export interface RunResult<Outputs extends OutputTypes = OutputTypes> {
  /** The model's results by name. */
  readonly outputs: Result<Outputs>;
  /** How long it queued and ran. */
  readonly timing: Timing;
}
