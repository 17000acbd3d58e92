/**
 * Generators as automata. What a process does next depends on the routine it is in, the routine's
 * arguments, and the answers it got since: nothing else, so a routine reads no variable that changes
 * outside of it. Those three name a node; a node is run once, by feeding the answers to a fresh generator,
 * and kept. A loop that may go round any number of times ends its routine with `then(routine, ...)`, which
 * starts it anew and forgets the answers: that is what keeps the number of nodes finite.
 */
import type { Access } from "./access.ts";

export type Body<T = Next> = Generator<Access, T, number>;

/** Where a process goes on; undefined: it has ended. */
export type Next = Then | undefined;

export type Routine = (...args: number[]) => Body;

interface Then {
  readonly routine: Routine;
  readonly args: readonly number[];
}

export function then(routine: Routine, ...args: number[]): Then {
  return { routine, args };
}

/** What a process found that must not be. */
export class Broken extends Error {}

export function ensure(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Broken(what);
}

/** A place that a process can be at. */
export interface Node {
  readonly id: number;
  /** What it does there; "ended" and "broken" are the ends. */
  readonly at: Access | "ended" | { readonly broken: string };
}

/** Node of every process that has ended. */
export const ENDED = 0;

interface Known extends Node {
  readonly start: Then | undefined;
  readonly answers: readonly number[];
  readonly next: Map<number, number>;
}

/** Routines that only lead to others, without an access; more are a circle. */
const HOPS_MAX = 100;

export class Automaton {
  readonly #nodes: Known[] = [
    { id: ENDED, at: "ended", start: undefined, answers: [], next: new Map() },
  ];
  readonly #starts = new Map<Routine, Map<string, number>>();

  get size(): number {
    return this.#nodes.length;
  }

  node(id: number): Node {
    return this.#nodes[id];
  }

  /** Where a process is that starts so. */
  enter(start: Next): number {
    for (let hops = 0; hops < HOPS_MAX; hops++) {
      if (start === undefined) return ENDED;
      let byArgs = this.#starts.get(start.routine);
      if (!byArgs) this.#starts.set(start.routine, byArgs = new Map());
      const key = start.args.join();
      const known = byArgs.get(key);
      if (known !== undefined) return known;
      const reached = this.#run(start, []);
      if (typeof reached === "number") {
        byArgs.set(key, reached);
        return reached;
      }
      start = reached.then;
    }
    throw new Error("routines lead to each other without an access");
  }

  /** Where a process at `id` is after it got `answer`. */
  after(id: number, answer: number): number {
    const from = this.#nodes[id];
    let next = from.next.get(answer);
    if (next === undefined) {
      const reached = this.#run(from.start!, [...from.answers, answer]);
      next = typeof reached === "number" ? reached : this.enter(reached.then);
      from.next.set(answer, next);
    }
    return next;
  }

  #run(start: Then, answers: readonly number[]): number | { then: Next } {
    const body = start.routine(...start.args);
    let at: Node["at"];
    try {
      let step = body.next();
      for (const answer of answers) step = body.next(answer);
      if (step.done) return { then: step.value };
      at = step.value;
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      at = { broken: error.message };
    }
    const id = this.#nodes.length;
    this.#nodes.push({ id, at, start, answers, next: new Map() });
    return id;
  }
}
