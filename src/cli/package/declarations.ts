/** The package's declarations, for readers that have neither Deno's nor Node's types. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const COMPILER = "node_modules/typescript/bin/tsc";

/** Beside the entries: nobody needs declarations of them, but they are part of the package. */
const PROGRAMS = ["cli", "engine/wall/worker_main"];

const LIBRARIES = "es2023,es2024.sharedmemory,esnext.disposable," +
  "dom,dom.iterable,dom.asynciterable";

/**
 * What the sources are written for, the oldest Node of package.json: what it does not have is an error. The declarations
 * need less.
 */
const OPTIONS = [
  ...["--declaration", "--emitDeclarationOnly", "--noEmitOnError"],
  ...["--strict", "--skipLibCheck", "--allowImportingTsExtensions"],
  ...["--module", "nodenext", "--target", "es2022"],
  ...["--lib", LIBRARIES],
  ...["--types", "node"],
];

/** A specifier in a declaration. */
const SPECIFIER = /((?:from|import\()\s*")(\.{1,2}\/[^"]+)\.ts"/g;

/** Not in the libraries of a target before ES2026, and used by classes that can be disposed of. */
const DISPOSABLE = `/// <reference lib="esnext.disposable" />\n`;

/**
 * Has the TypeScript compiler write declarations.
 * @param root folder of the checkout
 * @param entries modules under src/, by the names that they have there
 * @returns the declarations that the entries refer to, by their paths from src/
 * @throws Error with what the compiler says
 */
export function declarations(
  root: URL,
  entries: readonly string[],
): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-types-"));
  try {
    const { status, stdout, stderr, error } = spawnSync("node", [
      COMPILER,
      ...OPTIONS,
      ...["--rootDir", "src", "--outDir", folder],
      ...[...entries, ...PROGRAMS.map((name) => `${name}.ts`)]
        .map((module) => `src/${module}`),
    ], { cwd: fileURLToPath(root), encoding: "utf8" });
    if (error) throw error;
    if (status !== 0) {
      throw new Error(`Cannot write declarations:\n${stdout}${stderr}`);
    }
    const found = new Map<string, string>();
    const visit = (module: string): void => {
      const path = module.replace(/\.ts$/, ".d.ts");
      if (found.has(path)) return;
      const text = readFileSync(join(folder, path), "utf8");
      const ours = text.replace(SPECIFIER, `$1$2.js"`);
      found.set(
        path,
        ours.includes("Symbol.asyncDispose") ? DISPOSABLE + ours : ours,
      );
      for (const [, , imported] of text.matchAll(SPECIFIER)) {
        visit(`${normalize(join(dirname(module), imported))}.ts`);
      }
    };
    entries.forEach(visit);
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
