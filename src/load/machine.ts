/** What the generator takes of the machine that it is on. */
import os from "node:os";
import process from "node:process";

/** Of the time between two looks. */
export interface MachineUse {
  /** Processor time of the generator per second; 1 is a core, and all that its event loop can use. */
  readonly ownCores: number;
  /** Share of all cores' time that somebody used; NaN where the system does not tell. */
  readonly busyShare: number;
  readonly cores: number;
}

/** Starts to look. @returns what tells the use since then */
export function watchMachine(nowNs: () => number): () => MachineUse {
  const from = { ...times(), atNs: nowNs() };
  return () => {
    const to = { ...times(), atNs: nowNs() };
    const all = to.all - from.all;
    return {
      ownCores: (to.ownUs - from.ownUs) * 1000 / (to.atNs - from.atNs),
      busyShare: all > 0 ? 1 - (to.idle - from.idle) / all : NaN,
      cores: os.cpus().length,
    };
  };
}

function times(): { ownUs: number; all: number; idle: number } {
  const { user, system } = process.cpuUsage();
  let all = 0;
  let idle = 0;
  for (const { times } of os.cpus()) {
    all += times.user + times.nice + times.sys + times.irq + times.idle;
    idle += times.idle;
  }
  return { ownUs: user + system, all, idle };
}
