/** A request that a host has taken in: what it waits for, and how it begins. */
import type { FrameTurn } from "./frame_turns.ts";
import type { AdmittedOptions } from "./run_options.ts";

/** @typeParam T what it comes to */
export interface Entered<T> {
  /** When it may ask for admission; default: at once. */
  readonly turn?: FrameTurn;
  /** Gives it to the engine, when it is admitted. */
  begin(options: AdmittedOptions): Promise<T>;
}
