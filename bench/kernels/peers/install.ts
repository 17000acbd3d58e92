/**
 * Peers' packages live in a folder of their own under build/, so that they are neither
 * dependencies of the package nor in its lock file.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { ROOT } from "../root.ts";

const deno = "deno" in process.versions;
/** Deno and npm lay node_modules out differently. */
const FOLDER = new URL(`build/${deno ? "peer" : "peer-node"}/`, ROOT);

/** Loads a CommonJS package of {@linkcode install}. */
export const requirePeer = createRequire(new URL("package.json", FOLDER));

/** Folder of an installed package, with a slash at the end. */
export function folderOf(name: string): URL {
  return new URL(`node_modules/${name}/`, FOLDER);
}

/**
 * Installs packages at exact versions if they are missing; no package's scripts run.
 * @throws {Error} if the package manager fails
 */
export function install(packages: Readonly<Record<string, string>>): void {
  const missing = Object.entries(packages).filter(([name, version]) => {
    const manifest = new URL("package.json", folderOf(name));
    return !existsSync(manifest) ||
      JSON.parse(readFileSync(manifest, "utf8")).version !== version;
  });
  if (missing.length === 0) return;
  const list = missing.map(([name, version]) => `${name}@${version}`);
  process.stderr.write(`installing ${list.join(", ")}\n`);
  mkdirSync(FOLDER, { recursive: true });
  const file = new URL("package.json", FOLDER);
  const known = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8")).dependencies
    : {};
  const dependencies = { ...known, ...packages };
  writeFileSync(
    file,
    JSON.stringify({ private: true, type: "module", dependencies }) + "\n",
  );
  if (deno) {
    writeFileSync(
      new URL("deno.json", FOLDER),
      '{ "nodeModulesDir": "auto", "lock": false }\n',
    );
  }
  const [command, args] = deno
    ? [process.execPath, ["install"]]
    : ["npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"]];
  const { status, stderr, error } = spawnSync(command, args, { cwd: FOLDER });
  if (error) throw error;
  if (status !== 0) {
    throw new Error(`Cannot install ${list.join(", ")}: ${stderr}`);
  }
}
