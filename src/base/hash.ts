/** 32-bit FNV-1a of a string's UTF-16 units or of bytes; for seeds and for showing that bits are equal. */
export function fnv1a(data: string | ArrayBufferView): number {
  let hash = 0x811c9dc5;
  if (typeof data === "string") {
    for (let i = 0; i < data.length; i++) {
      hash = Math.imul(hash ^ data.charCodeAt(i), 0x01000193);
    }
  } else {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}
