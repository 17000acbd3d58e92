/**
 * The embeddable module without our TypeScript, in every host that this machine has: the same
 * GEMM, LSTM sequence and int8 GEMM give the same hashes, which docs/abi.md states. Bun is tried where it is
 * on the PATH, or fetched when SHOAL_BUN=1; browsers and wabt's interpreter come from Debian's
 * packages chromium, firefox-esr, wabt and g++.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { RUNTIMES } from "../runtimes/runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 60_000;
/** What docs/abi.md says must come out. */
const expected = /gemm [0-9a-f]{8}\nlstm [0-9a-f]{8}\nint8 [0-9a-f]{8}/.exec(
  readFileSync(join(ROOT, "docs/abi.md"), "utf8"),
)?.[0];

/** Checks what an example in JavaScript printed, and says so where it had no relaxed SIMD to try. */
function checkReport(name: string, got: string): void {
  const line = /\nrelaxed dot: (.*)$/.exec(got);
  assert.equal(got.slice(0, line?.index), expected);
  if (line?.[1] === "not in this engine") {
    console.log(`skipped: the dot build in ${name}: no relaxed SIMD`);
  } else assert.equal(line?.[1], "the same");
}

/** Output of a command in the checkout's root, or undefined if there is no such command. */
function output(command: string, ...args: string[]): string | undefined {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  if (error && "code" in error && error.code === "ENOENT") return undefined;
  assert.ifError(error);
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`the module without our library gives the documented hashes in ${name}`, () => {
    const got = output(command, ...args, "examples/embed/main.js");
    if (got === undefined) {
      return console.log(
        `skipped: the module in ${name}: no ${command} on the PATH`,
      );
    }
    checkReport(name, got);
  });
}

for (const name of BROWSER_NAMES) {
  Deno.test(`the module in a page of ${name} gives the documented hashes`, async () => {
    const path = "/examples/embed/index.html?report=/report";
    const reports = await visit(name, [{ root: ROOT, path }]);
    if (reports === undefined) {
      return console.log(`skipped: the module in ${name}: not on the PATH`);
    }
    checkReport(name, reports[0]);
  });
}

Deno.test("the module in a host in C++ on wabt's interpreter gives the documented hashes", () => {
  const binary = join(ROOT, "build/embed");
  const built = existsSync("/usr/include/wabt/interp/interp.h") &&
    output(
        "g++",
        ...["-std=c++17", "-O1", "examples/embed/embed.cc"],
        ...["-lwabt", "-o", binary],
      ) !== undefined;
  if (!built) {
    return console.log(
      "skipped: the host in C++: needs g++ and wabt's library",
    );
  }
  // It leaves out the int8 GEMM.
  assert.equal(
    output(binary, "build/shoal.wasm"),
    expected?.split("\n").slice(0, 2).join("\n"),
  );
});
