/**
 * Where a team's threads meet: one block of shared memory, planned by the host like everything else.
 *
 *     | meeting words | call | error text | counters | per thread: tables, scratch | partials |
 *
 * Words that different threads write stand on different cache lines.
 */
import type { KernelExports } from "../module/exports.ts";
import { ARGUMENTS_MAX, PARTIAL_WORDS, type PartMemory, WORD } from "./cut.ts";

/** What a team is planned for. */
export interface TeamPlan {
  /** Threads, the leader included. */
  readonly threads: number;
  /** Rows up to which calls are cut within rows; longer batches are cut between rows. */
  readonly rowsMax: number;
  /** Working memory for convolution and attention, per thread; 0: those calls stay whole. */
  readonly scratchBytes: number;
}

/** A planned team at its place. */
export interface TeamPlace extends TeamPlan {
  /** Address of its block, 64-byte aligned. */
  readonly address: number;
}

const LINE = 64;

/** Byte offsets of words within the block. */
export const MEETING = {
  /** Advanced with every call; helpers sleep on it. */
  calls: 0,
  /** Helpers asleep, or about to be. */
  sleepers: 4,
  /** 1 once the team is to leave, whatever it is doing; written by whoever started its threads. */
  ended: 8,
  /** 0: no call; else 1 and the number of helpers at work on it. The leader sleeps on it. */
  gate: LINE,
  /** Whether the leader sleeps, or is about to. */
  leaderSleeps: LINE + 4,
  /** The call: the kernel's number or STOP, and how a part that failed is reported. */
  kernel: 2 * LINE,
  failed: 2 * LINE + 4,
  errorBytes: 2 * LINE + 8,
  args: 3 * LINE,
  errorText: 5 * LINE,
  /** One line per thread: how many of its parts are taken. */
  counters: 9 * LINE,
} as const;

/** What the word `failed` says: nothing, a kernel trapped, or something else went wrong. */
export const FAILED = { no: 0, trap: 1, error: 2 } as const;

/** Longest report of an error. */
export const ERROR_BYTES = 4 * LINE;

/** Parts that a thread is first in line for. */
export const PARTS_PER_THREAD = 4;

/** Tables that one call rewrites at most: those of 8 children and the results. */
const TABLES = 10;
/** Words for lists of tables and shapes. */
const LIST_WORDS = 64;

/** Number of the call that ends the helpers. */
export const STOP = -1;

const align = (bytes: number) => Math.ceil(bytes / LINE) * LINE;

function sizes({ threads, rowsMax, scratchBytes }: TeamPlan) {
  const meeting = MEETING.counters + LINE * threads;
  const tables = align(WORD * (TABLES * rowsMax + LIST_WORDS));
  const scratch = align(scratchBytes);
  const own = tables + scratch;
  const partial = align(WORD * PARTIAL_WORDS * rowsMax);
  return { meeting, tables, scratch, own, partial };
}

/** Bytes of a team's block. */
export function teamBytes(plan: TeamPlan): number {
  const { meeting, own, partial } = sizes(plan);
  return meeting + plan.threads * own +
    plan.threads * PARTS_PER_THREAD * partial;
}

/** Makes a team's block ready for its threads; to be called before any of them starts. */
export function prepareTeam(
  memory: WebAssembly.Memory,
  place: TeamPlace,
): void {
  const { meeting } = sizes(place);
  new Uint8Array(memory.buffer, place.address, meeting).fill(0);
}

/** Far below any number of helpers: a gate that nobody enters. */
const GATE_SHUT = -(2 ** 20);

/**
 * Tells a team's threads to leave, the leader included, from a thread that is none of them. Who sleeps on
 * `calls` or `gate` finds it changed.
 */
export function endTeam(
  memory: WebAssembly.Memory,
  { address }: TeamPlace,
): void {
  const words = new Int32Array(memory.buffer);
  const at = (offset: number) => (address + offset) >>> 2;
  Atomics.store(words, at(MEETING.ended), 1);
  Atomics.add(words, at(MEETING.calls), 1);
  Atomics.notify(words, at(MEETING.calls));
  Atomics.add(words, at(MEETING.gate), GATE_SHUT);
  Atomics.notify(words, at(MEETING.gate));
}

/** Word index of a thread's counter. */
export function counterOf(place: TeamPlace, thread: number): number {
  return (place.address + MEETING.counters + LINE * thread) >>> 2;
}

/** What thread number `thread` of a team has of the block. */
export class ThreadMemory implements PartMemory {
  readonly words: Uint32Array;
  readonly floats: Float32Array;
  readonly threads: number;
  readonly rowsMax: number;
  readonly scratch: number;
  readonly scratchBytes: number;
  readonly #tables: number;
  readonly #tablesEnd: number;
  readonly #partials: number;
  readonly #partialBytes: number;
  #top = 0;

  constructor(
    readonly kernels: KernelExports,
    memory: WebAssembly.Memory,
    place: TeamPlace,
    thread: number,
  ) {
    const { meeting, tables, scratch, own, partial } = sizes(place);
    this.words = new Uint32Array(memory.buffer);
    this.floats = new Float32Array(memory.buffer);
    this.threads = place.threads;
    this.rowsMax = place.rowsMax;
    this.#tables = place.address + meeting + thread * own;
    this.#tablesEnd = this.#tables + tables;
    this.scratch = this.#tablesEnd;
    this.scratchBytes = scratch;
    this.#partials = place.address + meeting + place.threads * own;
    this.#partialBytes = partial;
  }

  /** Frees what was taken. */
  reset(): void {
    this.#top = this.#tables;
  }

  take = (words: number): number => {
    const at = this.#top;
    this.#top += WORD * words;
    if (this.#top > this.#tablesEnd) {
      throw new RangeError("A call rewrites more tables than were planned");
    }
    return at;
  };

  partials = (part: number): number =>
    this.#partials + part * this.#partialBytes;
}

/** Copy of a call's arguments in the block. */
export function argumentsAt(
  memory: WebAssembly.Memory,
  { address }: TeamPlace,
): Float64Array {
  return new Float64Array(
    memory.buffer,
    address + MEETING.args,
    ARGUMENTS_MAX,
  );
}
