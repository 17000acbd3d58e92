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

/**
 * A view of a file's bytes as somebody brings them: of this realm or another one (a frame's, a context of node:vm), of
 * which `instanceof` knows nothing.
 * @returns undefined of what is neither a Uint8Array nor a buffer
 */
export function fileBytes(file: unknown): Uint8Array | undefined {
  const tag = Object.prototype.toString.call(file).slice(8, -1);
  if (ArrayBuffer.isView(file)) {
    return tag === "Uint8Array"
      ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
      : undefined;
  }
  const isBuffer = tag === "ArrayBuffer" || tag === "SharedArrayBuffer";
  return isBuffer ? new Uint8Array(file as ArrayBufferLike) : undefined;
}
