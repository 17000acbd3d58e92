import { describe, shorten } from "../base/describe.ts";
import { TableCost } from "../cost/table_cost.ts";
import { loadProfile, profileTable } from "../npu/profile.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { parseJson, readText } from "./files.ts";
import { checkDurations } from "./limits.ts";
import { UsageError } from "./terminal.ts";

/** Reads each profile once, however many ask for it: of a pipe nothing is left the second time. */
export function profileReader(): (path: string) => ProfileTable {
  const known = new Map<string, ProfileTable>();
  return (path) => {
    const table = known.get(path) ?? readProfile(path);
    known.set(path, table);
    return table;
  };
}

/**
 * Latencies by cell as `shoal profile --out` (this machine) or `shoal npu --profile` (an NPU) saved them.
 * @throws UsageError naming the file when it is neither
 */
export function readProfile(path: string): ProfileTable {
  const label = `Profile ${shorten(path)}`;
  const text = readText(path);
  return profileIn({ text, value: parseJson(text, label) }, label);
}

/**
 * The same of what has been read.
 * @param value what the text says
 * @throws UsageError beginning with the label
 */
export function profileIn(
  { text, value }: { readonly text: string; readonly value: unknown },
  label: string,
): ProfileTable {
  try {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new RangeError(
        `it is what shoal profile or shoal npu --profile saved, got ${
          describe(value)
        }`,
      );
    }
    const tables = isTabled(value)
      ? value.tablesNs
      : profileTable(loadProfile(text));
    if (typeof tables !== "object" || tables === null) {
      throw new RangeError(
        `"tablesNs" are tables by cell, got ${describe(tables)}`,
      );
    }
    new TableCost(tables);
    checkDurations(tables, '"tablesNs"');
    return tables;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`${label}: ${error.message}`);
  }
}

function isTabled(value: object): value is { tablesNs: ProfileTable } {
  return "tablesNs" in value;
}
