/** The first decisions of a run, a line each: what a policy did in a cell of the arena, and why. */
import { nsToMs } from "../../src/base/units.ts";
import type { Observer } from "../../src/policy/records.ts";
import {
  DecisionLog,
  tellLaunch,
  tellNote,
} from "../../src/report/decision_log.ts";

/** Launches and waits that are told. */
export const DECISIONS = 60;

/** Ends a run that has told enough. */
class Enough extends Error {}

/**
 * @param run a run, which is left as soon as it has told enough
 * @returns lines of time and what was decided; one decision that is repeated at once is one line
 */
export function firstDecisions(
  policy: string,
  run: (observer: Pick<Observer, "decided" | "waited">) => void,
): string[] {
  const log = new DecisionLog(policy);
  const decisions: { atNs: number; text: string; times: number }[] = [];
  let count = 0;
  const tell = (atNs: number, text: string): void => {
    const last = decisions.at(-1);
    if (last?.text === text) last.times++;
    else decisions.push({ atNs, text, times: 1 });
  };
  const decided = (): void => {
    if (++count >= DECISIONS) throw new Enough();
  };
  try {
    run({
      decided(atNs, launch, id) {
        log.decided(atNs, launch, id);
        const { notes = [] } = launch;
        for (const note of notes) tell(atNs, tellNote(note));
        const { requests } = log.launches.get(id)!;
        tell(
          atNs,
          `${tellLaunch(log.launches.get(id)!)}: ${shortList(requests)}`,
        );
        decided();
      },
      waited(atNs, untilNs, why) {
        tell(atNs, `wait until ${ms(untilNs)}: ${why ?? "no reason given"}`);
        decided();
      },
    });
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
  }
  return decisions.map(({ atNs, text, times }) =>
    `${ms(atNs)}  ${text}${times > 1 ? ` (${times} times)` : ""}`
  );
}

/** Runs of ids as "4-9". */
function shortList(ids: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < ids.length;) {
    let end = i;
    while (ids[end + 1] === ids[end] + 1) end++;
    parts.push(end > i ? `${ids[i]}-${ids[end]}` : `${ids[i]}`);
    i = end + 1;
  }
  return parts.join(", ");
}

function ms(ns: number): string {
  return `${nsToMs(ns).toFixed(3)} ms`;
}
