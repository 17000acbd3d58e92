// Sweeps over packed weights whose K is too long for the first-level cache. There rows and a panel do
// not stay together: what is fetched again of the rows queues behind weights that come from memory, and
// the rate halves. So such weights lie in pieces of K, and a group of panels goes past the rows piece by
// piece, which for each piece is the sweep of a short K: reading and arithmetic overlap. Sums wait in
// scratch memory in between; f32 is what they are in registers too, so no bit changes.
//
// Packed weights of K > WHOLE_STEPS, 16-byte aligned: groups of GROUP_PANELS panels (the last may have
// fewer), each the 8 biases of each panel, then piece after piece the panels' pieceStepsOf(K) x 8
// weights. What the last piece has beyond K is 0. Of shorter K panels are whole (sweep.ts).
import { blocked, blockedRows, MIN_PANELS } from "./blocked";
import { op } from "./op";
import {
  allK, beginBytes, beginColumns, beginRows, beginSegment, code, extra, inPieces, k1, k2, late, n, nextRows, p0, p1, p2,
  reads, rows1, rows2, starts, walks, writes
} from "./job";
import { scratch } from "./scratch";
import { direct, FAR_BYTES, panelBytesOf, STREAM_BYTES, wholePanels } from "./sweep";
import { tile_1x16 } from "./tiles";
import { activateRows } from "./unary";

/** Panels up to this length are whole. */
const WHOLE_STEPS = 640;
/** Steps of a piece, multiples of 8, which turns of all tiles divide: five rows and some panels of them fit the first-level cache. */
const PIECE_LEAST = 192;
const PIECE_MOST = 320;
/** Panels whose pieces lie together. */
const GROUP_PANELS = 16;
/** Rows whose sums wait. */
const BLOCK_ROWS = 120;
const ROW_BYTES: usize = GROUP_PANELS * 32;
/** Streams that one row reads. */
const STREAMS = 2;
/** Bytes of scratch memory: sums, and the table of their rows. */
export const PIECES_SCRATCH_BYTES: usize = BLOCK_ROWS * (ROW_BYTES + 4);

/**
 * Steps of a panel that lie together. The last piece is filled up to them, and memory's prefetchers stumble over what
 * is not read: the least is taken.
 */
export function pieceStepsOf(k: i32): i32 {
  if (k <= WHOLE_STEPS) return k;
  let best = 0;
  let least = i32.MAX_VALUE;
  for (let pieces = (k + PIECE_MOST - 1) / PIECE_MOST, most = k / PIECE_LEAST; pieces <= most; ++pieces) {
    const steps = ((k + pieces - 1) / pieces + 7) & -8;
    const filled = steps * pieces - k;
    if (filled < least) {
      least = filled;
      best = steps;
    }
  }
  return best;
}

/** Panels whose biases and pieces lie together. */
export function groupPanelsOf(k: i32): i32 {
  return k <= WHOLE_STEPS ? 1 : GROUP_PANELS;
}

/** Bytes that a panel takes, wherever they lie. */
export function packedBytesOf(k: i32): usize {
  const steps = pieceStepsOf(k);
  return steps == k ? panelBytesOf(k) : panelBytesOf((k + steps - 1) / steps * steps);
}

/**
 * m rows against panels first.. of `all` at w, `panels` of them; see sweep(). matrices: how many of this size the rows
 * meet one after the other, as a cell's gates.
 */
export function sweepPacked(m: i32, first: i32, panels: i32, all: i32, w: usize, matrices: i32): void {
  const k = allK();
  const packed = packedBytesOf(k);
  const bytes = <usize>(panels * matrices) * packed;
  if (pieceStepsOf(k) == k) wholePanels(m, panels, w + <usize>first * packed, packed, bytes);
  else sweepPieces(m, first, panels, all, w, packed, bytes);
  if (late) activateRows(late, m, p0, 0, n);
}

function sweepPieces(m: i32, first: i32, panels: i32, all: i32, w: usize, packed: usize, bytes: usize): void {
  const length = pieceStepsOf(allK());
  const done = blockedRows(m, panels, bytes > STREAM_BYTES);
  const end = first + panels;
  const pieceBytes = <usize>length << 5;
  let p = first;
  if (m == 1 && bytes > FAR_BYTES && scratch != 0 && first % GROUP_PANELS == 0) {
    const half = panels / (GROUP_PANELS * STREAMS);
    apart(half, w + <usize>first * packed, GROUP_PANELS * packed, length);
    p += half * GROUP_PANELS * STREAMS;
  }
  while (p < end) {
    const group = p / GROUP_PANELS * GROUP_PANELS;
    const size = min(GROUP_PANELS, all - group);
    const some = min(group + size, end) - p;
    const biases = w + <usize>group * packed + (<usize>(p - group) << 5);
    // Tiles take a panel to begin with its biases.
    const weights = w + <usize>group * packed + (<usize>(size - 1) << 5) + <usize>(p - group) * pieceBytes;
    const col = (p - first) << 3;
    const gap = <usize>(size - 1) * pieceBytes;
    const rows = some < MIN_PANELS ? 0 : done;
    starts(32, 0);
    inPieces(length, gap);
    if (rows > 0) blocked(rows, some, weights, pieceBytes, biases, col);
    if (scratch == 0 || (m == 1 && bytes <= FAR_BYTES)) {
      // In registers: nowhere to wait, or in cache faster.
      direct(rows, m, some, weights, pieceBytes, biases, col, 0);
    } else {
      for (let block = rows; block < m; block += BLOCK_ROWS) {
        pieceByPiece(block, min(m, block + BLOCK_ROWS), some, weights, length, gap, biases, col, bytes);
      }
    }
    p += some;
  }
  reads(k1, rows1, k2, rows2, extra);
}

/**
 * One row: two groups half of all apart at a time, which memory serves faster than neighbours. Columns do not come
 * in ascending order.
 */
function apart(groups: i32, w: usize, groupBytes: usize, length: i32): void {
  const columns = n, ending = code + late, table0 = p0, table1 = p1, table2 = p2;
  const far = groupBytes * groups;
  const table = scratch + STREAMS * ROW_BYTES;
  store<u32>(table, <u32>scratch);
  for (let group = 0; group < groups; ++group, w += groupBytes) {
    let weights = w + (ROW_BYTES - 32);
    let start = w;
    let startsFar = far;
    walks(0, rows1, k1, 0, 0);
    for (let left = allK(); left > 0; ) {
      const some = min(length, left);
      left -= some;
      walks(beginSegment, beginRows, beginColumns, beginBytes, some);
      for (let p = 0; p < GROUP_PANELS; ++p) {
        let col = p << 3;
        let colsFar = GROUP_PANELS << 3;
        if (left > 0) {
          writes(i32.MAX_VALUE, op.NONE, table, 0, 0);
        } else {
          writes(columns, ending, table0, table1, table2);
          col += group * GROUP_PANELS << 3;
          colsFar *= groups;
        }
        tile_1x16(0, weights, far, start, startsFar, colsFar, col);
        weights += <usize>length << 5;
        start += 32;
      }
      start = scratch;
      startsFar = ROW_BYTES;
      pass(some);
    }
  }
  writes(columns, ending, table0, table1, table2);
}

/** Rows first..m - 1 against the pieces of `panels` panels, the first ones at w. */
function pieceByPiece(
  first: i32, m: i32, panels: i32, w: usize, length: i32, gap: usize, biases: usize, col: i32, bytes: usize
): void {
  const columns = n, ending = code + late, table0 = p0, table1 = p1, table2 = p2;
  const sums = scratch;
  const table = scratch + BLOCK_ROWS * ROW_BYTES;
  for (let i = 0; i < m - first; ++i) {
    store<u32>(table + (<usize>i << 2), <u32>(sums + <usize>i * ROW_BYTES));
  }
  writes(i32.MAX_VALUE, op.NONE, table - (<usize>first << 2), 0, 0);
  const pieceBytes = <usize>length << 5;
  let start = biases;
  starts(32, 0);
  walks(0, rows1, k1, 0, 0);
  for (let left = allK(); ; ) {
    const some = min(length, left);
    left -= some;
    walks(beginSegment, beginRows, beginColumns, beginBytes, some);
    if (left == 0) {
      writes(columns, ending, table0, table1, table2);
      direct(first, m, panels, w, pieceBytes, start, col, bytes);
      return;
    }
    direct(first, m, panels, w, pieceBytes, start, 0, bytes);
    w += pieceBytes + gap;
    start = sums - <usize>first * ROW_BYTES;
    starts(32, ROW_BYTES);
    pass(some);
  }
}

/** Tiles begin `count` steps further on. */
function pass(count: i32): void {
  let segment = beginSegment;
  let rows = beginRows;
  let k = beginColumns;
  let bytes = beginBytes;
  while (count > 0) {
    const run = min(k, count);
    count -= run;
    k -= run;
    bytes += <usize>run << 2;
    if (k == 0 && segment < extra) {
      rows = nextRows(segment);
      k = k2;
      bytes = 0;
      ++segment;
    }
  }
  walks(segment, rows, k, bytes, 0);
}
