/** A team: a leader, its helpers, and how they all leave. */
import { gone, write } from "../access.ts";
import { type Body, then } from "../automaton.ts";
import { type Machine, type View, words } from "../machine.ts";
import { endTeam, helper, leader, type Team } from "./team_member.ts";

export interface Meeting extends Team {
  /** Who ends the team: its leader after the last call, or besides it the engine at any time. */
  readonly ends: "leader" | "engine";
  /** Who may die at any access; only the engine ends such a team. */
  readonly dies?: "leader" | "helper";
}

export function meeting(options: Meeting): Machine {
  const { threads, partsPerThread, ends, dies, fault } = options;
  const helpers = Array.from({ length: threads - 1 }, (_, i) => i + 1);
  const name = (thread: number) => thread === 0 ? "leader" : `helper ${thread}`;

  const meetingWords = {
    calls: 0,
    sleepers: 0,
    ended: 0,
    gate: 0,
    leaderSleeps: 0,
    failed: 0,
    ...words("counters", threads),
  };
  const callWords = { kernel: 0, args: 0, errorBytes: 0 };

  /** Makes the block ready for a fresh team, once nobody of this one is left. */
  function* engine(): Body {
    if (ends === "engine") yield* endTeam(fault);
    for (const thread of [0, ...helpers]) yield gone(name(thread));
    for (const word of Object.keys({ ...meetingWords, ...callWords })) {
      yield write(word, 0);
    }
    return undefined;
  }

  const help = helper(options);
  return {
    words: {
      mixed: meetingWords,
      plain: { ...callWords, ...words("part", threads * partsPerThread) },
      books: words("computed", threads * partsPerThread),
    },
    processes: {
      leader: {
        start: then(leader(options), 1),
        ...(dies === "leader" && { mortal: true }),
      },
      ...Object.fromEntries(helpers.map((thread) => [name(thread), {
        start: then(help, thread, 0),
        ...(dies === "helper" && thread === 1 && { mortal: true }),
      }])),
      engine: { start: then(engine) },
    },
    always: (view) => counted(view, helpers.map(name)),
  };
}

/** A helper asleep is counted: the leader wakes nobody else. */
function counted(view: View, helpers: readonly string[]): string | undefined {
  const asleep = helpers.filter((process) => view.asleep(process)).length;
  const sleepers = view.word("sleepers");
  return asleep > sleepers
    ? `${asleep} helpers sleep, ${sleepers} are counted`
    : undefined;
}
