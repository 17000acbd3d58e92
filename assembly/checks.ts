// Argument checks of the debug builds. Release builds carry none of this: the host
// checks at its boundary (src/kernels/).

/** Traps unless `table` is a table of `count` row addresses, each row `bytes` long and inside memory. */
// @ts-ignore: decorator
@inline export function checkRows(table: usize, count: i32, bytes: u64): void {
  if (!ASC_NO_ASSERT) {
    checkTable(table, count);
    for (let i = 0; i < count; ++i) checkSpan(<usize>load<u32>(table + (<usize>i << 2)), bytes);
  }
}

/** The same of rows that are copied as bytes, wherever they begin. */
// @ts-ignore: decorator
@inline export function checkByteRows(table: usize, count: i32, bytes: u64): void {
  if (!ASC_NO_ASSERT) {
    assert(count >= 0, "row count is negative");
    checkArray(table, <u64>count << 2);
    for (let i = 0; i < count; ++i) checkSpan(<usize>load<u32>(table + (<usize>i << 2)), bytes);
  }
}

/** Traps unless `address` is an aligned array of `bytes` bytes inside memory. */
// @ts-ignore: decorator
@inline export function checkArray(address: usize, bytes: u64): void {
  if (!ASC_NO_ASSERT) {
    assert((address & 3) == 0, "array is not 4-byte aligned");
    checkSpan(address, bytes);
  }
}

/** Traps unless `table` is a table of `count` row addresses; the rows are not looked at. */
// @ts-ignore: decorator
@inline export function checkTable(table: usize, count: i32): void {
  if (!ASC_NO_ASSERT) {
    assert(count >= 0, "row count is negative");
    assert((table & 3) == 0, "row table is not 4-byte aligned");
    checkSpan(table, <u64>count << 2);
    for (let i = 0; i < count; ++i) {
      assert((load<u32>(table + (<usize>i << 2)) & 3) == 0, "row is not 4-byte aligned");
    }
  }
}

/** Traps unless packed weights of `panels` panels, `panelBytes` each, lie aligned inside memory. */
// @ts-ignore: decorator
@inline export function checkPacked(w: usize, panels: i32, panelBytes: u64): void {
  if (!ASC_NO_ASSERT) {
    assert((w & 15) == 0, "packed weights are not 16-byte aligned");
    checkSpan(w, <u64>panels * panelBytes);
  }
}

/**
 * Traps unless [address, address + bytes) lies above the static data and inside memory. The last page of 4 GiB is
 * nobody's: loops compare addresses with ends, and one behind it would be 0.
 */
// @ts-ignore: decorator
@inline export function checkSpan(address: usize, bytes: u64): void {
  if (!ASC_NO_ASSERT) {
    assert(address >= __heap_base, "address lies in the static data");
    assert(<u64>address + bytes <= <u64>min(memory.size(), 0xffff) << 16, "operand ends outside memory");
  }
}

/** Words that fill 4 GiB: the bytes of more no longer fit 32 bits, in which kernels count. */
const DIMENSION_END: i32 = 1 << 30;

/** Traps unless `value` is at least `least`, and so small that memory could hold as many words. */
// @ts-ignore: decorator
@inline export function checkLeast(value: i32, least: i32): void {
  if (!ASC_NO_ASSERT) {
    assert(value >= least, "dimension is too small");
    assert(value < DIMENSION_END, "dimension is too large");
  }
}

/** Products of a byte and a signed one whose sums fit 32 bits; blocks of packed rows hold no longer ones. */
const Q8_K_MAX: i32 = 65793;

/** Traps unless an int8 sum has that many products at most, and one. */
// @ts-ignore: decorator
@inline export function checkProducts(k: i32): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(k, 1);
    assert(k <= Q8_K_MAX, "an int8 sum has too many products for 32 bits");
  }
}

/** Bytes of a volume of floats, or so many that no memory has them. */
// @ts-ignore: decorator
@inline export function volumeBytes(height: i32, width: i32, channels: i32): u64 {
  const pixels = <u64>height * width;
  return pixels < <u64>DIMENSION_END ? pixels * channels << 2 : pixels << 2;
}

/** Traps unless units first .. first + units - 1 are some of `hidden` and start at a panel. */
// @ts-ignore: decorator
@inline export function checkUnits(hidden: i32, first: i32, units: i32): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(hidden, 1);
    checkLeast(units, 1);
    assert(first >= 0 && (first & 7) == 0, "the first unit is not a multiple of 8");
    assert(first <= hidden - units, "there are not so many units");
  }
}
