import os from "node:os";
import process from "node:process";

/** Time that the machine's cores have been busy, and for this process; milliseconds. */
interface Busy {
  readonly all: number;
  readonly idle: number;
  readonly own: number;
}

function busy(): Busy {
  const times = os.cpus().map(({ times }) => times);
  const { user, system } = process.cpuUsage();
  return {
    all: times.reduce(
      (sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq,
      0,
    ),
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    own: (user + system) / 1000,
  };
}

/**
 * Starts to watch what other processes take of the machine: what was measured beside others is not the engine's.
 * @returns what tells their share of all cores' time since then; NaN where the system tells none
 */
export function watchOthers(): () => number {
  const from = busy();
  return () => {
    const to = busy();
    const all = to.all - from.all;
    const others = Math.max(0, all - (to.own - from.own));
    return others / (all + to.idle - from.idle);
  };
}
