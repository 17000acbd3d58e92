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

/** A property that may be left out, up to the end of its type: of a line, or of an object's lines. */
const OPTIONAL =
  /^( +)((?:readonly )?\w+\?: )(\{\n(?:\1 .*\n)*\1\}|.*[^{\s]);$/gm;

/** In the place of `Required` and `Partial`, which know of no `undefined` that is written down. */
const GIVEN = `export {};
type Given<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };
type Maybe<T> = { [K in keyof T]?: T[K] | undefined };
`;

/**
 * Says of every property that may be left out that it may be undefined, too. It is meant so: the sources are compiled
 * without `exactOptionalPropertyTypes`, and with it a reader could not hand on what may be undefined.
 */
function maybeUndefined(text: string): string {
  return text.replace(OPTIONAL, (all, indent, name, type: string) => {
    const depth = type.split("(").length - type.split(")").length;
    // A parameter on a line of its own, or said already.
    if (depth !== 0 || type.endsWith("| undefined")) return all;
    const inside = type.startsWith("{\n") ? maybeUndefined(type) : type;
    const whole = / (?:=>|\?) /.test(type) ? `(${inside})` : inside;
    return `${indent}${name}${whole} | undefined;`;
  });
}

/** @param text as the compiler writes it */
function forReaders(text: string): string {
  const said = maybeUndefined(text.replace(SPECIFIER, `$1$2.js"`));
  const given = said.replaceAll(/\bRequired</g, "Given<")
    .replaceAll(/\bPartial</g, "Maybe<");
  return (given.includes("Symbol.asyncDispose") ? DISPOSABLE : "") + given +
    (given === said ? "" : GIVEN);
}

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
      found.set(path, forReaders(text));
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
