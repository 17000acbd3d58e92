/** Linear memory as the checks read it. */
export interface MemoryView {
  bytes: number;
  /** First byte that belongs to the host. */
  staticEnd: number;
  word(address: number): number;
  integer(address: number): number;
}

/** The memory as it is now; it may have grown since the last call. */
export function viewMemory(
  memory: WebAssembly.Memory,
  staticEnd: number,
): MemoryView {
  const { buffer } = memory;
  const words = new Uint32Array(buffer);
  const integers = new Int32Array(buffer);
  return {
    bytes: buffer.byteLength,
    staticEnd,
    word: (address) => words[address / 4]!,
    integer: (address) => integers[address / 4]!,
  };
}
