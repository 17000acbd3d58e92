import assert from "node:assert/strict";
import { Cuts } from "../../../src/server/runtime/cuts.ts";

Deno.test("who is answered is not held, who waits is cut off, and so is who comes afterwards", async () => {
  const cuts = new Cuts<string>();
  assert.equal(await cuts.orCut(Promise.resolve("answer")), "answer");
  await assert.rejects(cuts.orCut(Promise.reject(new Error("its own"))), {
    message: "its own",
  });
  // An answer is let go in the turn after it.
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(cuts.waiting, 0);

  const never = new Promise<string>(() => {});
  const waits = [cuts.orCut(never), cuts.orCut(never)];
  assert.equal(cuts.waiting, 2);
  cuts.end(() => "cut");
  assert.deepEqual(await Promise.all(waits), ["cut", "cut"]);
  assert.equal(await cuts.orCut(never), "cut");
});
