/**
 * What TypeScript computes of a result has the same bits in every runtime and browser, where their own `Math.exp` and
 * its like differ in one of ten numbers.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { elementaryBits } from "../base/elementary_functions.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { RUNTIMES } from "./runtimes.ts";

const TIMEOUT_MS = 60_000;

/** A script that tells the bits by a function. */
async function telling(tell: string): Promise<string> {
  const { outputFiles: [{ text }] } = await build({
    stdin: {
      contents:
        `import { elementaryBits } from "./elementary_functions.ts"; (${tell})(String(elementaryBits()));`,
      resolveDir: fileURLToPath(new URL("../base", import.meta.url)),
    },
    bundle: true,
    format: "esm",
    write: false,
  });
  await stop();
  return text;
}

Deno.test("elementary functions have the same bits in every runtime", async (test) => {
  const input = await telling("console.log");
  for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
    await test.step(name, () => {
      const { error, status, stdout, stderr } = spawnSync(
        command,
        [...args, "-"],
        { encoding: "utf8", timeout: TIMEOUT_MS, input },
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

Deno.test("elementary functions have the same bits in every browser", async (test) => {
  const script = await telling(
    `(body) => fetch("/report", { method: "POST", body })`,
  );
  const root = mkdtempSync(join(tmpdir(), "shoal-elementary-"));
  try {
    const page = `<!doctype html><script type="module">${script}</script>`;
    writeFileSync(join(root, "index.html"), page);
    for (const name of BROWSER_NAMES) {
      await test.step(name, async () => {
        const told = await visit(name, [{ root, path: "/index.html" }]);
        if (!told) return console.log(`skipped: no ${name}`);
        assert.deepEqual(told, [`${elementaryBits()}`]);
      });
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});
