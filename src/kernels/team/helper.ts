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

/** Works on a team's calls until the team is closed. Blocks its thread. */
export function runHelper(start: HelperStart): void {
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
    seen = awaitCall(words, calls, seen, ways, member);
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

/** Returns the number of calls once it is no longer `seen`. */
function awaitCall(
  words: Int32Array,
  calls: number,
  seen: number,
  { spinLoads, endSpinLoads }: TeamWays,
  member: CrewMember,
): number {
  const gate = member.at(MEETING.gate);
  for (let end = 0, idle = 0; end < endSpinLoads && idle < spinLoads;) {
    const now = Atomics.load(words, calls);
    if (now !== seen) return now;
    // As long as somebody works on the call that was, the next one is not far.
    if (Atomics.load(words, gate) !== 0) end++;
    else idle++;
  }
  const sleepers = member.at(MEETING.sleepers);
  Atomics.add(words, sleepers, 1);
  for (;;) {
    const now = Atomics.load(words, calls);
    if (now !== seen) {
      Atomics.sub(words, sleepers, 1);
      return now;
    }
    Atomics.wait(words, calls, seen);
  }
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
