/** A copy of the project in a folder of its own, to try changes of it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What a copy has; packages come from Deno's cache, as this process's did. */
const COPIED = [
  ...["assembly", "src", "test", "build", "bench", "docs", "examples"],
  ...["asconfig.json", "deno.json", "deno.lock", "package.json"],
  ...["README.md", "ARCHITECTURE.md", "CHANGELOG.md"],
];

/** Reports of benches and results of mutants are no part of the build. */
const NOT_COPIED = ["bench", "mutants"].map((name) =>
  join(ROOT, "build", name)
);

/** A change of one file. */
export type Edit =
  & { readonly file: string }
  & (
    /** Lines after the one that has this text, the first such line. */
    | { readonly after: string; readonly lines: readonly string[] }
    /** Text in place of another, the first occurrence, within one line. */
    | { readonly instead: string; readonly of: string }
  );

/** What somebody writes who adds something. */
export interface Addition {
  /** Texts of new files by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly edits: readonly Edit[];
}

/** What an addition takes. */
export interface Count {
  readonly newFiles: number;
  readonly editedFiles: number;
  /** Lines added or changed in files that were there. */
  readonly lines: number;
}

export function countOf({ files, edits }: Addition): Count {
  const lines = edits.map((edit) => "lines" in edit ? edit.lines.length : 1);
  return {
    newFiles: Object.keys(files).length,
    editedFiles: new Set(edits.map(({ file }) => file)).size,
    lines: lines.reduce((a, b) => a + b, 0),
  };
}

export interface Ran {
  /** NaN when it was killed. */
  readonly code: number;
  /** Standard output and error, in this order. */
  readonly text: string;
}

export class ProjectCopy {
  readonly root = mkdtempSync(join(tmpdir(), "shoal-copy-"));

  constructor() {
    for (const name of COPIED) {
      // Reports and traces of benches are no part of the build.
      cpSync(join(ROOT, name), join(this.root, name), {
        recursive: true,
        filter: (path) => !NOT_COPIED.includes(path),
        preserveTimestamps: true,
      });
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true });
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), "utf8");
  }

  write(file: string, text: string): void {
    const path = join(this.root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  add({ files, edits }: Addition): void {
    for (const [file, text] of Object.entries(files)) {
      assert(!existsSync(join(this.root, file)), `${file} is there already`);
      this.write(file, text);
    }
    for (const edit of edits) {
      this.write(edit.file, edited(this.read(edit.file), edit));
    }
  }

  /**
   * Runs a command of `deno` in the copy, without a folder of packages and without the network.
   * @param timeoutMs after which it is killed; default: never
   */
  deno(
    [command, ...args]: readonly string[],
    env: Readonly<Record<string, string>> = {},
    timeoutMs = 0,
  ): Promise<Ran> {
    return new Promise((resolve) =>
      execFile(
        process.execPath,
        [command, "--node-modules-dir=none", "--cached-only", ...args],
        {
          cwd: this.root,
          env: { ...process.env, NO_COLOR: "1", ...env },
          maxBuffer: 2 ** 26,
          timeout: timeoutMs,
          killSignal: "SIGKILL",
        },
        (error, out, err) =>
          resolve({
            code: error === null ? 0 : Number(error.code ?? NaN),
            text: out + err,
          }),
      )
    );
  }

  /** Remembers the kernels' builds, to put them back. */
  keepBuilds(): { restore(): void } {
    const folder = join(this.root, "build");
    const kept = readdirSync(folder)
      .filter((name) => name.endsWith(".wasm"))
      .map((name) => join(folder, name))
      .map((path) => ({ path, bytes: readFileSync(path) }));
    return {
      restore: () =>
        kept.forEach(({ path, bytes }) => writeFileSync(path, bytes)),
    };
  }

  /** Compiles one of the kernels' builds. The others are left as they are. */
  compile(target = "release"): Promise<Ran> {
    const { devDependencies } = JSON.parse(this.read("package.json"));
    const compiler = `npm:assemblyscript@${devDependencies.assemblyscript}/asc`;
    return this.deno([
      ...["run", "-A", compiler, "--config", "asconfig.json"],
      ...["--target", target, "--baseDir", ".", "--noColors"],
    ]);
  }
}

function edited(text: string, edit: Edit): string {
  const anchor = "after" in edit ? edit.after : edit.of;
  const at = text.indexOf(anchor);
  assert(at >= 0, `${edit.file} has no ${JSON.stringify(anchor)}`);
  if ("instead" in edit) {
    return text.slice(0, at) + edit.instead + text.slice(at + anchor.length);
  }
  const end = text.indexOf("\n", at) + 1;
  const lines = edit.lines.map((line) => `${line}\n`).join("");
  return text.slice(0, end) + lines + text.slice(end);
}
