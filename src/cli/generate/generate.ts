/** Writes the generated files that are not as they should be: `deno task generate`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { taskSettings } from "../options.ts";
import { generatedFiles } from "./generated.ts";

const HELP = `generate

Writes what is generated: the microkernels in assembly/, the types of the module's exports, the table in
docs/onnx.md, and the schemas of settings in docs/schemas.
`;

taskSettings({ name: "generate", help: HELP, options: {} }, () => undefined);

const ROOT = new URL("../../../", import.meta.url);
for (const { path, text } of await generatedFiles(ROOT)) {
  const file = new URL(path, ROOT);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  writeFileSync(file, text);
  process.stderr.write(`generate: ${path}\n`);
}
