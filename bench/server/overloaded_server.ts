import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { OverloadFigures, OverloadSettings } from "./overload_server.ts";

/** Time that a server has to end. */
const END_MS = 5000;

/** A server in a process of its own. */
export class OverloadedServer {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(settings: OverloadSettings) {
    const script = fileURLToPath(
      new URL("overload_server.ts", import.meta.url),
    );
    this.#child = spawn(
      process.execPath,
      [
        ...["run", "-A", "--v8-flags=--expose-gc", script],
        JSON.stringify(settings),
      ],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    this.#lines = createInterface({ input: this.#child.stdout })
      [Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the server ended");
    return value;
  }

  /** Since the last call. */
  async figures(): Promise<OverloadFigures> {
    this.#child.stdin.write("figures\n");
    // What there is none of is null in JSON.
    return JSON.parse(
      await this.line(),
      (_name, value) => value === null ? NaN : value,
    );
  }

  /** Number, when it was asked for and when given, of all refusals so far. */
  async refusals(): Promise<[number, number, number][]> {
    this.#child.stdin.write("refusals\n");
    return JSON.parse(await this.line());
  }

  /** Bytes of the heap that a full collection leaves. */
  async liveBytes(): Promise<number> {
    this.#child.stdin.write("live\n");
    return JSON.parse(await this.line()) ?? NaN;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.on("exit", resolve));
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(late);
  }
}
