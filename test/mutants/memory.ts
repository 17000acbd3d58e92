/** What earlier runs have found, as long as nothing it depends on has changed. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Mutant, MutantTest } from "./mutant.ts";
import { sourcesDigest } from "./sources.ts";
import { asTest } from "./tested.ts";

const FOLDER = new URL("../../build/mutants/", import.meta.url);
const FILE = fileURLToPath(new URL("results.jsonl", FOLDER));

interface Line<T> {
  readonly key: string;
  readonly value: T;
}

/** Values by what they depend on, one line of a file each, so that an interrupted run has lost nothing. */
export class Memory<T> {
  readonly #known = new Map<string, T>();

  /** @param fresh whether to forget */
  constructor(fresh: boolean) {
    mkdirSync(FOLDER, { recursive: true });
    if (fresh || !existsSync(FILE)) return;
    for (const line of readFileSync(FILE, "utf8").split("\n")) {
      try {
        const { key, value } = JSON.parse(line) as Line<T>;
        this.#known.set(key, value);
      } catch {
        // The last line of a run that was interrupted, or the end.
      }
    }
  }

  get(key: string): T | undefined {
    return this.#known.get(key);
  }

  set(key: string, value: T): void {
    this.#known.set(key, value);
    appendFileSync(FILE, `${JSON.stringify({ key, value })}\n`);
  }
}

function keyOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** What the result of a test without a mutant depends on. */
export function testKey(test: MutantTest): string {
  return keyOf({ test, sources: sourcesDigest(test.file) });
}

/** What the result of a mutant depends on. */
export function mutantKey(mutant: Mutant): string {
  const { file, from, to, builds, tests } = mutant;
  return keyOf({
    ...{ file, from, to, builds },
    text: sourcesDigest(file),
    tests: tests.map((test) => testKey(asTest(test))),
  });
}
