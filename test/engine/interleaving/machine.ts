import type { Next } from "./automaton.ts";

/** What processes share, and what they do with it. */
export interface Machine {
  /** Words by name, with their first values; every word that a process names is here. */
  readonly words: {
    /** Accessed with `Atomics` alone. */
    readonly atomic?: Readonly<Record<string, number>>;
    /** Never accessed with `Atomics`. */
    readonly plain?: Readonly<Record<string, number>>;
    /** Accessed with `Atomics` while it is shared, and without it before and after. */
    readonly mixed?: Readonly<Record<string, number>>;
    /** Not in memory: the proof's own books. */
    readonly books?: Readonly<Record<string, number>>;
  };
  readonly processes: Readonly<Record<string, Process>>;
  /** What must hold in every state; says what does not. */
  readonly always?: (view: View) => string | undefined;
  /** What must hold when nothing can happen any more. */
  readonly atEnd?: (view: View) => string | undefined;
}

export interface Process {
  readonly start: Next;
  /** Not before another process starts it. */
  readonly later?: true;
  /** It may die before any of its accesses. */
  readonly mortal?: true;
  /** It need not end: it may sleep for ever. */
  readonly rests?: true;
}

/** One state, for those who judge it. */
export interface View {
  word(name: string): number;
  /** Whether a process is asleep on the word it waits for. */
  asleep(process: string): boolean;
  /** Died, or not started. */
  absent(process: string): boolean;
}

/** Words `name[0]` to `name[length - 1]`, each of the value. */
export function words(
  name: string,
  length: number,
  value = 0,
): Record<string, number> {
  return Object.fromEntries(
    Array.from({ length }, (_, i) => [`${name}[${i}]`, value]),
  );
}
