/** Licences of the packages of which parts are in the bundles. */
import { readdirSync, readFileSync, statSync } from "node:fs";

const IN_PACKAGE =
  /^(.*node_modules\/((?:@[^/]+\/)?[^/]+)\/)(?!.*node_modules\/)/;
const LICENCE_FILE = /^(licen[cs]e|notice|copying)/i;

/**
 * Name, version, licence and notices of every package that inputs of a bundle come from, as one text.
 * @param root folder of the checkout
 * @param inputs paths from the root
 */
export function thirdParty(root: URL, inputs: Iterable<string>): string {
  const folders = new Map<string, URL>();
  for (const input of inputs) {
    const [, path, name] = IN_PACKAGE.exec(input) ?? [];
    if (name !== undefined) folders.set(name, new URL(path, root));
  }
  const sections = [...folders].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, folder]) => {
      const { version, license } = JSON.parse(
        readFileSync(new URL("package.json", folder), "utf8"),
      ) as { version: string; license: string };
      const texts = readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((file) => LICENCE_FILE.test(file))
        .map((file) => new URL(file, folder))
        .filter((file) => statSync(file).isFile())
        .map((file) => readFileSync(file, "utf8").trim());
      return `${name} ${version} (${license})\n\n${texts.join("\n\n")}`;
    });
  return `Parts of these packages are in dist/, without what is not used there; of @assemblyscript/loader the polyfill of
Object.hasOwn is left out, too.\n\n${
    sections.join(`\n\n${"-".repeat(78)}\n\n`)
  }\n`;
}
