/**
 * The words before a slot's data: what engine and workers tell each other about one request while its
 * rows are under way. Who writes and what a reader may conclude: docs/shared_memory.md, "Slot header".
 *
 * Each word goes from 0 to its one other value once and stays there until the slot is given to another
 * request, so a reader that finds it set may rely on it, and they need not be read at one instant.
 */
import { SLOT_HEADER_BYTES, SLOT_REASON_BYTES } from "../../graph/slot_plan.ts";

/** Word indices within the header. */
export const SLOT = {
  /** Written by the engine: 1 once nobody waits for the request any more. */
  abandoned: 0,
  /** Written by the first worker that could not compute one of its rows: see {@linkcode Failure}. */
  failure: 1,
  /** Written by the worker of the last growing step: its number, from 1 on. */
  lastStep: 2,
  /** Written before the request's first task: steps after which it ends; 0 when its graph does not grow. */
  stepsLimit: 3,
  /** Written by the first worker that can say why it could not compute a row: number of the node, from 1 on. */
  reasonOf: 4,
} as const;

/** Bits of a failure that say which node; the others say which call. */
const NODE_BITS = 24;

/** Calls that a failure can name; later ones are reported as a trap is. */
const CALLS_NAMED = 254;

/** What a worker says about a row that it could not compute. */
export interface Failure {
  /** Index of the node. */
  readonly node: number;
  /** Number of the call of the cell's program; -1: it trapped. */
  readonly call: number;
}

/** Makes the header of a fresh slot. Nothing of it is shared yet. */
export function openHeader(
  words: Int32Array,
  slot: number,
  stepsLimit: number,
): void {
  const header = slot >>> 2;
  // So few that to call what fills them takes longer.
  for (let i = 0; i < SLOT_HEADER_BYTES >>> 2; i++) words[header + i] = 0;
  words[header + SLOT.stepsLimit] = stepsLimit;
}

/** Engine: rows of the request that have not started need not be executed. */
export function abandonSlot(words: Int32Array, slot: number): void {
  Atomics.store(words, (slot >>> 2) + SLOT.abandoned, 1);
}

/** Whether a row of the request that starts now is void. */
export function isVoid(words: Int32Array, slot: number): boolean {
  const header = slot >>> 2;
  return Atomics.load(words, header + SLOT.abandoned) !== 0 ||
    Atomics.load(words, header + SLOT.failure) !== 0 ||
    Atomics.load(words, header + SLOT.lastStep) !== 0;
}

/** Bytes of a reason, behind its length. */
const LENGTH_BYTES = Int32Array.BYTES_PER_ELEMENT;
const REASON_MAX = SLOT_REASON_BYTES - LENGTH_BYTES;

/**
 * Worker: a row cannot be computed. Of several workers the first is heard: one failure ends a request.
 * @param reason why; of a model with operators in plain TypeScript, which have room for it behind the header
 */
export function reportFailure(
  words: Int32Array,
  slot: number,
  { node, call }: Failure,
  reason?: string,
): void {
  if (reason !== undefined) claimReason(words, slot, node, reason);
  const named = call < CALLS_NAMED ? call + 1 : 0;
  const word = ((named << NODE_BITS) | (node + 1)) >> 0;
  Atomics.compareExchange(words, (slot >>> 2) + SLOT.failure, 0, word);
}

/** Writes it where nobody else has written: the failure that is published next says that it is there. */
function claimReason(
  words: Int32Array,
  slot: number,
  node: number,
  reason: string,
): void {
  const word = (slot >>> 2) + SLOT.reasonOf;
  const claimed = Atomics.compareExchange(words, word, 0, node + 1);
  // Its own: a row that is executed again, since its worker died before it was published.
  if (claimed !== 0 && claimed !== node + 1) return;
  const text = new Uint8Array(REASON_MAX);
  const { written } = new TextEncoder().encodeInto(reason, text);
  const at = slot + SLOT_HEADER_BYTES;
  new Uint8Array(words.buffer).set(
    text.subarray(0, written),
    at + LENGTH_BYTES,
  );
  words[at >>> 2] = written;
}

/** Engine: why the node failed, of which `failureOf` has spoken; undefined where its worker has not said. */
export function reasonOf(
  words: Int32Array,
  slot: number,
  node: number,
): string | undefined {
  if (Atomics.load(words, (slot >>> 2) + SLOT.reasonOf) !== node + 1) {
    return undefined;
  }
  const at = slot + SLOT_HEADER_BYTES;
  const bytes = words[at >>> 2];
  // A copy: decoders take no shared memory.
  return new TextDecoder().decode(
    new Uint8Array(words.buffer).slice(
      at + LENGTH_BYTES,
      at + LENGTH_BYTES + bytes,
    ),
  );
}

/** Engine: the failure of one of the request's rows, if there is one. */
export function failureOf(
  words: Int32Array,
  slot: number,
): Failure | undefined {
  const word = Atomics.load(words, (slot >>> 2) + SLOT.failure);
  if (word === 0) return undefined;
  return {
    node: (word & (2 ** NODE_BITS - 1)) - 1,
    call: (word >>> NODE_BITS) - 1,
  };
}

/**
 * Worker: growing step number `step` was computed and gave `token`. A step that is executed again, since
 * its worker died, leaves the header as it was.
 */
export function takeStep(
  words: Int32Array,
  slot: number,
  { step, token, stopToken }: {
    step: number;
    token: number;
    stopToken: number;
  },
): void {
  const header = slot >>> 2;
  const limit = words[header + SLOT.stepsLimit];
  if (limit === 0 || Atomics.load(words, header + SLOT.failure) !== 0) return;
  if (token !== stopToken && step < limit) return;
  Atomics.compareExchange(words, header + SLOT.lastStep, 0, step);
}

/**
 * Engine: what became of growing step number `step`, whose task is complete. One read of one word: two
 * would see a later step's end beside an earlier step's number.
 */
export function stepOutcome(
  words: Int32Array,
  slot: number,
  step: number,
): "done" | "last" | "void" {
  const last = Atomics.load(words, (slot >>> 2) + SLOT.lastStep);
  if (last === 0 || step < last) return "done";
  return step === last ? "last" : "void";
}
