/** Folders of people who have nothing but the package. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const { version } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as { version: string };

/** The tarball that `deno task pack` makes. */
export const TARBALL = join(ROOT, `build/shoal-core-${version}.tgz`);

/** The version of Vite that is tried. */
export const VITE = "vite@7.3.8";

const TIMEOUT_MS = 120_000;

/** Output of a command that has ended. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** Somebody's folder. */
export class Stranger {
  readonly folder: string;

  /** @param files by their paths; texts, or paths of what to copy */
  constructor(files: Readonly<Record<string, string | URL>> = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "shoal-stranger-"));
    this.write(files);
  }

  /** Path of a file of theirs. */
  path(name: string): string {
    return join(this.folder, name);
  }

  write(files: Readonly<Record<string, string | URL>>): void {
    for (const [name, content] of Object.entries(files)) {
      const path = this.path(name);
      mkdirSync(dirname(path), { recursive: true });
      if (content instanceof URL) cpSync(fileURLToPath(content), path);
      else writeFileSync(path, content);
    }
  }

  /** Installs the package, and others, as npm does; what was fetched once is taken from its cache. */
  install(...others: readonly string[]): this {
    assert(
      existsSync(TARBALL),
      `There is no ${TARBALL}: "deno task pack" makes it`,
    );
    this.write({
      "package.json": `{ "private": true, "type": "module" }\n`,
    });
    this.run(
      "npm",
      ...["install", "--prefer-offline", "--no-audit", "--no-fund"],
      ...["--ignore-scripts", TARBALL, ...others],
    );
    return this;
  }

  /**
   * Runs a command in the folder.
   * @throws AssertionError unless it succeeds
   */
  run(command: string, ...args: readonly string[]): Output {
    const output = this.tryRun(command, ...args);
    assert(output !== undefined, `there is no command ${command}`);
    return output;
  }

  /** @returns undefined when there is no such command */
  tryRun(command: string, ...args: readonly string[]): Output | undefined {
    const { error, status, stdout, stderr } = spawnSync(command, args, {
      cwd: this.folder,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
    });
    if (error && "code" in error && error.code === "ENOENT") return undefined;
    assert.ifError(error);
    assert.equal(
      status,
      0,
      `${command} ${args.join(" ")}\n${stdout}${stderr}`,
    );
    return { stdout, stderr };
  }

  /**
   * Has a command run in the background while `body` does.
   * @param ready what it prints once it can be used
   */
  async during<T>(
    [command, ...args]: readonly [string, ...string[]],
    ready: RegExp,
    body: () => Promise<T>,
  ): Promise<T> {
    const child = spawn(command, args, { cwd: this.folder });
    try {
      await new Promise<void>((resolve, reject) => {
        let printed = "";
        const listen = (chunk: unknown) => {
          printed += chunk;
          if (ready.test(printed)) resolve();
        };
        child.stdout.on("data", listen);
        child.stderr.on("data", listen);
        child.on("exit", () => reject(new Error(`it ended: ${printed}`)));
      });
      return await body();
    } finally {
      const ended = new Promise((resolve) => child.on("exit", resolve));
      if (child.kill()) await ended;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
