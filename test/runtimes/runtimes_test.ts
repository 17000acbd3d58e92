/**
 * The bundle that `deno task build` writes, in the other runtimes: the same bits on real worker
 * threads, and without.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expectedHash } from "./expected_hash.ts";
import { RUNTIMES } from "./runtimes.ts";

const script = fileURLToPath(new URL("./smoke.mjs", import.meta.url));
const TIMEOUT_MS = 60_000;

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`the bundle serves the same bits in ${name}`, async () => {
    const { error, status, stdout, stderr } = spawnSync(
      command,
      [...args, script],
      { encoding: "utf8", timeout: TIMEOUT_MS },
    );
    if (error && "code" in error && error.code === "ENOENT") {
      console.log(`skipped: the bundle in ${name}: no ${command} on the PATH`);
      return;
    }
    assert.ifError(error);
    assert.equal(status, 0, stderr);
    const hash = await expectedHash();
    assert.equal(stdout.trim(), `${hash}\n${hash}`, stderr);
  });
}
