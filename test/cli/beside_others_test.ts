import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import os from "node:os";
import process from "node:process";
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
