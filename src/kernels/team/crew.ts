/** What leader and helpers do alike: take parts of the open call until none is left. */
import type { KernelExports } from "../module/exports.ts";
import {
  argumentsAt,
  counterOf,
  MEETING,
  PARTS_PER_THREAD,
  type TeamPlace,
  ThreadMemory,
} from "./block.ts";
import { ARGUMENTS_MAX, chooseCut, type Cut, type Part } from "./cut.ts";
import { SPLITTINGS } from "./splittings.ts";

/** Any kernel, called with more arguments than it takes: WebAssembly ignores the rest. */
type AnyKernel = (...args: number[]) => void;

/** One thread's way of working on the calls of a team. */
export class CrewMember {
  readonly memory: ThreadMemory;
  readonly words: Int32Array;
  /** The open call's arguments. */
  readonly call: Float64Array;
  readonly #own = new Float64Array(ARGUMENTS_MAX);
  readonly #part = { index: 0, from: 0, to: 0 };

  constructor(
    readonly kernels: KernelExports,
    memory: WebAssembly.Memory,
    readonly place: TeamPlace,
    readonly thread: number,
  ) {
    this.memory = new ThreadMemory(kernels, memory, place, thread);
    this.words = new Int32Array(memory.buffer);
    this.call = argumentsAt(memory, place);
  }

  /** Word index of a meeting word. */
  at(offset: number): number {
    return (this.place.address + offset) >>> 2;
  }

  /** Computes parts of the open call, its own ones first, while there are any. */
  work(): void {
    const { words, place, thread, call, memory } = this;
    const splitting = SPLITTINGS[words[this.at(MEETING.kernel)]];
    const cut = chooseCut(splitting, call, memory);
    const pieces = cut.pieces(call, memory);
    const kernel = this.kernels[cut.kernel ?? splitting.name] as AnyKernel;
    for (let i = 0; i < place.threads; i++) {
      const owner = (thread + i) % place.threads;
      const counter = counterOf(place, owner);
      for (;;) {
        const taken = Atomics.add(words, counter, 1);
        if (taken >= PARTS_PER_THREAD) break;
        const index = owner * PARTS_PER_THREAD + taken;
        const part = partOf(this.#part, index, place.threads, pieces);
        if (part.to > part.from) this.#compute(cut, kernel, part);
      }
    }
  }

  #compute(cut: Cut, kernel: AnyKernel, part: Part): void {
    const args = this.#own;
    args.set(this.call);
    this.memory.reset();
    cut.narrow(args, part, this.memory);
    kernel(
      args[0],
      args[1],
      args[2],
      args[3],
      args[4],
      args[5],
      args[6],
      args[7],
      args[8],
      args[9],
      args[10],
      args[11],
      args[12],
      args[13],
    );
  }

  /** Lets every part of the call be taken. */
  open(): void {
    this.#setCounters(0);
  }

  /** Lets nobody take another part. */
  exhaust(): void {
    this.#setCounters(PARTS_PER_THREAD);
  }

  #setCounters(taken: number): void {
    for (let thread = 0; thread < this.place.threads; thread++) {
      Atomics.store(this.words, counterOf(this.place, thread), taken);
    }
  }
}

/** How much of a thread's share its parts are: small ones come last, and even out when threads are done. */
const SHARES = [0, 1 / 2, 3 / 4, 7 / 8, 1];

/** Pieces of part number `index`; there may be none. */
export function partOf(
  part: { -readonly [K in keyof Part]: Part[K] },
  index: number,
  threads: number,
  pieces: number,
): Part {
  const owner = Math.floor(index / PARTS_PER_THREAD);
  const own = index % PARTS_PER_THREAD;
  part.index = index;
  part.from = Math.floor(pieces * (owner + SHARES[own]) / threads);
  part.to = Math.floor(pieces * (owner + SHARES[own + 1]) / threads);
  return part;
}
