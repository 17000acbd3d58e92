import assert from "node:assert/strict";
import { watchSignal } from "../../src/engine/wall/watch_signal.ts";

Deno.test("a signal that cannot be left is not heard any more", () => {
  const { signal } = new AbortController();
  signal.removeEventListener = () => {
    throw new Error("stay");
  };
  const heard: unknown[] = [];
  watchSignal(signal, (reason) => heard.push(reason))();
  signal.dispatchEvent(new Event("abort"));
  assert.deepEqual(heard, []);
});

Deno.test("a signal is heard once, with its reason", () => {
  const controller = new AbortController();
  const heard: unknown[] = [];
  watchSignal(controller.signal, (reason) => heard.push(reason));
  controller.abort("enough");
  controller.signal.dispatchEvent(new Event("abort"));
  assert.deepEqual(heard, ["enough"]);
});

Deno.test("who watches a signal along with others hears of it until he leaves, by one listener for all", () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  let adds = 0;
  signal.addEventListener = (_: string, listener: unknown) => {
    adds++;
    listeners.add(listener);
  };
  signal.removeEventListener = (_: string, listener: unknown) =>
    listeners.delete(listener);
  const heard: number[] = [];
  const watch = (id: number) => watchSignal(signal, () => heard.push(id));
  const leave = Array.from({ length: 20 }, (_, id) => watch(id));
  assert.equal(adds, 1);
  for (const id of [3, 0, 19, 3]) leave[id]();
  for (const listener of listeners) (listener as () => void)();
  assert.deepEqual(
    heard.sort((a, b) => a - b),
    leave.map((_, id) => id).filter((id) => ![0, 3, 19].includes(id)),
  );
  for (const one of leave) one();
  listeners.clear();
  // The next ones begin anew, and the last one to leave takes the listener along.
  const next = [watch(20), watch(21)];
  assert.deepEqual([adds, listeners.size], [2, 1]);
  for (const one of next) one();
  assert.equal(listeners.size, 0);
  watch(22);
  assert.deepEqual([adds, listeners.size], [3, 1]);
});

Deno.test("who leaves as another one hears of the signal does not hear of it", () => {
  const controller = new AbortController();
  const heard: string[] = [];
  const leave: (() => void)[] = [];
  for (const name of ["first", "second"]) {
    leave.push(watchSignal(controller.signal, () => {
      heard.push(name);
      for (const one of leave) one();
    }));
  }
  controller.abort();
  assert.deepEqual(heard, ["first"]);
});
