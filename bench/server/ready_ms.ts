import { readFileSync } from "node:fs";
import process from "node:process";
import { NS_PER_MS } from "../../src/base/units.ts";

/** Milliseconds that the main thread was kept waiting for a core, as Linux counts them; NaN elsewhere. */
export function readyMs(): number {
  try {
    const told = readFileSync(`/proc/${process.pid}/schedstat`, "utf8");
    return Number(told.split(" ")[1]) / NS_PER_MS;
  } catch {
    return NaN;
  }
}
