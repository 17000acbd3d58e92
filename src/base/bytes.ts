/** A view of all bytes of a buffer source. */
export function bytesOf(source: BufferSource): Uint8Array<ArrayBuffer> {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(
      source.buffer as ArrayBuffer,
      source.byteOffset,
      source.byteLength,
    )
    : new Uint8Array(source as ArrayBuffer);
}
