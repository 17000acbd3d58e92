/** The bundle's server in the other runtimes, over real connections. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { RUNTIMES } from "../../runtimes/runtimes.ts";

const script = fileURLToPath(new URL("./bundle_checks.mjs", import.meta.url));
const TIMEOUT_MS = 60_000;

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`the bundle's server does what it has to in ${name}`, () => {
    const { error, status, stdout, stderr } = spawnSync(
      command,
      [...args, script],
      { encoding: "utf8", timeout: TIMEOUT_MS },
    );
    if (error && "code" in error && error.code === "ENOENT") {
      console.log(`skipped: the server in ${name}: no ${command} on the PATH`);
      return;
    }
    assert.ifError(error);
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim(), "ok", stderr);
  });
}
