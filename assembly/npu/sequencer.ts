// Runs a GEMM through the array: feeds the ports, lets it step, takes what leaves at the
// bottom. The cycles are counted, not computed. A fold starts
//  - causal (overlap 0): when the fold before has left the array;
//  - overlapped: when the fold before has fed its last word and the chain is free: its
//    operand is loaded (resident), or its results will be out of the way (streamed).
// A fold has left when the last column has passed all its outputs, idle ones included.
//
// Operands are given by base address and byte strides along the two axes each has, so
// one sequencer serves all dataflows, transposed operands and strided tensors.
import { npu_step } from "./array";
import { ArrayState, DTYPE_I8, FIRST, LAST, MAPPED, PARITY, PUSH, VALID } from "./state";

// @ts-ignore: decorator
@unmanaged
export class Job {
  /** Extents along rows, columns, time. */
  sr: i32;
  sc: i32;
  t: i32;
  overlap: i32;
  /** Left operand: (row, time). */
  left: usize;
  leftByRow: i32;
  leftByTime: i32;
  /** Top operand: (row, column) if resident, (time, column) if streamed. */
  top: usize;
  topByFirst: i32;
  topByCol: i32;
  /** Result, 4-byte words: (time, column) if resident, (row, column) if streamed. */
  out: usize;
  outByFirst: i32;
  outByCol: i32;
  /** Two i32 per fold: start of loading, start of streaming. Then two i32 per column. */
  scratch: usize;
  /** 0, or four u32 per cycle: active PEs, words on the left, top, bottom ports. */
  log: usize;
  logCycles: i32;
  // Results.
  cycles: i32;
  leftWords: u64;
  topWords: u64;
  bottomWords: u64;
  /** Sums added to one that was there (the k axis folded). */
  readBacks: u64;
  activeTotal: u64;
  // Working state, cleared by npu_run_begin.
  rowFolds: i32;
  folds: i32;
  foldsLoading: i32;
  foldsStreaming: i32;
  foldsDone: i32;
}

/** Bytes of a job, the record that npu_run_begin() and npu_run() take. */
export function npu_job_bytes(): usize {
  return offsetof<Job>();
}

/** Bytes of `scratch` for a GEMM of these extents on this array. */
export function npu_scratch_bytes(state: usize, sr: i32, sc: i32): usize {
  const s = changetype<ArrayState>(state);
  const folds = ((sr + s.rows - 1) / s.rows) * ((sc + s.cols - 1) / s.cols);
  return <usize>folds * 8 + <usize>s.cols * 8;
}

/** Prepares a job: the array must be fresh from npu_init or a finished job. */
export function npu_run_begin(state: usize, job: usize): void {
  const s = changetype<ArrayState>(state);
  const j = changetype<Job>(job);
  j.rowFolds = (j.sr + s.rows - 1) / s.rows;
  j.folds = j.rowFolds * ((j.sc + s.cols - 1) / s.cols);
  j.foldsLoading = 0;
  j.foldsStreaming = 0;
  j.foldsDone = 0;
  j.cycles = 0;
  j.leftWords = 0;
  j.topWords = 0;
  j.bottomWords = 0;
  j.readBacks = 0;
  j.activeTotal = 0;
  const columns = j.scratch + <usize>j.folds * 8;
  for (let c: usize = 0; c < <usize>s.cols; ++c) {
    store<i32>(columns + (c << 3), -1); // fold
    store<i32>(columns + (c << 3), 0, 4); // outputs passed in it
  }
}

/**
 * Runs at most `cycles` cycles. Returns 1 if the job is done, 0 if there is more to do (so that a
 * host may stop, look at the registers, or log in pieces).
 */
export function npu_run(state: usize, job: usize, cycles: i32): i32 {
  const s = changetype<ArrayState>(state);
  const j = changetype<Job>(job);
  for (let i = 0; i < cycles; ++i) {
    if (j.foldsDone == j.folds) return 1;
    cycle(s, j);
  }
  return j.foldsDone == j.folds ? 1 : 0;
}

function cycle(s: ArrayState, j: Job): void {
  const now = j.cycles;
  startFolds(s, j, now);
  const leftBefore = j.leftWords;
  const topBefore = j.topWords;
  const bottomBefore = j.bottomWords;
  if (s.dtype == DTYPE_I8) {
    feedLeft<i8>(s, j, now);
    if (s.resident) feedResident<i8>(s, j, now);
    else feedStreamed<i8>(s, j, now);
  } else {
    feedLeft<f32>(s, j, now);
    if (s.resident) feedResident<f32>(s, j, now);
    else feedStreamed<f32>(s, j, now);
  }
  npu_step(changetype<usize>(s));
  collect(s, j);
  j.activeTotal += s.active;
  if (j.log != 0 && now < j.logCycles) {
    const at = j.log + (<usize>now << 4);
    store<u32>(at, s.active);
    store<u32>(at, <u32>(j.leftWords - leftBefore), 4);
    store<u32>(at, <u32>(j.topWords - topBefore), 8);
    store<u32>(at, <u32>(j.bottomWords - bottomBefore), 12);
  }
  j.cycles = now + 1;
}

// @ts-ignore: decorator
@inline function loadStart(j: Job, fold: i32): i32 {
  return load<i32>(j.scratch + (<usize>fold << 3));
}

// @ts-ignore: decorator
@inline function streamStart(j: Job, fold: i32): i32 {
  return load<i32>(j.scratch + (<usize>fold << 3), 4);
}

function startFolds(s: ArrayState, j: Job, now: i32): void {
  const next = j.foldsStreaming;
  if (next < j.folds && mayStream(s, j, next, now)) {
    store<i32>(j.scratch + (<usize>next << 3), now, 4);
    j.foldsStreaming = next + 1;
  }
  const loading = j.foldsLoading;
  if (s.resident && loading < j.folds && mayLoad(j, loading)) {
    store<i32>(j.scratch + (<usize>loading << 3), now);
    j.foldsLoading = loading + 1;
  }
}

function mayStream(s: ArrayState, j: Job, fold: i32, now: i32): bool {
  if (s.resident) {
    if (fold >= j.foldsLoading || now < loadStart(j, fold) + s.rows) return false;
    return fold == 0 || now >= streamStart(j, fold - 1) + j.t;
  }
  if (fold == 0) return true;
  if (!j.overlap) return j.foldsDone >= fold;
  return now >= streamStart(j, fold - 1) + max(j.t, s.rows);
}

/** The chain is free once the fold before has begun to take its words over, from row 0 on. */
function mayLoad(j: Job, fold: i32): bool {
  if (fold == 0) return true;
  return j.overlap ? j.foldsStreaming >= fold : j.foldsDone >= fold;
}

// @ts-ignore: decorator
@inline function parity(fold: i32): u8 {
  return (fold & 1) == 0 ? PARITY : 0;
}

// @ts-ignore: decorator
@inline function zero<T>(): T {
  return <T>0;
}

/** Row r takes word (now - start - r) of a fold that started streaming at `start`. */
function feedLeft<T>(s: ArrayState, j: Job, now: i32): void {
  for (let r = 0; r < s.rows; ++r) {
    store<u8>(s.tags + <usize>r * s.tagStride - 1, 0);
    store<T>(s.moving + <usize>r * s.dataStride - sizeof<T>(), zero<T>());
  }
  for (let fold = j.foldsStreaming - 1; fold >= 0; --fold) {
    const elapsed = now - streamStart(j, fold);
    if (elapsed - j.t + 1 >= s.rows) break;
    const firstRow = (fold % j.rowFolds) * s.rows;
    const used = min(s.rows, j.sr - firstRow);
    const last = min(s.rows - 1, elapsed);
    for (let r = max(0, elapsed - j.t + 1); r <= last; ++r) {
      const time = elapsed - r;
      let tag = VALID | parity(fold);
      if (time == 0) tag |= FIRST;
      if (time == j.t - 1) tag |= LAST;
      if (r < used) {
        tag |= MAPPED;
        const word = load<T>(j.left + (firstRow + r) * j.leftByRow + time * j.leftByTime);
        store<T>(s.moving + <usize>r * s.dataStride - sizeof<T>(), word);
        j.leftWords++;
      }
      store<u8>(s.tags + <usize>r * s.tagStride - 1, tag);
    }
  }
}

/** Column c takes row (rows - 1 - step) of a fold, one cycle later per column if overlapped. */
function feedResident<T>(s: ArrayState, j: Job, now: i32): void {
  const tags = s.chainTags - s.tagStride;
  const words = s.chain - s.chainStride;
  memory.fill(tags, 0, <usize>s.padCols);
  for (let fold = j.foldsLoading - 1; fold >= 0; --fold) {
    const elapsed = now - loadStart(j, fold);
    const skew = j.overlap ? 1 : 0;
    if (elapsed - s.rows + 1 > (s.cols - 1) * skew) break;
    const firstRow = (fold % j.rowFolds) * s.rows;
    const firstCol = (fold / j.rowFolds) * s.cols;
    const usedRows = min(s.rows, j.sr - firstRow);
    const usedCols = min(s.cols, j.sc - firstCol);
    const from = skew ? max(0, elapsed - s.rows + 1) : 0;
    const to = skew ? min(s.cols - 1, elapsed) : s.cols - 1;
    for (let c = from; c <= to; ++c) {
      const row = s.rows - 1 - (elapsed - c * skew);
      let tag = VALID | PUSH | parity(fold);
      let word = zero<T>();
      if (c < usedCols) {
        tag |= MAPPED;
        if (row < usedRows) {
          word = load<T>(j.top + (firstRow + row) * j.topByFirst + (firstCol + c) * j.topByCol);
          j.topWords++;
        }
      }
      store<T>(words + <usize>c * sizeof<T>(), word);
      store<u8>(tags + c, tag);
    }
  }
}

/** Column c takes word (now - start - c) of a fold. */
function feedStreamed<T>(s: ArrayState, j: Job, now: i32): void {
  const tags = s.heldTags - s.tagStride;
  const words = s.held - s.dataStride;
  memory.fill(tags, 0, <usize>s.padCols);
  memory.fill(words, 0, <usize>s.padCols * sizeof<T>());
  for (let fold = j.foldsStreaming - 1; fold >= 0; --fold) {
    const elapsed = now - streamStart(j, fold);
    if (elapsed - j.t + 1 >= s.cols) break;
    const firstCol = (fold / j.rowFolds) * s.cols;
    const last = min(min(s.cols, j.sc - firstCol) - 1, elapsed);
    for (let c = max(0, elapsed - j.t + 1); c <= last; ++c) {
      const time = elapsed - c;
      store<T>(
        words + <usize>c * sizeof<T>(),
        load<T>(j.top + time * j.topByFirst + (firstCol + c) * j.topByCol)
      );
      store<u8>(tags + c, VALID | MAPPED);
      j.topWords++;
    }
  }
}

/** Takes the words at the bottom ports. A column's k-th output of a fold is its k-th. */
function collect(s: ArrayState, j: Job): void {
  const bottom = <usize>(s.rows - 1);
  const values = s.resident ? s.sums + bottom * s.sumStride : s.chain + bottom * s.chainStride;
  const columnTags = s.heldTags + bottom * s.tagStride;
  const columns = j.scratch + <usize>j.folds * 8;
  const length = s.resident ? j.t : s.rows;
  for (let c = 0; c < s.cols; ++c) {
    const tag = load<u8>(s.bottomTags + c);
    if (tag == 0) continue;
    const column = columns + (<usize>c << 3);
    let passed = load<i32>(column, 4);
    let fold = load<i32>(column);
    if (passed == 0) store<i32>(column, ++fold);
    const work = (s.resident ? load<u8>(columnTags + c) : tag) & MAPPED;
    if (work) {
      const rowFold = fold % j.rowFolds;
      const col = (fold / j.rowFolds) * s.cols + c;
      const first = s.resident ? passed : rowFold * s.rows + s.rows - 1 - passed;
      put(s, j, values + (<usize>c << 2), j.out + first * j.outByFirst + col * j.outByCol, rowFold);
    }
    if (++passed == length) {
      passed = 0;
      if (c == s.cols - 1) j.foldsDone++;
    }
    store<i32>(column, passed, 4);
  }
}

/** Partial sums of later row folds are added to what is there: accumulators below the array. */
// @ts-ignore: decorator
@inline function put(s: ArrayState, j: Job, from: usize, to: usize, rowFold: i32): void {
  j.bottomWords++;
  if (!s.resident || rowFold == 0) {
    store<i32>(to, load<i32>(from));
    return;
  }
  j.readBacks++;
  if (s.dtype == DTYPE_I8) store<i32>(to, load<i32>(to) + load<i32>(from));
  else store<f32>(to, load<f32>(to) + load<f32>(from));
}
