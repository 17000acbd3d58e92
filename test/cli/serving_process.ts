/** `shoal serve` as a process. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What it says when it listens, and where. */
export const LISTENING = /^listening at (http:\S+)$/m;

/** A server that runs. */
export class Running {
  out = "";
  err = "";
  readonly #child: ChildProcess;
  #isOver = false;
  readonly ended: Promise<number | null>;

  /** @param cwd where it is run; default: the project's root */
  constructor(
    allowed: readonly string[],
    args: readonly string[],
    cwd: string = ROOT,
  ) {
    const cli = join(ROOT, "src/cli.ts");
    this.#child = spawn(
      process.execPath,
      ["run", "--no-prompt", ...allowed, cli, "serve", ...args],
      { cwd, env: { ...process.env, NO_COLOR: "1" } },
    );
    this.#child.stdout!.on("data", (bytes) => this.out += bytes);
    this.#child.stderr!.on("data", (bytes) => this.err += bytes);
    this.ended = new Promise((resolve) =>
      this.#child.on("close", (code) => {
        this.#isOver = true;
        resolve(code);
      })
    );
  }

  /** Waits for a line. @throws when it ends before */
  async until(pattern: RegExp, of: "out" | "err" = "out"): Promise<string> {
    for (;;) {
      const found = pattern.exec(this[of]);
      if (found) return found[1] ?? found[0];
      assert(!this.#isOver, `it has ended: ${this.out}\n${this.err}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** From here on nobody reads what it writes. */
  leave(...from: ("stdout" | "stderr")[]): void {
    for (const output of from) this.#child[output]?.destroy();
  }

  signal(name: NodeJS.Signals): void {
    // The child's own kill() sends one signal only, in Deno.
    process.kill(this.#child.pid!, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.signal("SIGKILL");
    await this.ended;
  }
}
