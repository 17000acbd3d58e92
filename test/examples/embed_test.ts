/**
 * The embeddable module without our TypeScript, in every host that this machine has: the same
 * GEMM, LSTM sequence and int8 GEMM give the same hashes, which docs/abi.md states. Bun is tried where it is
 * on the PATH, or fetched when SHOAL_BUN=1; browsers and wabt's interpreter come from Debian's
 * packages chromium, firefox-esr, wabt and g++.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { RUNTIMES } from "../runtimes/runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 60_000;
const MIME: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** What docs/abi.md says must come out. */
const expected = /gemm [0-9a-f]{8}\nlstm [0-9a-f]{8}\nint8 [0-9a-f]{8}/.exec(
  readFileSync(join(ROOT, "docs/abi.md"), "utf8"),
)?.[0];

/** Checks what an example in JavaScript printed, and says so where it had no relaxed build to try. */
function checkReport(name: string, got: string): void {
  const sums = expected?.split(" ").at(-1);
  const line = /\nrelaxed int8 (.*)$/.exec(got);
  assert.equal(got.slice(0, line?.index), expected);
  if (line?.[1] === "not in this engine") {
    console.log(`skipped: the relaxed build in ${name}: no relaxed SIMD`);
  } else assert.equal(line?.[1], sums);
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

/** Serves the checkout, opens the example's page and resolves with what it reports. */
async function inBrowser(
  command: string,
  args: (profile: string, url: string) => string[],
): Promise<string | undefined> {
  if (spawnSync(command, ["--version"]).error) return undefined;
  const profile = mkdtempSync(join(tmpdir(), "shoal-browser-"));
  const reported = Promise.withResolvers<string>();
  const server = createServer((request, response) => {
    if (request.method === "POST") {
      let text = "";
      request.on("data", (chunk) => text += chunk);
      request.on("end", () => {
        response.end();
        reported.resolve(text);
      });
      return;
    }
    const file = join(ROOT, new URL(request.url!, "http://localhost").pathname);
    const type = MIME[extname(file)];
    const known = type !== undefined && file.startsWith(ROOT) &&
      existsSync(file);
    response.writeHead(
      known ? 200 : 404,
      known ? { "content-type": type } : {},
    );
    response.end(known ? readFileSync(file) : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url =
    `http://127.0.0.1:${port}/examples/embed/index.html?report=/report`;
  const browser = spawn(command, args(profile, url), {
    stdio: "ignore",
    detached: true,
  });
  const ended = new Promise<void>((resolve) =>
    browser.on("exit", () => resolve())
  );
  const timer = setTimeout(
    () => reported.reject(new Error(`${command} reported nothing`)),
    TIMEOUT_MS,
  );
  try {
    return await reported.promise;
  } finally {
    clearTimeout(timer);
    // The whole group that was started above: browsers are many processes.
    try {
      process.kill(-browser.pid!, "SIGKILL");
    } catch { /* ended by itself */ }
    await ended;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(profile, {
      recursive: true,
      force: true,
      maxRetries: 5,
      retryDelay: 200,
    });
  }
}

const BROWSERS: Record<string, (profile: string, url: string) => string[]> = {
  "chromium": (profile, url) => [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    `--user-data-dir=${profile}`,
    url,
  ],
  "firefox-esr": (
    profile,
    url,
  ) => ["--headless", "--no-remote", "--profile", profile, url],
};

for (const [name, args] of Object.entries(BROWSERS)) {
  Deno.test(`the module in a page of ${name} gives the documented hashes`, async () => {
    const got = await inBrowser(name, args);
    if (got === undefined) {
      return console.log(`skipped: the module in ${name}: not on the PATH`);
    }
    checkReport(name, got);
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
