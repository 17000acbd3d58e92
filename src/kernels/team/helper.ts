import { instantiateKernels } from "../module/module.ts";
import type { ScratchPlace } from "../module/scratch.ts";
import { ERROR_BYTES, FAILED, MEETING, STOP, type TeamPlace } from "./block.ts";
import { CrewMember } from "./crew.ts";
import type { TeamWays } from "./leader.ts";

/** What a helper is told once, when it starts. */
export interface HelperStart {
  readonly memory: WebAssembly.Memory;
  /** Bytes of a build over shared memory: the leader's. */
  readonly kernels: BufferSource;
  readonly place: TeamPlace;
  /** Its number, from 1 on: the leader is 0. */
  readonly thread: number;
  readonly ways: TeamWays;
  /** Scratch memory of its instance of the kernels. */
  readonly scratch: ScratchPlace;
}

/** What a thread sleeps for: a word is no longer `value`. */
export interface Sleep {
  readonly words: Int32Array;
  readonly index: number;
  readonly value: number;
}

/**
 * Works on a team's calls until the team is closed. Blocks its thread, but for a sleep of more than `restMs`: that is
 * given away, and may end early.
 */
export function* runHelper(
  start: HelperStart,
  restMs = Infinity,
): Generator<Sleep, void> {
  const { memory, place, thread, ways } = start;
  const kernels = instantiateKernels(start.kernels, { memory });
  kernels.shoal_use_scratch(start.scratch.address, start.scratch.variants);
  const member = new CrewMember(kernels, memory, place, thread);
  const { words } = member;
  const calls = member.at(MEETING.calls);
  const gate = member.at(MEETING.gate);
  const ended = member.at(MEETING.ended);
  // The first call may have been announced before this thread had begun.
  for (let seen = 0;;) {
    let now = lookForCall(words, calls, seen, ways, gate);
    if (now === seen) {
      const sleepers = member.at(MEETING.sleepers);
      Atomics.add(words, sleepers, 1);
      while ((now = Atomics.load(words, calls)) === seen) {
        const end = Atomics.wait(words, calls, seen, restMs);
        if (end === "timed-out") yield { words, index: calls, value: seen };
      }
      Atomics.sub(words, sleepers, 1);
    }
    seen = now;
    if (Atomics.load(words, ended) !== 0) return;
    if (!enter(words, gate)) continue;
    const stop = words[member.at(MEETING.kernel)] === STOP;
    if (!stop) {
      try {
        member.work();
      } catch (error) {
        report(member, memory, error as Error);
      }
    }
    Atomics.sub(words, gate, 1);
    if (Atomics.load(words, member.at(MEETING.leaderSleeps)) === 1) {
      Atomics.notify(words, gate);
    }
    if (stop) return;
  }
}

/** @returns the number of calls: `seen` when there was no other for as long as it is looked for */
function lookForCall(
  words: Int32Array,
  calls: number,
  seen: number,
  { spinLoads, endSpinLoads }: TeamWays,
  gate: number,
): number {
  for (let end = 0, idle = 0; end < endSpinLoads && idle < spinLoads;) {
    const now = Atomics.load(words, calls);
    if (now !== seen) return now;
    // As long as somebody works on the call that was, the next one is not far.
    if (Atomics.load(words, gate) !== 0) end++;
    else idle++;
  }
  return seen;
}

/** Joins the open call; false when it is over. While a helper is inside, the call does not change. */
function enter(words: Int32Array, gate: number): boolean {
  for (;;) {
    const inside = Atomics.load(words, gate);
    if (inside <= 0) return false;
    if (Atomics.compareExchange(words, gate, inside, inside + 1) === inside) {
      return true;
    }
  }
}

/** Leaves the error where the leader finds it, and the rest of the call undone. */
function report(
  member: CrewMember,
  memory: WebAssembly.Memory,
  error: Error,
): void {
  member.exhaust();
  const { words } = member;
  const kind = error instanceof WebAssembly.RuntimeError
    ? FAILED.trap
    : FAILED.error;
  const failed = member.at(MEETING.failed);
  if (Atomics.compareExchange(words, failed, 0, kind) !== 0) return;
  const text = new TextEncoder().encode(error.message).subarray(0, ERROR_BYTES);
  new Uint8Array(memory.buffer).set(
    text,
    member.place.address + MEETING.errorText,
  );
  words[member.at(MEETING.errorBytes)] = text.length;
}
