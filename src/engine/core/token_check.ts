import { assert } from "../../base/assert.ts";
import type { Token } from "../../policy/launch.ts";

/** Who holds which buffer: many readers or one writer, never both. */
export class TokenCheck {
  /** Readers of a buffer in use; -1: a writer. */
  readonly #holders = new Map<string, number>();

  acquire(tokens: readonly Token[]): void {
    for (const { id, access } of tokens) {
      const holders = this.#holders.get(id) ?? 0;
      assert(
        holders >= 0,
        `buffer ${id} is ${access} while another run writes it`,
      );
      assert(
        access === "read" || holders === 0,
        `buffer ${id} is written while ${holders} runs read it`,
      );
      this.#holders.set(id, access === "write" ? -1 : holders + 1);
    }
  }

  release(tokens: readonly Token[]): void {
    for (const { id } of tokens) {
      const holders = this.#holders.get(id)!;
      if (Math.abs(holders) === 1) this.#holders.delete(id);
      else this.#holders.set(id, holders - 1);
    }
  }
}
