const waiting: (() => void)[] = [];
let channel: MessageChannel | undefined;

/** As it was when this was loaded: tests put a clock of theirs in its place, which runs when they say so. */
const { setImmediate } = globalThis as {
  setImmediate?: (callback: () => void) => unknown;
};

/**
 * Calls back in a later turn of the event loop, as soon as everybody else has had theirs: a timer is a
 * millisecond late, or four.
 */
export function nextTurn(callback: () => void): void {
  if (setImmediate !== undefined) return void setImmediate(callback);
  if (channel === undefined) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()!();
  }
  waiting.push(callback);
  channel.port2.postMessage(undefined);
}
