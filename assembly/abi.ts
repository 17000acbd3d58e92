/** Version of the ABI: exports, argument order, layout of packed weights. Changes with any of them. */
export function shoal_abi_version(): i32 {
  return 5;
}

/** First address above the module's static data, 16-byte aligned. */
export function shoal_static_end(): usize {
  return (__heap_base + 15) & ~15;
}
