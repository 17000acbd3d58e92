import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SCRIPT = fileURLToPath(new URL("./held_models.ts", import.meta.url));

Deno.test("a server holds no model that it serves no more, however few requests come behind its last", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", SCRIPT],
  ]);
  const { models, answered, held } = JSON.parse(stdout);
  assert.equal(answered, models);
  // The last one may be on its way still.
  assert(held <= 1, `${held} of ${models}`);
});
