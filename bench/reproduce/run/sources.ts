/** What code a result depends on: a hash over everything that a file imports, and the kernels' builds. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A file that is named as a module: imported, in whatever way, or started as a worker. */
const MODULE = /"(\.{1,2}\/[^"\n]+\.(?:ts|json))"/g;

/** What a hash leaves out. */
export interface SourcesOptions {
  /** Files, from the root, that do not count although they are imported, nor what only they import. */
  readonly without?: readonly string[];
  /** Whether the kernels' builds count; default: they do. */
  readonly kernels?: boolean;
}

export class Sources {
  readonly #root: string;
  readonly #without: ReadonlySet<string>;
  readonly #kernels: boolean;
  readonly #texts = new Map<string, string>();
  readonly #hashes = new Map<string, string>();
  #common: readonly string[] | undefined;

  /** @param root folder of the project */
  constructor(
    root: string,
    { without = [], kernels = true }: SourcesOptions = {},
  ) {
    this.#root = root;
    this.#without = new Set(without);
    this.#kernels = kernels;
  }

  /**
   * The file that an experiment is defined in: the one of its paper that holds its id. Where that does not say, the
   * paper's list of experiments, which imports them all.
   * @param folder of the paper, from the root
   */
  fileOf(id: string, folder: string): string {
    const names = existsSync(join(this.#root, folder))
      ? readdirSync(join(this.#root, folder)).sort()
      : [];
    const files = names.filter((name) => name.endsWith(".ts"))
      .map((name) => `${folder}/${name}`)
      .filter((file) => this.#text(file).includes(`id: "${id}"`));
    return files.length === 1 ? files[0] : `${folder}/experiments.ts`;
  }

  /**
   * Hash of the file, of all that it imports, and of what every value may depend on.
   * @param file from the root
   * @returns undefined when there is no such file
   */
  hash(file: string): string | undefined {
    if (!existsSync(join(this.#root, file))) return undefined;
    const known = this.#hashes.get(file);
    if (known !== undefined) return known;
    const hash = createHash("sha256");
    for (const one of this.closure(file)) {
      hash.update(one).update("\0").update(this.#text(one)).update("\0");
    }
    for (const one of this.#common ??= this.#commonFiles()) {
      hash.update(one).update(readFileSync(join(this.#root, one)));
    }
    const hex = hash.digest("hex");
    this.#hashes.set(file, hex);
    return hex;
  }

  /** The file and what it imports, directly or not, sorted. */
  closure(file: string): string[] {
    const found = new Set([file]);
    for (const one of found) {
      for (const [, path] of this.#text(one).matchAll(MODULE)) {
        const target = relative(
          this.#root,
          join(this.#root, dirname(one), path),
        );
        if (this.#without.has(target)) continue;
        if (existsSync(join(this.#root, target))) found.add(target);
      }
    }
    return [...found].sort();
  }

  /** The kernels, and the versions of what is imported from elsewhere. */
  #commonFiles(): string[] {
    const builds = join(this.#root, "build");
    const kernels = this.#kernels && existsSync(builds)
      ? readdirSync(builds).filter((name) => name.endsWith(".wasm")).sort()
      : [];
    return ["package.json", ...kernels.map((name) => `build/${name}`)]
      .filter((file) => existsSync(join(this.#root, file)));
  }

  #text(file: string): string {
    let text = this.#texts.get(file);
    if (text === undefined) {
      text = readFileSync(join(this.#root, file), "utf8");
      this.#texts.set(file, text);
    }
    return text;
  }
}
