/**
 * The bundle that `deno task build` writes, in the other runtimes: the same bits on real worker
 * threads. Bun is tried where it is on the PATH, or fetched when SHOAL_BUN=1.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as shoal from "../../src/mod.ts";
import { smokeLoad } from "./smoke_load.mjs";

const script = fileURLToPath(new URL("./smoke.mjs", import.meta.url));
const TIMEOUT_MS = 60_000;

/** How to start each runtime. */
const RUNTIMES: Record<string, readonly string[]> = {
  deno: [process.execPath, "run", "-A"],
  node: ["node"],
  bun: process.env["SHOAL_BUN"] === "1" ? ["npx", "-y", "bun@1.4"] : ["bun"],
};

let expected: Promise<string> | undefined;

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`the bundle serves the same bits in ${name}`, async () => {
    const { error, status, stdout, stderr } = spawnSync(
      command!,
      [...args, script],
      { encoding: "utf8", timeout: TIMEOUT_MS },
    );
    if (error && "code" in error && error.code === "ENOENT") {
      console.log(`skipped: the bundle in ${name}: no ${command} on the PATH`);
      return;
    }
    assert.ifError(error);
    assert.equal(status, 0, stderr);
    expected ??= smokeLoad(shoal);
    assert.equal(stdout.trim(), await expected, stderr);
  });
}
