import type { ProfileTable } from "../policy/profile.ts";

/** What a bench sets policies up by. */
export interface PolicySetting {
  batchSizeMax: number;
  /** Measured on this machine; policies that decide by time get it. */
  profile?: ProfileTable;
}

type Options = Record<string, unknown>;

const PROFILED = ["lazy", "oracle", "dvabatch"];

/** How a policy is set up: the same maximum batch size for all, in the terms of each. */
export function policyOptions(
  policy: string,
  { batchSizeMax, profile }: PolicySetting,
): Options {
  if (policy === "serial") return {};
  if (policy === "n-ebird") {
    return { workers: elasticSizes(batchSizeMax), maxInf: batchSizeMax };
  }
  if (policy === "e-ebird") {
    return {
      configurations: elasticConfigurations(batchSizeMax),
      maxInf: batchSizeMax,
    };
  }
  const profiled = profile !== undefined && PROFILED.includes(policy);
  return { batchSizeMax, ...(profiled && { profile }) };
}

/** Sizes 1, 1, 2, 4, ... that sum to a power of two (E2bird, section 7.2.1). */
function elasticSizes(batchSizeMax: number): number[] {
  const sizes = [1];
  for (let size = 1; 2 * size <= batchSizeMax; size *= 2) sizes.push(size);
  return sizes;
}

/**
 * Assumption: this machine's workers share nothing, so that a mix is as good as its largest worker: one of
 * half the load and two of a quarter, as in Table 4's mix for 32.
 */
function elasticConfigurations(
  batchSizeMax: number,
): Record<number, number[]> {
  const found: Record<number, number[]> = {};
  for (let total = 1; total <= batchSizeMax; total *= 2) {
    const counts = new Array<number>(Math.log2(total) + 1).fill(0);
    if (total < 4) counts[counts.length - 1] = 1;
    else {
      counts[counts.length - 2] = 1;
      counts[counts.length - 3] = 2;
    }
    found[total] = counts;
  }
  return found;
}
