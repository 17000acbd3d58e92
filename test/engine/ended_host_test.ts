/** What is left of an engine whose own thread was ended: nothing. */
import assert from "node:assert/strict";
import { unlessItHangs } from "./hang_guard.ts";

Deno.test("workers and helpers that sleep are over once the thread that has the engine is ended", async () => {
  const host = new Worker(new URL("./hosting_thread.ts", import.meta.url), {
    type: "module",
  });
  const names = await new Promise<string[]>((resolve) =>
    host.addEventListener("message", ({ data }) => resolve(data))
  );
  assert.equal(names.length, 4);
  host.terminate();
  const left = new Set(names);
  // A thread holds the lock of its name for as long as it lives.
  const over = names.map((name) =>
    navigator.locks.request(name, () => void left.delete(name))
  );
  await unlessItHangs(
    () => `the ends of ${left.size} threads`,
    Promise.all(over),
    20_000,
  );
});
