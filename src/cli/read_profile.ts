import { readFileSync } from "node:fs";
import { TableCost } from "../cost/table_cost.ts";
import { loadProfile, profileTable } from "../npu/profile.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { UsageError } from "./terminal.ts";

/**
 * Latencies by cell as `shoal profile --out` (this machine) or `shoal npu --profile` (an NPU) saved them.
 * @throws UsageError naming the file when it is neither
 */
export function readProfile(path: string): ProfileTable {
  try {
    const text = readFileSync(path, "utf8");
    const { tablesNs } = JSON.parse(text) as { tablesNs?: ProfileTable };
    if (tablesNs === undefined) return profileTable(loadProfile(text));
    new TableCost(tablesNs);
    return tablesNs;
  } catch (error) {
    throw new UsageError(`Profile ${path}: ${(error as Error).message}`);
  }
}
