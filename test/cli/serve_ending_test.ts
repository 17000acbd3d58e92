/** Signals end a server when its requests are done, or its time is over. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(
  new URL("serve_ending_process.ts", import.meta.url),
);

interface Started {
  readonly url: string;
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly code: Promise<number | null>;
}

async function start(graceMs: number, lameDuckMs = 0): Promise<Started> {
  const child = spawn(
    Deno.execPath(),
    ["run", "-A", "--no-check", SCRIPT, `${graceMs}`, `${lameDuckMs}`],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const code = new Promise<number | null>((resolve) =>
    child.on("exit", resolve)
  );
  const lines: string[] = [];
  const url = await new Promise<string>((resolve) =>
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (lines.push(line) === 1) resolve(line);
    })
  );
  return { url, child, lines, code };
}

/** When the server has said that it has heard. */
async function told({ lines }: Started, count: number): Promise<void> {
  while (lines.length < count) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function status(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal}: not ready any more, what runs is finished, then it ends`, async () => {
    const started = await start(20_000);
    const { url, child, code } = started;
    assert.equal(await status(`${url}ready`), 200);
    const under = status(`${url}slow/700`);
    // Nobody knows when it is under way: one that is done came later.
    assert.equal(await status(`${url}slow/1`), 200);
    // The child's own kill() has its exit code forgotten, in Deno.
    process.kill(child.pid!, signal);
    await told(started, 2);
    assert.equal(await status(`${url}ready`), 503);
    assert.equal(await status(`${url}slow/1`), 503);
    assert.equal(await under, 200);
    assert.equal(await code, 0);
  });
}

Deno.test("when its time is over what is left is cut off, and a second signal does not wait", async () => {
  for (const [graceMs, signals] of [[300, 1], [60_000, 2]]) {
    const started = await start(graceMs);
    const { url, child, code } = started;
    const under = status(`${url}slow/30000`).catch(() => "cut off");
    assert.equal(await status(`${url}slow/1`), 200);
    process.kill(child.pid!, "SIGTERM");
    await told(started, 2);
    if (signals === 2) process.kill(child.pid!, "SIGTERM");
    assert.equal(await code, 1);
    assert.equal(await under, "cut off");
  }
});

Deno.test("a lame duck serves on after SIGTERM, until its time is over; then a signal does not wait", async () => {
  const started = await start(60_000, 300);
  const { url, child, code, lines } = started;
  const under = status(`${url}slow/30000`).catch(() => "cut off");
  assert.equal(await status(`${url}slow/1`), 200);
  process.kill(child.pid!, "SIGTERM");
  await told(started, 3);
  assert.match(lines[1], /^leaving: not ready any more, .* another 300 ms$/);
  assert.match(lines[2], /^ending: /);
  assert.equal(await status(`${url}slow/1`), 503);
  process.kill(child.pid!, "SIGTERM");
  assert.equal(await code, 1);
  assert.equal(await under, "cut off");
});

for (const second of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`a lame duck ends as any server when ${second} comes, and waits for what runs`, async () => {
    const started = await start(60_000, 3_600_000);
    const { url, child, code } = started;
    const under = status(`${url}slow/700`);
    assert.equal(await status(`${url}slow/1`), 200);
    process.kill(child.pid!, "SIGTERM");
    await told(started, 2);
    assert.equal(await status(`${url}ready`), 503);
    assert.equal(await status(`${url}slow/1`), 200);
    process.kill(child.pid!, second);
    await told(started, 3);
    assert.equal(await under, 200);
    assert.equal(await code, 0);
  });
}

Deno.test("SIGINT makes no lame duck", async () => {
  const started = await start(60_000, 3_600_000);
  // Who answers hears signals.
  assert.equal(await status(`${started.url}slow/1`), 200);
  process.kill(started.child.pid!, "SIGINT");
  assert.equal(await started.code, 0);
  assert.equal(started.lines.length, 2);
});
