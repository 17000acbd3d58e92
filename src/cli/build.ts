/**
 * Compiles every target of asconfig.json whose output is older than its sources, and
 * bundles the TypeScript for Node and Bun: `deno task build`. Progress goes to stderr.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import process from "node:process";
// @ts-types="./asc.d.ts"
import asc from "assemblyscript/asc";
import { bundle } from "./package/bundle.ts";
import { taskSettings } from "./options.ts";
import { EXIT } from "./terminal.ts";

const HELP = `build [--force]

Compiles the kernels of asconfig.json whose output is older than their sources, and bundles the library.

  --force           compiles all
`;

const { force } = taskSettings({
  name: "build",
  help: HELP,
  options: { force: { type: "boolean", default: false } },
}, ({ values }) => values);

const ROOT = new URL("../../", import.meta.url);
const CONFIG = "asconfig.json";

interface Config {
  targets: Record<string, { outFile: string }>;
}

/** Time of the last change, or 0 if there is no such file. */
function changedAtMs(path: string): number {
  return statSync(new URL(path, ROOT), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestSourceMs(): number {
  const sources = readdirSync(new URL("assembly/", ROOT), {
    recursive: true,
    encoding: "utf8",
  })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `assembly/${name}`);
  return Math.max(...[CONFIG, "package.json", ...sources].map(changedAtMs));
}

/** Compiles one target; the compiler's messages go to stderr. */
async function compile(target: string): Promise<boolean> {
  const options = ["--config", CONFIG, "--target", target, "--baseDir", "."];
  const { error } = await asc.main(options, {
    stdout: process.stderr,
    stderr: process.stderr,
  });
  return error === null;
}

process.chdir(
  process.platform === "win32" ? ROOT.pathname.slice(1) : ROOT.pathname,
);
const { targets } = JSON.parse(
  readFileSync(new URL(CONFIG, ROOT), "utf8"),
) as Config;
const sourcesMs = force ? Infinity : newestSourceMs();
const stale = Object.keys(targets).filter((name) =>
  changedAtMs(targets[name].outFile) < sourcesMs
);
for (const [i, target] of stale.entries()) {
  process.stderr.write(
    `build ${i + 1}/${stale.length}: ${targets[target].outFile}\n`,
  );
  if (!await compile(target)) process.exit(EXIT.failure);
}
if (stale.length === 0) process.stderr.write("build: up to date\n");
await bundle(ROOT);
