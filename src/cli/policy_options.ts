import type { ProfileTable } from "../policy/profile.ts";
import { POLICIES, type PolicyEntry } from "../policy/registry.ts";

/** What a bench sets policies up by. */
export interface PolicySetting {
  batchSizeMax: number;
  /** Measured on this machine; policies that decide by time get it. */
  profile?: ProfileTable;
}

/** How a policy is set up: the same maximum batch size for all, in the terms of each, as far as it has any. */
export function policyOptions(
  policy: string,
  { batchSizeMax, profile }: PolicySetting,
): Record<string, unknown> {
  const { options, limited } = POLICIES[policy];
  return {
    ...(limited?.(batchSizeMax) ??
      ("batchSizeMax" in options && { batchSizeMax })),
    ...(profile !== undefined && "profile" in options && { profile }),
  };
}

/** Whether a policy's batches can be limited. */
export function hasLimit({ options, limited }: PolicyEntry): boolean {
  return limited !== undefined || "batchSizeMax" in options;
}
