const waiting: (() => void)[] = [];
let channel: MessageChannel | undefined;

/**
 * Calls back in a later turn of the event loop, as soon as everybody else has had theirs: a timer is a
 * millisecond late, or four.
 */
export function nextTurn(callback: () => void): void {
  const { setImmediate } = globalThis as {
    setImmediate?: (callback: () => void) => unknown;
  };
  if (setImmediate !== undefined) return void setImmediate(callback);
  if (channel === undefined) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()!();
  }
  waiting.push(callback);
  channel.port2.postMessage(undefined);
}
