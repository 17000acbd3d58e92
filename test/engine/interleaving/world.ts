/**
 * One state of a machine, and how it becomes the next.
 *
 *     | words | node of each process | what each listens to | who sleeps | who has not heard of what |
 *
 * Words are sequentially consistent. That is enough for plain words as well: as long as no execution has
 * a race, memory that may delay plain accesses cannot be told from memory that does not (ECMA-262,
 * "Sequential Consistency of Data Race Free Programs"), and every race is reported.
 */
import { type Access, NOT_EQUAL, OK, RUNG } from "./access.ts";
import { Automaton, Broken, ENDED } from "./automaton.ts";
import { Ignorance, type Kind } from "./ignorance.ts";
import type { Machine, Process, View } from "./machine.ts";

/** Nodes of processes that are not there. */
const DEAD = -1;
const LATER = -2;

const NOWHERE = 0;
const HEARD = -1;

/** Ways to go on that need not come: dying, and waking up without a notification. */
export const DIES = -1;
export const WAKES = -2;

/** Told of every access, with its answer. */
export type Log = (process: string, access: Access, answer: number) => void;

export class World {
  readonly names: readonly string[];
  readonly #processes: readonly Process[];
  readonly #automaton = new Automaton();
  readonly #words: readonly string[];
  readonly #index: ReadonlyMap<string, number>;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #ignorance: Ignorance;
  readonly #nodes: number;
  readonly #listens: number;
  readonly #asleep: number;
  readonly initial: Int32Array;

  /**
   * @param watched the word whose accesses are checked for races; others are taken to have none
   * @throws Broken when the first steps of a process are
   */
  constructor(readonly machine: Machine, watched?: string) {
    const { atomic = {}, plain = {}, mixed = {}, books = {} } = machine.words;
    const kinds: Kind[] = [];
    const names: string[] = [];
    const values: number[] = [];
    for (
      const [kind, group] of Object.entries({ atomic, mixed, plain, books })
    ) {
      for (const [name, value] of Object.entries(group)) {
        kinds.push(name === watched ? kind as Kind : "trusted");
        names.push(name);
        values.push(value);
      }
    }
    this.#words = names;
    this.#index = new Map(names.map((name, i) => [name, i]));
    this.names = Object.keys(machine.processes);
    this.#processes = Object.values(machine.processes);
    this.#ids = new Map(this.names.map((name, p) => [name, p]));
    const count = this.names.length;
    const publishing = Object.keys(atomic).length + Object.keys(mixed).length;
    this.#nodes = names.length;
    this.#listens = this.#nodes + count;
    this.#asleep = this.#listens + count;
    const sets = this.#asleep + 1;
    this.#ignorance = new Ignorance(kinds, count, count + publishing, sets);
    this.initial = new Int32Array(
      sets + this.#ignorance.length * (count + publishing),
    );
    this.initial.set(values);
    this.#processes.forEach(({ later }, p) =>
      this.initial[this.#nodes + p] = later ? LATER : ENDED
    );
    this.#processes.forEach(({ later, start }, p) => {
      if (!later) this.#goTo(this.initial, p, this.#automaton.enter(start));
    });
  }

  /** Ways in which process `p` can go on: 0 to ways - 1. */
  ways(state: Int32Array, p: number): number {
    const access = this.access(state, p);
    if (access === undefined || this.#sleeps(state, p)) return 0;
    switch (access.op) {
      case "choose":
        return access.options;
      case "event":
        return access.others + (this.#heard(state, p) ? 1 : 0) +
          (access.death !== undefined && this.#isDead(state, access.death)
            ? 1
            : 0);
      case "gone": {
        const node = state[this.#nodes + this.#ids.get(access.process)!];
        return node === ENDED || node === DEAD ? 1 : 0;
      }
      default:
        return 1;
    }
  }

  /** Whether process `p` may go on in that way. */
  may(state: Int32Array, p: number, way: typeof DIES | typeof WAKES): boolean {
    if (way === WAKES) return this.#sleeps(state, p);
    return this.#processes[p].mortal === true &&
      state[this.#nodes + p] > ENDED;
  }

  /** Whether process `p` may be left as it is for ever. */
  mayRest(state: Int32Array, p: number): boolean {
    return state[this.#nodes + p] <= ENDED ||
      this.#processes[p].rests === true;
  }

  /**
   * A process whose next step is its own affair, as it decides something or hears of an end: nobody can
   * tell when it is done, so now is as good as later.
   */
  decides(state: Int32Array): number | undefined {
    for (let p = 0; p < this.names.length; p++) {
      const op = this.access(state, p)?.op;
      if (
        (op === "choose" || (op === "gone" && this.ways(state, p) > 0)) &&
        !this.#processes[p].mortal
      ) return p;
    }
    return undefined;
  }

  /** What process `p` is about to do, if anything. */
  access(state: Int32Array, p: number): Access | undefined {
    const id = state[this.#nodes + p];
    if (id <= ENDED) return undefined;
    return this.#automaton.node(id).at as Access;
  }

  /**
   * Changes `state`: process `p` goes on, in that way.
   * @throws Broken when that breaks a rule
   */
  go(state: Int32Array, p: number, way: number, log?: Log): void {
    if (way === DIES) {
      state[this.#nodes + p] = DEAD;
      state[this.#asleep] &= ~(1 << p);
      state[this.#listens + p] = NOWHERE;
      return;
    }
    if (way === WAKES) return this.#rise(state, p, log);
    this.#perform(state, p, this.access(state, p)!, way, log);
  }

  view(state: Int32Array): View {
    const node = (name: string) => state[this.#nodes + this.#ids.get(name)!];
    return {
      word: (name) => state[this.#at(name)],
      asleep: (name) => this.#sleeps(state, this.#ids.get(name)!),
      absent: (name) => node(name) < 0,
    };
  }

  #at(word: string): number {
    const index = this.#index.get(word);
    if (index === undefined) throw new RangeError(`no word "${word}"`);
    return index;
  }

  #sleeps(state: Int32Array, p: number): boolean {
    return (state[this.#asleep] >> p & 1) === 1;
  }

  #heard(state: Int32Array, p: number): boolean {
    return state[this.#listens + p] === HEARD;
  }

  #isDead(state: Int32Array, process: string): boolean {
    return state[this.#nodes + this.#ids.get(process)!] === DEAD;
  }

  #perform(
    state: Int32Array,
    p: number,
    access: Access,
    way: number,
    log?: Log,
  ): void {
    const answer = this.#answer(state, p, access, way);
    log?.(this.names[p], access, answer ?? OK);
    if (answer === undefined) {
      state[this.#asleep] |= 1 << p;
      return;
    }
    if (access.op === "start") {
      const q = this.#ids.get(access.process)!;
      this.#ignorance.become(state, q, p);
      const node = this.#automaton.enter(this.#processes[q].start);
      this.#goTo(state, q, node, log);
    }
    if (access.op === "notify") this.#wake(state, access.word, log);
    this.#advance(state, p, answer, log);
  }

  #wake(state: Int32Array, word: string, log?: Log): void {
    const heard = this.#at(word) + 1;
    for (let q = 0; q < this.names.length; q++) {
      if (state[this.#listens + q] === heard) state[this.#listens + q] = HEARD;
      if (!this.#sleeps(state, q)) continue;
      const access = this.access(state, q)!;
      if (access.op !== "wait" || access.word !== word) continue;
      this.#rise(state, q, log);
    }
  }

  #rise(state: Int32Array, p: number, log?: Log): void {
    state[this.#asleep] &= ~(1 << p);
    this.#advance(state, p, OK, log);
  }

  #advance(state: Int32Array, p: number, answer: number, log?: Log): void {
    const id = state[this.#nodes + p];
    this.#goTo(state, p, this.#automaton.after(id, answer), log);
  }

  /**
   * Also does what comes with the access before: plain accesses, unless the process may die between them,
   * since nobody can tell when they happen without a race.
   */
  #goTo(state: Int32Array, p: number, id: number, log?: Log): void {
    state[this.#nodes + p] = id;
    if (id <= ENDED) return;
    const { at } = this.#automaton.node(id);
    if (typeof at === "string") return;
    if ("broken" in at) throw new Broken(at.broken);
    const plain = at.op === "read" || at.op === "write";
    const books = at.op === "count" || at.op === "look";
    if (books || (plain && !this.#processes[p].mortal)) {
      this.#perform(state, p, at, 0, log);
    }
  }

  /** Undefined: it sleeps. */
  #answer(
    state: Int32Array,
    p: number,
    access: Access,
    way: number,
  ): number | undefined {
    switch (access.op) {
      case "choose":
        return way;
      case "event":
        if (!this.#heard(state, p)) return way + 1;
        if (way > 0) return way;
        state[this.#listens + p] = NOWHERE;
        return RUNG;
      case "start":
        return OK;
      case "gone": {
        const q = this.#ids.get(access.process)!;
        this.#ignorance.hear(state, p, q);
        return OK;
      }
      case "notify":
        return OK;
    }
    const word = this.#at(access.word);
    const before = state[word];
    const races = (found: boolean) => {
      if (found) {
        throw new Broken(
          `${this.names[p]} accesses ${
            this.#words[word]
          } without knowing that another is done with it`,
        );
      }
    };
    const set = this.names.length + word;
    const acquire = () => {
      races(this.#ignorance.atomic(state, p, word, "read"));
      this.#ignorance.hear(state, p, set);
    };
    const release = (value: number) => {
      races(this.#ignorance.atomic(state, p, word, "write"));
      state[word] = value;
      this.#ignorance.become(state, set, p);
    };
    switch (access.op) {
      case "load":
        acquire();
        return before;
      case "store":
        release(access.value);
        return OK;
      case "add":
        acquire();
        release(Math.min(before + access.value, access.most ?? Infinity));
        return before;
      case "cas":
        acquire();
        if (before === access.expected) release(access.value);
        return before;
      case "wait":
        acquire();
        return before === access.value ? undefined : NOT_EQUAL;
      case "listen":
        acquire();
        if (before !== access.value) return NOT_EQUAL;
        state[this.#listens + p] = word + 1;
        return OK;
      case "read":
        races(this.#ignorance.plain(state, p, word, "read"));
        return before;
      case "write":
        races(this.#ignorance.plain(state, p, word, "write"));
        state[word] = access.value;
        return OK;
      case "count":
        return state[word] = before + access.value;
      case "look":
        return before;
    }
  }
}
