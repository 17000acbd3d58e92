/** A request with tensors of bytes: JSON, so many bytes of 0 behind it, and the header that says where they begin. */
export function binaryBody(
  json: object,
  bytes: number,
): [body: Uint8Array, headers: Record<string, string>] {
  const head = new TextEncoder().encode(JSON.stringify(json));
  const body = new Uint8Array(head.length + bytes);
  body.set(head);
  return [body, { "inference-header-content-length": `${head.length}` }];
}
