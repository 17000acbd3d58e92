/** Every state that a machine can be in, and the shortest way to one in which a rule is broken. */
import { type Access, OK } from "./access.ts";
import { Broken } from "./automaton.ts";
import type { Machine } from "./machine.ts";
import { StateSet } from "./state_set.ts";
import { DIES, WAKES, World } from "./world.ts";

export interface Found {
  /** States that were looked at: all there are, unless a rule is broken. */
  readonly states: number;
  readonly broken?: Counterexample;
}

export interface Counterexample {
  readonly what: string;
  /** One line per access. */
  readonly schedule: readonly string[];
}

/** A list of numbers without a box around each. */
class Numbers {
  #values = new Int32Array(1 << 12);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const values = new Int32Array(2 * this.length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.length++] = value;
  }

  get(i: number): number {
    return this.#values[i];
  }
}

/** Ways per process that a move's number has room for, those included that need not come. */
const WAYS = 16;

export interface Search {
  /** Words whose accesses are checked for races; default: all that are not atomic. */
  readonly watch?: readonly string[];
  /** Sleepers may wake up without a notification. */
  readonly spurious?: boolean;
  /** States for each word that is watched; default 1,000,000. */
  readonly statesMax?: number;
}

/**
 * Looks at every interleaving. Once for each word that is accessed without `Atomics`, watching it alone:
 * who has heard of which access makes states differ, and is better added up than multiplied.
 * @throws RangeError when there are more than `statesMax` states: nothing is proved then
 */
export function search(machine: Machine, options: Search = {}): Found {
  const { plain, mixed } = machine.words;
  const { watch = Object.keys({ ...plain, ...mixed }) } = options;
  let states = 0;
  for (const word of watch.length > 0 ? watch : [undefined]) {
    const found = searchWatching(machine, word, options);
    states += found.states;
    if (found.broken) return { ...found, states };
  }
  return { states };
}

function searchWatching(
  machine: Machine,
  watched: string | undefined,
  { spurious = false, statesMax = 1_000_000 }: Search,
): Found {
  const world = new World(machine, watched);
  const states = new StateSet(world.initial.length);
  const parents = new Numbers();
  const moves = new Numbers();
  const edgesFrom = new Numbers();
  const edgesTo = new Numbers();
  const ends: number[] = [];
  const from = new Int32Array(world.initial.length);
  const state = new Int32Array(world.initial.length);
  const found = (what: string, id: number, move?: number): Found => ({
    states: states.size,
    broken: {
      what,
      schedule: scheduleOf(world, [
        ...movesTo(id, parents, moves),
        ...(move === undefined ? [] : [move]),
      ]),
    },
  });
  states.add(world.initial);
  parents.push(-1);
  moves.push(-1);
  for (let id = 0; id < states.size; id++) {
    states.copy(id, from);
    let what = machine.always?.(world.view(from));
    if (what !== undefined) return found(what, id);
    let stuck = true;
    const decides = world.decides(from);
    for (let p = 0; p < world.names.length; p++) {
      if (decides !== undefined && decides !== p) continue;
      const ways = world.ways(from, p);
      stuck &&= ways === 0;
      for (let way = WAKES; way < ways; way++) {
        if (way === WAKES && !(spurious && world.may(from, p, way))) continue;
        if (way === DIES && !world.may(from, p, way)) continue;
        state.set(from);
        const move = moveOf(p, way);
        try {
          world.go(state, p, way);
        } catch (error) {
          if (!(error instanceof Broken)) throw error;
          return found(error.message, id, move);
        }
        const size = states.size;
        const to = states.add(state);
        // What need not come is nothing to rely on.
        if (way >= 0) {
          edgesFrom.push(id);
          edgesTo.push(to);
        }
        if (to < size) continue;
        if (size === statesMax) {
          throw new RangeError(`more than ${statesMax} states`);
        }
        parents.push(id);
        moves.push(move);
      }
    }
    if (!stuck) continue;
    const left = world.names.filter((_, p) => !world.mayRest(from, p));
    what = left.length > 0
      ? `${left.join(", ")} can never go on`
      : machine.atEnd?.(world.view(from));
    if (what !== undefined) return found(what, id);
    ends.push(id);
  }
  const lost = withoutEnd(states.size, edgesFrom, edgesTo, ends);
  if (lost !== undefined) return found("from here on there is no end", lost);
  return { states: states.size };
}

/** The first state from which no end can be reached. */
function withoutEnd(
  states: number,
  from: Numbers,
  to: Numbers,
  ends: readonly number[],
): number | undefined {
  const firsts = new Int32Array(states + 1);
  for (let e = 0; e < to.length; e++) firsts[to.get(e) + 1]++;
  for (let id = 0; id < states; id++) firsts[id + 1] += firsts[id];
  const before = new Int32Array(to.length);
  const next = firsts.slice();
  for (let e = 0; e < to.length; e++) {
    before[next[to.get(e)]++] = from.get(e);
  }
  const ending = new Uint8Array(states);
  const left = [...ends];
  for (const id of ends) ending[id] = 1;
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    for (let e = firsts[id]; e < firsts[id + 1]; e++) {
      if (ending[before[e]] === 1) continue;
      ending[before[e]] = 1;
      left.push(before[e]);
    }
  }
  const lost = ending.indexOf(0);
  return lost < 0 ? undefined : lost;
}

function moveOf(p: number, way: number): number {
  return p * WAYS + way - WAKES;
}

function movesTo(id: number, parents: Numbers, moves: Numbers): number[] {
  const back: number[] = [];
  for (; parents.get(id) >= 0; id = parents.get(id)) back.push(moves.get(id));
  return back.reverse();
}

function scheduleOf(world: World, moves: readonly number[]): string[] {
  const lines: string[] = [];
  const state = world.initial.slice();
  for (const move of moves) {
    const p = Math.floor(move / WAYS);
    const way = move % WAYS + WAKES;
    if (way < 0) {
      lines.push(`${world.names[p]}: ${way === DIES ? "dies" : "wakes up"}`);
    }
    try {
      world.go(state, p, way, (process, access, answer) => {
        const line = spelled(access, answer);
        if (line !== undefined) lines.push(`${process}: ${line}`);
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
    }
  }
  return lines;
}

/** An access as a reader of a counterexample wants it. */
export function spelled(access: Access, answer: number): string | undefined {
  switch (access.op) {
    case "load":
    case "read":
      return `${access.op} ${access.word} -> ${answer}`;
    case "store":
    case "write":
      return `${access.op} ${access.word} = ${access.value}`;
    case "add":
      return `add ${access.word} += ${access.value} -> ${answer}`;
    case "cas":
      return `cas ${access.word} ${access.expected} => ${access.value} -> ${answer}`;
    case "wait":
    case "listen":
      return `${access.op} ${access.word} while ${access.value} -> ${
        answer === OK ? "sleeps" : "not equal"
      }`;
    case "notify":
      return `notify ${access.word}`;
    case "choose":
      return `chooses ${answer}`;
    case "event":
      return `event ${answer}`;
    case "start":
    case "gone":
      return `${access.op} ${access.process}`;
    case "count":
    case "look":
      return undefined;
  }
}
