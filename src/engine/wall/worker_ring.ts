/**
 * How the engine and a worker talk: through shared memory alone, one writer per word.
 *
 * Per worker: a control block, a ring of task entries, and an arena for the tasks' row tables. The
 * engine fills an entry and advances `submitted`; the worker executes entries in order and advances
 * `completed`, the signal variable (Late Batching, section 2, "Signal Operator"; Cellular Batching,
 * section 5), then rings the engine's doorbell. Who has nothing to do sleeps in `Atomics.wait`.
 *
 * To wake a thread takes 10 us, and more where its core sleeps. A quiet task does not ring while others stand
 * behind it; the last one in the ring always does, so that an engine with more to push than the ring holds comes
 * back, and one of which nothing was left to compute does, since its run may be over.
 *
 * Where the engine allows it (`linger`), a worker with nothing behind in its ring keeps a ring back, since the engine
 * may come by itself: it rings when that time has passed, or a task has come, unless the engine has `collected` all.
 */

/** Word indices within a worker's control block. */
export const CONTROL = {
  /** Tasks submitted so far, modulo 2^32; the worker sleeps on it. */
  submitted: 0,
  /** Tasks completed so far, modulo 2^32: the signal variable. */
  completed: 1,
  /** Rung by every worker, in the first worker's block; the engine sleeps on it. */
  doorbell: 2,
  /** Written once, by the engine: 1 when the worker is to leave, whatever is still in its ring. */
  stop: 3,
  /** Microseconds for which the worker may keep a ring back; 0: it rings at once. */
  linger: 4,
  /** Completed tasks that the engine has seen, modulo 2^32. */
  collected: 5,
} as const;

export const CONTROL_BYTES = 64;

/** Entries of a ring: tasks a worker may have in flight; further ones wait in the engine. */
export const RING_ENTRIES = 64;

/** Word indices within an entry; times are f64 absolute milliseconds over two words. */
export const ENTRY = {
  program: 0,
  rows: 1,
  tables: 2,
  padsDone: 3,
  /** 0 until a worker begins it. */
  startMs: 4,
  endMs: 6,
  paddedLength: 8,
  /** 1: the engine need not hear of it before it hears of those behind it. */
  quiet: 9,
} as const;

export const ENTRY_BYTES = 48;

/** Bytes before the arena. */
export const ARENA_OFFSET = CONTROL_BYTES + RING_ENTRIES * ENTRY_BYTES;

/** Byte address of entry number `n`. */
export function entryAddress(control: number, n: number): number {
  return control + CONTROL_BYTES + (n % RING_ENTRIES) * ENTRY_BYTES;
}

/** Engine: makes the control block ready for a worker that has not started yet. */
export function openControl(words: Int32Array, control: number): void {
  const at = control >>> 2;
  Atomics.store(words, at + CONTROL.submitted, 0);
  Atomics.store(words, at + CONTROL.completed, 0);
  Atomics.store(words, at + CONTROL.stop, 0);
  Atomics.store(words, at + CONTROL.linger, 0);
  Atomics.store(words, at + CONTROL.collected, 0);
}

/** Engine: tells a worker to leave. Who sleeps on `submitted` finds it changed. */
export function stopWorker(words: Int32Array, control: number): void {
  const at = control >>> 2;
  Atomics.store(words, at + CONTROL.stop, 1);
  Atomics.add(words, at + CONTROL.submitted, 1);
  Atomics.notify(words, at + CONTROL.submitted);
}

/** A worker's control block, and the engine's doorbell: byte addresses. */
interface Bell {
  readonly control: number;
  readonly doorbell: number;
}

/**
 * Worker: task number `done` is complete. Wakes the engine unless the task is quiet and others stand behind it, or the
 * ring may be kept back.
 * @returns microseconds after which, or when a task has come, `ringLate` is due; 0: never
 */
export function reportDone(
  words: Int32Array,
  { control, doorbell }: Bell,
  done: number,
  quiet: boolean,
): number {
  const count = (done + 1) | 0;
  const at = control >>> 2;
  Atomics.store(words, at + CONTROL.completed, count);
  if (quiet && Atomics.load(words, at + CONTROL.submitted) !== count) return 0;
  const lingerUs = Atomics.load(words, at + CONTROL.linger);
  if (lingerUs === 0) ringDoorbell(words, doorbell);
  return lingerUs;
}

/** Worker: ends keeping back the ring for the last of `done` tasks, which the engine may have seen by itself. */
export function ringLate(
  words: Int32Array,
  { control, doorbell }: Bell,
  done: number,
): void {
  const collected = Atomics.load(words, (control >>> 2) + CONTROL.collected);
  if (collected !== (done | 0)) ringDoorbell(words, doorbell);
}

/**
 * Engine: says how long a worker may keep a ring back from now on. What it may be keeping back already is rung for here,
 * where that is not allowed any more.
 * @param seen completed tasks that the engine has seen
 */
export function allowLinger(
  words: Int32Array,
  { control, doorbell }: Bell,
  lingerUs: number,
  seen: number,
): void {
  const at = control >>> 2;
  Atomics.store(words, at + CONTROL.linger, lingerUs);
  if (lingerUs > 0) return;
  const completed = Atomics.load(words, at + CONTROL.completed);
  if (completed !== (seen | 0)) ringDoorbell(words, doorbell);
}

/** Worker or engine: wakes the engine. */
export function ringDoorbell(words: Int32Array, doorbell: number): void {
  Atomics.add(words, doorbell >>> 2, 1);
  Atomics.notify(words, doorbell >>> 2);
}
