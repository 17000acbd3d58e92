import type { Policy } from "../../policy/policy.ts";

/** A policy keeps what it knows of requests: engines that shared one would launch each other's. */
const claimed = new WeakSet<Policy>();

/** @throws TypeError when the policy serves an engine, or has served one */
export function checkUnclaimed(policy: Policy): void {
  if (!claimed.has(policy)) return;
  throw new TypeError(
    `Policy "${policy.name}" serves another engine, or has: make one for each engine, by calling its function again`,
  );
}

/** @throws TypeError when the policy serves an engine, or has served one */
export function claimPolicy(policy: Policy): void {
  checkUnclaimed(policy);
  claimed.add(policy);
}
