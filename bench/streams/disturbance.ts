/** Whether other processes have had processors that the engine needed: what is late then says nothing about it. */
import { watchOthers } from "../../src/cli/watch_others.ts";
import { waitedMs } from "./cpu.ts";

/**
 * Share of the time for which the engine's thread could have run and had no processor. Beside an idle machine it is up
 * to 0.7 % in a second, since other threads of the process have their turns, too; in seconds with more, frames are late
 * at loads that have no late ones otherwise.
 */
const WAITED_MAX = 0.008;
/** Where nobody tells, or waiting says nothing: share of the machine that others may have. Their CPU time comes in hundredths of a second. */
const OTHERS_MAX = 0.03;

/**
 * Starts to watch.
 * @param alone whether the engine has no other threads: its own wait for each other, too
 * @returns what tells whether there was too much of it since then
 */
export function watchDisturbance(alone = true): () => boolean {
  const fromMs = performance.now();
  const before = alone ? waitedMs() : undefined;
  const othersSince = watchOthers();
  return () => {
    const waited = waitedMs();
    if (waited === undefined || before === undefined) {
      return othersSince() > OTHERS_MAX;
    }
    return (waited - before) / (performance.now() - fromMs) > WAITED_MAX;
  };
}
