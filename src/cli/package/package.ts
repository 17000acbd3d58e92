/** Makes what package.json says is in the package: `deno task package`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { taskSettings } from "../options.ts";
import { bundle, DOORS } from "./bundle.ts";
import { declarations } from "./declarations.ts";
import { thirdParty } from "./third_party.ts";

const HELP = `package

Bundles the library and the command line and writes declarations: build/dist and build/types.
`;

taskSettings({ name: "package", help: HELP, options: {} }, () => {});

const ROOT = new URL("../../../", import.meta.url);

function write(path: string, text: string): void {
  const file = fileURLToPath(new URL(`build/${path}`, ROOT));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const inputs = await bundle(ROOT);
rmSync(new URL("build/types/", ROOT), { recursive: true, force: true });
const modules = Object.values(DOORS).map((module) => `${module}.ts`);
for (const [path, text] of declarations(ROOT, modules)) {
  write(`types/${path}`, text);
}
write("THIRD-PARTY.txt", thirdParty(ROOT, inputs));
