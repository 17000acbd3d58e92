/** Makes the npm package: `deno task pack`. The tarball's path goes to stdout. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { taskSettings } from "./options.ts";
import { bundle, DOORS } from "./package/bundle.ts";
import { declarations } from "./package/declarations.ts";
import { type Checkout, manifest } from "./package/manifest.ts";
import { thirdParty } from "./package/third_party.ts";
import { print, runProgram } from "./terminal.ts";

const HELP = `pack

Bundles the library and the command line, writes declarations, and packs build/npm as a tarball in build/.
`;

taskSettings({ name: "pack", help: HELP, options: {} }, () => {});

const ROOT = new URL("../../", import.meta.url);

/** Besides what is made: texts, and what they refer to. */
const COPIED = [
  ...["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "docs"],
];

async function pack(): Promise<number> {
  const { folder, inputs } = await bundle(ROOT);
  const write = (path: string, text: string): void => {
    const file = fileURLToPath(new URL(path, folder));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  rmSync(new URL("types/", folder), { recursive: true, force: true });
  const modules = Object.values(DOORS).map((module) => `${module}.ts`);
  for (const [path, text] of declarations(ROOT, modules)) {
    write(`types/${path}`, text);
  }
  for (const name of COPIED) {
    cpSync(new URL(name, ROOT), new URL(name, folder), { recursive: true });
  }
  write("THIRD-PARTY.txt", thirdParty(ROOT, inputs));
  const checkout = JSON.parse(
    readFileSync(new URL("package.json", ROOT), "utf8"),
  ) as Checkout;
  write(
    "package.json",
    `${JSON.stringify(manifest(checkout, DOORS), undefined, 2)}\n`,
  );
  const build = fileURLToPath(new URL("build/", ROOT));
  const { stdout, stderr, status, error } = spawnSync(
    "npm",
    ["pack", "--json", "--pack-destination", build],
    { cwd: fileURLToPath(folder), encoding: "utf8" },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  print(`${build}${filename}`);
  return 0;
}

await runProgram("pack", pack);
