/** CPU time of this process and of the thread that asks, and time for which that one waited for a processor. */
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

function mainMs(): number | undefined {
  return mainTimes()?.ranMs;
}

/** Time for which the first thread could have run and had no processor; undefined where the system does not tell. */
export function waitedMs(): number | undefined {
  return mainTimes()?.waitedMs;
}

/** Linux: nanoseconds on a processor come first, then those of waiting (Documentation/scheduler/sched-stats.rst). */
function mainTimes(): { ranMs: number; waitedMs: number } | undefined {
  try {
    const { pid } = process;
    const text = readFileSync(`/proc/self/task/${pid}/schedstat`, "utf8");
    const [ran, waited] = text.split(" ").map((ns) => Number(ns) / NS_PER_MS);
    return { ranMs: ran, waitedMs: waited };
  } catch {
    return undefined;
  }
}
