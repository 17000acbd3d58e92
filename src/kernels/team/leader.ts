import { nonNegative } from "../../base/checked_options.ts";
import type { KernelExports } from "../module/exports.ts";
import {
  FAILED,
  MEETING,
  PARTS_PER_THREAD,
  STOP,
  type TeamPlace,
} from "./block.ts";
import { CrewMember, partOf } from "./crew.ts";
import { chooseCut, type Part, type Splitting } from "./cut.ts";
import { SPLITTINGS } from "./splittings.ts";

/** How a team goes about its work. Times are those of calls on one thread, roughly as the specs estimate. */
export interface TeamWays {
  /** Calls that take less than about this stay on the leader's thread. */
  readonly leastNs: number;
  /** Helpers that sleep are woken once calls of about this much in all could have used them. */
  readonly wakeNs: number;
  /** Loads of a shared word before a helper goes to sleep for want of a call. */
  readonly spinLoads: number;
  /** Loads before a thread goes to sleep that has done its parts of a call when others have not. */
  readonly endSpinLoads: number;
  /** How long the leader waits for a part that another thread has taken before it gives the team up. */
  readonly patienceMs: number;
}

// On the machine of docs/kernels.md calls of 3 us gained from a thread that was awake, and waking one
// cost the leader 10 to 30 us. Two thousand loads, some microseconds, bridge the time between calls that
// follow each other without keeping others from a core; the end of a call is worth a tenth of a millisecond,
// since who sleeps through it is late for the next.
const DEFAULT_WAYS: TeamWays = {
  leastNs: 3000,
  wakeNs: 150_000,
  spinLoads: 2000,
  endSpinLoads: 100_000,
  patienceMs: 30_000,
};

/** Names of all ways. */
export const TEAM_WAYS: readonly string[] = Object.keys(DEFAULT_WAYS);

/**
 * Fills in the defaults.
 * @throws {RangeError} when one of them is negative or no number
 */
export function teamWays(ways: Partial<TeamWays> = {}): TeamWays {
  const {
    leastNs = DEFAULT_WAYS.leastNs,
    wakeNs = DEFAULT_WAYS.wakeNs,
    spinLoads = DEFAULT_WAYS.spinLoads,
    endSpinLoads = DEFAULT_WAYS.endSpinLoads,
    patienceMs = DEFAULT_WAYS.patienceMs,
  } = ways;
  const all = { leastNs, wakeNs, spinLoads, endSpinLoads, patienceMs };
  for (const [name, value] of Object.entries(all)) nonNegative(name, value);
  return all;
}

/** Sleeps into which the leader's patience is cut: a process that was stopped for a while loses one. */
const TURNS = 30;

/**
 * The thread of a team that makes the calls. `kernels` is used as any instance of the kernels: calls
 * that are worth it are cut into parts, which this thread and the helpers take one by one. A helper
 * that is late, asleep or kept from running takes nothing, and the leader waits for nothing but parts
 * that were taken. Results are the same bits as on one thread.
 */
export class TeamLeader {
  /** Blocks in `Atomics.wait`, which the main thread of a browser may not. */
  readonly kernels: KernelExports;
  readonly #member: CrewMember;
  readonly #parts: Part[];
  #unsharedNs = 0;
  #broken: Error | undefined;
  #closed = false;

  /** @param kernels instance of a build over shared memory, for the thread that makes the calls */
  constructor(
    kernels: KernelExports,
    readonly memory: WebAssembly.Memory,
    place: TeamPlace,
    readonly ways: TeamWays,
  ) {
    this.#member = new CrewMember(kernels, memory, place, 0);
    this.#parts = Array.from(
      { length: PARTS_PER_THREAD * place.threads },
      () => ({ index: 0, from: 0, to: 0 }),
    );
    const cut = Object.fromEntries(SPLITTINGS.map((splitting, id) => {
      const { name } = splitting;
      const whole = kernels[name] as (...args: number[]) => void;
      // As many parameters as any kernel has, and no rest parameter, which would be an allocation.
      return [name, (
        a: number,
        b: number,
        c: number,
        d: number,
        e: number,
        f: number,
        g: number,
        h: number,
        i: number,
        j: number,
        k: number,
        l: number,
        n: number,
        o: number,
      ) => {
        // Somebody may still be at the call that was given up.
        if (this.#broken) throw this.#broken;
        const args = this.#member.call;
        args[0] = a;
        args[1] = b;
        args[2] = c;
        args[3] = d;
        args[4] = e;
        args[5] = f;
        args[6] = g;
        args[7] = h;
        args[8] = i;
        args[9] = j;
        args[10] = k;
        args[11] = l;
        args[12] = n;
        args[13] = o;
        if (!this.#share(id, splitting)) {
          whole(a, b, c, d, e, f, g, h, i, j, k, l, n, o);
        }
      }];
    }));
    this.kernels = { ...kernels, ...cut } as unknown as KernelExports;
  }

  /** Ends the helpers; further calls stay on this thread. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const { words } = this.#member;
    words[this.#member.at(MEETING.kernel)] = STOP;
    Atomics.store(words, this.#member.at(MEETING.gate), 1);
    this.#announce(true);
  }

  /** Computes the call in the block with the helpers; false when it is better left whole. */
  #share(id: number, splitting: Splitting): boolean {
    const { call, memory, words, place } = this.#member;
    if (this.#closed) return false;
    const nanoseconds = splitting.nanoseconds(call, memory);
    if (nanoseconds < this.ways.leastNs) return false;
    // What lies where memory has grown is behind the end of every thread's view.
    if (memory.words.byteLength !== this.memory.buffer.byteLength) return false;
    const sleepers = Atomics.load(words, this.#member.at(MEETING.sleepers));
    const wake = sleepers > 0 && this.#earnsWaking(nanoseconds);
    if (!wake && sleepers === place.threads - 1) return false;
    const cut = chooseCut(splitting, call, memory);
    const pieces = cut.pieces(call, memory);
    if (!(pieces > 1)) return false;
    words[this.#member.at(MEETING.kernel)] = id;
    words[this.#member.at(MEETING.failed)] = FAILED.no;
    this.#member.open();
    Atomics.store(words, this.#member.at(MEETING.gate), 1);
    this.#announce(wake);
    try {
      this.#member.work();
    } catch (error) {
      this.#member.exhaust();
      this.#awaitHelpers();
      throw error;
    }
    this.#awaitHelpers();
    const failed = Atomics.load(words, this.#member.at(MEETING.failed));
    if (failed !== FAILED.no) {
      throw this.#reported(splitting.name, failed);
    }
    if (cut.join) {
      for (let i = 0; i < this.#parts.length; i++) {
        partOf(this.#parts[i], i, place.threads, pieces);
      }
      cut.join(call, this.#parts, memory);
    }
    return true;
  }

  /** Whether calls since the last waking were worth one: whoever wakes too early or late loses twice at most. */
  #earnsWaking(nanoseconds: number): boolean {
    this.#unsharedNs += nanoseconds;
    if (this.#unsharedNs < this.ways.wakeNs) return false;
    this.#unsharedNs = 0;
    return true;
  }

  #announce(wake: boolean): void {
    const { words } = this.#member;
    const calls = this.#member.at(MEETING.calls);
    Atomics.add(words, calls, 1);
    if (wake) Atomics.notify(words, calls);
  }

  /** Closes the gate behind the last helper. */
  #awaitHelpers(): void {
    const { words } = this.#member;
    const gate = this.#member.at(MEETING.gate);
    for (let load = 0; load < this.ways.endSpinLoads; load++) {
      if (
        Atomics.load(words, gate) === 1 &&
        Atomics.compareExchange(words, gate, 1, 0) === 1
      ) return;
    }
    const sleeps = this.#member.at(MEETING.leaderSleeps);
    const ended = this.#member.at(MEETING.ended);
    Atomics.store(words, sleeps, 1);
    const { patienceMs } = this.ways;
    for (let turn = 0; turn < TURNS;) {
      const inside = Atomics.load(words, gate);
      // After the gate: whoever ends the team changes it last, so that nobody goes to sleep on it then.
      if (Atomics.load(words, ended) !== 0) {
        this.#broken = new Error("The team was ended during a call");
        throw this.#broken;
      }
      if (inside === 1) {
        if (Atomics.compareExchange(words, gate, 1, 0) === 1) {
          Atomics.store(words, sleeps, 0);
          return;
        }
      } else if (
        Atomics.wait(words, gate, inside, patienceMs / TURNS) === "timed-out"
      ) turn++;
    }
    this.#broken = new Error(
      `A thread of the team took part of a call and did not come back within ${patienceMs} ms`,
    );
    throw this.#broken;
  }

  /** What a helper could not do, as the kernel itself would have said it. */
  #reported(kernel: string, failed: number): Error {
    const { words, place } = this.#member;
    const from = place.address + MEETING.errorText;
    const bytes = words[this.#member.at(MEETING.errorBytes)];
    const text = new TextDecoder().decode(
      new Uint8Array(this.memory.buffer, from, bytes).slice(),
    );
    const message = `${kernel} failed on a thread of its team: ${text}`;
    return failed === FAILED.trap
      ? new WebAssembly.RuntimeError(message)
      : new Error(message);
  }
}
