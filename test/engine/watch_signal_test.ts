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
