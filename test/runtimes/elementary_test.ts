/**
 * What TypeScript computes of a result has the same bits in every runtime, where the runtimes' own `Math.exp` and its
 * like differ in one of ten numbers.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { elementaryBits } from "../base/elementary_functions.ts";
import { RUNTIMES } from "./runtimes.ts";

const TIMEOUT_MS = 60_000;

Deno.test("elementary functions have the same bits in every runtime", async (test) => {
  const { outputFiles: [{ text }] } = await build({
    stdin: {
      contents:
        `import { elementaryBits } from "./elementary_functions.ts"; console.log(elementaryBits());`,
      resolveDir: fileURLToPath(new URL("../base", import.meta.url)),
    },
    bundle: true,
    format: "esm",
    write: false,
  });
  await stop();
  for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
    await test.step(name, () => {
      const { error, status, stdout, stderr } = spawnSync(
        command,
        [...args, "-"],
        { encoding: "utf8", timeout: TIMEOUT_MS, input: text },
      );
      if (error && "code" in error && error.code === "ENOENT") {
        console.log(`skipped: no ${command} on the PATH`);
        return;
      }
      assert.ifError(error);
      assert.equal(status, 0, stderr);
      assert.equal(stdout.trim(), `${elementaryBits()}`, stderr);
    });
  }
});
