/** CPU time of this process and of the thread that asks. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { NS_PER_MS } from "../../src/base/units.ts";

export interface CpuMs {
  /** Of all threads. */
  readonly all: number;
  /** Of the first one; undefined where the system does not tell (Linux does). */
  readonly main: number | undefined;
}

export function cpuMs(): CpuMs {
  const { user, system } = process.cpuUsage();
  return { all: (user + system) / 1000, main: mainMs() };
}

/** CPU time since then. */
export function cpuSince(before: CpuMs): CpuMs {
  const { all, main } = cpuMs();
  return {
    all: all - before.all,
    main: main === undefined || before.main === undefined
      ? undefined
      : main - before.main,
  };
}

/** Linux: time on a processor in nanoseconds comes first (Documentation/scheduler/sched-stats.rst). */
function mainMs(): number | undefined {
  try {
    const { pid } = process;
    const text = readFileSync(`/proc/self/task/${pid}/schedstat`, "utf8");
    return Number(text.split(" ")[0]) / NS_PER_MS;
  } catch {
    return undefined;
  }
}
