/** What a test file's result depends on. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What every test may depend on without saying so: the kernels are built from these. */
const ALWAYS = [
  "asconfig.json",
  "deno.lock",
  "test/mutants/steady_properties.ts",
  ...readdirSync(join(ROOT, "assembly"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `assembly/${name}`)
    .sort(),
];

const references = new Map<string, readonly string[]>();
const digests = new Map<string, string>();

/** Files that a file names, by a path relative to itself: imports, workers, data. */
function referencesOf(file: string): readonly string[] {
  let found = references.get(file);
  if (found === undefined) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const paths = [...text.matchAll(/"(\.{1,2}\/[^"\n]+)"/g)].map(
      ([, path]) => join(ROOT, dirname(file), path),
    );
    found = paths
      .map((path) => relative(ROOT, path))
      .filter((path) => !path.startsWith("..") && !path.startsWith("build"))
      .filter((path) =>
        existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile()
      );
    references.set(file, found);
  }
  return found;
}

/** A digest of a test file and of all that it imports or names, directly or not. */
export function sourcesDigest(test: string): string {
  let digest = digests.get(test);
  if (digest === undefined) {
    const reached = new Set(ALWAYS);
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      if (file.endsWith(".ts")) referencesOf(file).forEach(visit);
    };
    visit(test);
    const hash = createHash("sha256");
    for (const file of [...reached].sort()) {
      hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
    }
    digest = hash.digest("hex");
    digests.set(test, digest);
  }
  return digest;
}
