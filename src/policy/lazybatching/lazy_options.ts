/** Options of `lazy` and `oracle`, and what they come to. */
import { type SlaNs, targetOf } from "../common/target.ts";
import { flag, knownOptions, oneOf, positiveInteger } from "../options.ts";
import { type Profile, profileOf, type ProfileTable } from "../profile.ts";
import type { Request } from "../request.ts";

/**
 * Options of `lazy` and `oracle`.
 */
export interface LazyOptions {
  /** Offline profile, NodeLatency: a function, or points [rows, ns] by cell. Default: every node counts as 0 ns. */
  profile?: Profile | ProfileTable;
  /** SLA_target of requests without a deadline of their own for starting, in all or by model name; default 100 ms. */
  slaNs?: SlaNs;
  /** Steps a decoder is expected to take; default 32 (section VI-C; see `decTimesteps`). */
  decTimesteps?: number;
  /** Model-allowed maximum batch size; default 64. */
  batchSizeMax?: number;
  /**
   * What waits while nothing runs. "issue": it is issued as one batch, as there is no active batch whose slack it
   * could take (sections IV-B, VI-C). "check": Eq. 2 is asked of it as well, which leaves one request at a time
   * once the first one's slack is negative. Default "issue".
   */
  emptyTable?: "issue" | "check";
  /**
   * Time that has passed since a request was issued. "charge": it counts as it passed, beside what is left of every
   * request in the table. "ignore": Eq. 2 to the letter, T_wait up to the issue and the whole time of every request
   * still there, which forgets what was spent on those that have left. Default "charge". `oracle` always charges.
   */
  elapsedTime?: "charge" | "ignore";
  /**
   * A request whose slack is negative even alone when it is issued. "refuse": while it runs nothing more is issued.
   * "ignore": it is lost and limits nobody. Default "refuse".
   */
  negativeSlack?: "refuse" | "ignore";
  /** Whether a sub-batch that preempted another may be preempted (Fig. 10, t = 5); default true. */
  nestedPreemption?: boolean;
}

/** Options as checked, with their defaults. */
export interface LazySettings
  extends Required<Omit<LazyOptions, "profile" | "slaNs">> {
  readonly name: string;
  readonly profile: Profile;
  /** Latency that a request may have, from its arrival. */
  slaNsOf(request: Request): number;
}

/** @throws TypeError or RangeError on an option that the policy does not have or cannot take */
export function lazySettings(name: string, options: LazyOptions): LazySettings {
  knownOptions(name, options, [
    "profile",
    "slaNs",
    "decTimesteps",
    "batchSizeMax",
    "emptyTable",
    "elapsedTime",
    "negativeSlack",
    "nestedPreemption",
  ]);
  const size = (option: "decTimesteps" | "batchSizeMax", otherwise: number) =>
    positiveInteger(name, option, options[option] ?? otherwise);
  return {
    name,
    profile: profileOf(name, options.profile),
    decTimesteps: size("decTimesteps", 32),
    batchSizeMax: size("batchSizeMax", 64),
    emptyTable: oneOf(name, "emptyTable", options.emptyTable ?? "issue", [
      "issue",
      "check",
    ]),
    elapsedTime: oneOf(name, "elapsedTime", options.elapsedTime ?? "charge", [
      "charge",
      "ignore",
    ]),
    negativeSlack: oneOf(
      name,
      "negativeSlack",
      options.negativeSlack ?? "refuse",
      ["refuse", "ignore"],
    ),
    nestedPreemption: flag(
      name,
      "nestedPreemption",
      options.nestedPreemption ?? true,
    ),
    slaNsOf: targetOf(name, options.slaNs),
  };
}
