/** Whether an address of the other end is this machine's own. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined &&
    /^(127\.|::1$|::ffff:127\.)/.test(address);
}
