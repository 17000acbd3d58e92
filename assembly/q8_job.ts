// The int8 sweep that is under way: what is the same for all its tiles, as job.ts has it for f32.

/** Quantised rows, and steps of 4 numbers of k in each. */
export let qRows: usize = 0;
export let steps: i32 = 0;
/** From one panel to the next. */
export let panelBytes: usize = 0;
/** Whether weights are taken to come from memory rather than from cache. */
export let streaming: bool = false;
/** Columns of the result; those of the last panel from n on are padding. */
export let n: i32 = 0;
/** What becomes of sums, see finishQ8(), and where. */
export let kind: i32 = 0;
export let outRows: usize = 0;
/** Of requantised results. */
export let scale: f32 = 1;
export let zero: i32 = 0;

/** Bytes of a row of a cell's kept sums: those of one group of panels. */
export const PART_BYTES: usize = 256;
/** Where they lie, less the first row and column. */
export let partSums: usize = 0;

export function keepsParts(address: usize, at: usize, col: i32): void {
  partSums = address - at * (PART_BYTES >> 2) - (<usize>col << 2);
}

/** Says what is multiplied: rows of k bytes, their headers at `copies` or, if that is 0, before them, by panels `stride` bytes apart. */
export function readsQ8(k: i32, table: usize, stride: usize, copies: usize): void {
  qRows = table;
  steps = (k + 3) >> 2;
  panelBytes = stride;
  headers = copies;
}

/** Where rows lie as q8_pack.ts has packed them, as if the table's first were among them. */
export let packed: usize = 0;
/** Where their headers are, likewise; 0: before the rows themselves. */
export let headers: usize = 0;
export const HEADER_BYTES: usize = 16;

/** Where sums of packed rows wait for their end, 32 bytes a row, as if the table's first were among them. */
export let tileSums: usize = 0;

/** Says that rows from byte offset `at` of the table on lie packed at `address`, their headers at `copies`; sums go to `sums`. */
export function readsPacked(address: usize, copies: usize, at: usize, sums: usize): void {
  tileSums = sums - (at << 3);
  packed = address - at * <usize>steps;
  headers = copies - at * (HEADER_BYTES >> 2);
}

/** Stretches of a row to be packed, of how many bytes each; 0: as many as there are steps. */
export let lines: i32 = 1;
export let lineBytes: usize = 0;

/** Says so; from one line of a row to its next are the bytes that its header's last word has. */
export function readsLines(count: i32, bytes: usize): void {
  lines = count;
  lineBytes = bytes;
}

export function movesPacked(address: usize): void {
  packed = address;
}

/** Which part of the activations is multiplied: all of them, or their highest bits, whose sums are kept for the others'. */
export namespace part {
  export const ALL = 0;
  export const HIGH = 1;
  export const LOW = 2;
}
export let ofPart: i32 = part.ALL;
/** Bytes of a row of those sums, and where they lie, less the first row and column. */
export const HIGH_BYTES: usize = 256;
export let highSums: usize = 0;

export function multiplies(code: i32): void {
  ofPart = code;
}

export function keepsHighSums(address: usize, at: usize, col: i32): void {
  highSums = address - at * (HIGH_BYTES >> 2) - (<usize>col << 2);
}

export function streams(fromMemory: bool): void {
  streaming = fromMemory;
}

/** Says what becomes of sums: `columns` results by one kind. */
export function writesQ8(columns: i32, code: i32, table: usize): void {
  n = columns;
  kind = code;
  outRows = table;
}

/** Says how results are requantised. */
export function requantizes(toScale: f32, toZero: i32): void {
  scale = toScale;
  zero = toZero;
}
