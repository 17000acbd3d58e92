import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { besideOthers } from "../../src/cli/beside_others.ts";

const afterMs = (ms: number) =>
  new Promise<string>((resolve) => setTimeout(() => resolve("measured"), ms));

/** Of what others have to take more than a tenth, whatever the machine's size. */
const BUSY = Math.ceil(os.cpus().length / 5);

Deno.test("who measures beside others is told so", async () => {
  const busy = Array.from(
    { length: BUSY },
    () =>
      spawn(process.execPath, ["eval", "console.log(1); for (;;);"], {
        stdio: ["ignore", "pipe", "ignore"],
      }),
  );
  try {
    await Promise.all(
      busy.map(({ stdout }) =>
        new Promise((resolve) => stdout.once("data", resolve))
      ),
    );
    const said: string[] = [];
    const measured = await besideOthers(
      () => afterMs(300),
      (text) => said.push(text),
    );
    assert.equal(measured, "measured");
    assert.equal(said.length, 1);
    assert.match(said[0], /^other processes had \d+ % of the machine/);
  } finally {
    const gone = busy.map((each) =>
      new Promise((resolve) => each.once("exit", resolve))
    );
    for (const each of busy) each.kill("SIGKILL");
    await Promise.all(gone);
  }
});

Deno.test("shoal bench tells of others", () => {
  const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const out = mkdtempSync(join(os.tmpdir(), "shoal-bench-"));
  try {
    const { status, stderr } = spawnSync(process.execPath, [
      ...["run", "-A", "--no-check", "--preload", path("./busy_machine.ts")],
      ...[path("../../src/cli.ts"), "bench", "--quick", "--size", "small"],
      ...["--model", "lstm", "--policy", "serial", "--requests", "20"],
      ...["--rate", "500", "--out", out],
    ], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^other processes had \d+ % of the machine/m);
  } finally {
    rmSync(out, { recursive: true });
  }
});
