/** Tests that engines leave nothing behind, in a runtime of the caller's choice. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Life, LIVES, type Remains } from "./runtimes/lifecycle_load.mjs";

const script = fileURLToPath(
  new URL("./runtimes/lifecycle.mjs", import.meta.url),
);

/** Lives of a default run: enough that what each leaves behind exceeds what the allocator does. */
const TIMES = 24;

/**
 * Half of what ten engines' memories take: the second half of the lives may not add it. What a process has
 * grows by less and less for some dozens of lives, as the allocator's pools fill.
 */
const GROWTH_MAX = 48 * 2 ** 20;

/** A run in which a promise never settles, or threads stay that keep the process. */
const STUCK_MS = 600_000;
const LINGERS_MS = 20_000;

const isFull = process.env["SHOAL_LIVES"] === "full";

/** @returns how many lives to live: all of them when SHOAL_LIVES is "full" */
function timesOf({ times }: Life): number {
  return isFull ? times : Math.min(TIMES, times);
}

/** Defines a test for all kinds of lives together, and, in a full run, for each kind. */
export function testLives(
  where: string,
  command: readonly string[],
  library: URL,
): void {
  LIVES.forEach((life, i) =>
    Deno.test({
      name: `${life.name} leave nothing behind in ${where}`,
      ignore: i > 0 && !isFull,
      fn: () => testLife(life, command, library),
    })
  );
}

/**
 * Threads and memory are back where they began, and the process ends by itself.
 * @param command runs a script, with `gc` exposed
 * @param library URL of what is tested
 */
async function testLife(
  life: Life,
  [command, ...args]: readonly string[],
  library: URL,
): Promise<void> {
  const times = timesOf(life);
  const { stdout, stderr, missing, ending } = await run(command, [
    ...args,
    script,
    library.href,
    life.name,
    `${times}`,
  ]);
  if (missing) {
    console.log(`skipped: ${life.name}: no ${command} on the PATH`);
    return;
  }
  assert.notEqual(stdout, "", `${ending}: ${stderr}`);
  const { threadsBefore, threadsAfter, rssBefore, rssAfter }: Remains = JSON
    .parse(stdout);
  const left: string[] = [];
  if (threadsBefore === undefined || threadsAfter === undefined) {
    console.log(`skipped: threads of ${life.name}: only Linux lists them`);
  } else if (threadsAfter > threadsBefore) {
    left.push(`${threadsBefore} threads became ${threadsAfter}`);
  }
  if (rssAfter - rssBefore > GROWTH_MAX) {
    left.push(`${rssBefore} bytes after half of them became ${rssAfter}`);
  }
  if (ending !== "exit code 0") left.push(`${ending} ${stderr}`);
  assert.deepEqual(left, [], `${times} ${life.name} left something behind`);
}

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly missing: boolean;
  /** How the process ended. */
  readonly ending: string;
}

function run(command: string, args: readonly string[]): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args);
    let [stdout, stderr] = ["", ""];
    let killed: string | undefined;
    const killAfter = (ms: number, why: string) =>
      setTimeout(() => {
        killed = why;
        child.kill("SIGKILL");
      }, ms);
    let timer = killAfter(STUCK_MS, `stuck for ${STUCK_MS} ms`);
    const end = (missing: boolean, ending: string) => {
      clearTimeout(timer);
      resolve({ stdout, stderr, missing, ending });
    };
    child.stdout.on("data", (text) => {
      stdout += text;
      clearTimeout(timer);
      timer = killAfter(LINGERS_MS, "the process did not end by itself");
    });
    child.stderr.on("data", (text) => stderr += text);
    child.on("error", (error) => {
      clearTimeout(timer);
      if ("code" in error && error.code === "ENOENT") end(true, "");
      else reject(error);
    });
    child.on("close", (code) => end(false, killed ?? `exit code ${code}`));
  });
}
