/** An engine with a fixed list of models, and who still needs it: once it has been followed by another, it is closed. */
import type { ServingEngine } from "../../engine/wall/serving.ts";
import type { ServedModel } from "./served_model.ts";

/** An engine of a host. */
export class Generation {
  #users = 0;
  /** Told when there are no users left and none will come. */
  #onUnused: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  /**
   * @param number counts the host's engines, from 0 on
   * @param isOwned whether the host made the engine, and so closes it
   */
  constructor(
    readonly number: number,
    readonly engine: ServingEngine,
    readonly models: ReadonlySet<ServedModel>,
    readonly isOwned: boolean,
  ) {}

  /** Somebody needs the engine, until what is returned is called. */
  use(): () => void {
    this.#users++;
    let isUsing = true;
    return () => {
      if (!isUsing) return;
      isUsing = false;
      this.#users--;
      if (this.#users === 0) this.#onUnused?.();
    };
  }

  /** Nobody new will come. Resolves when the last one has left and the engine is closed. */
  retire(): Promise<void> {
    return this.#closed ??= this.#retire();
  }

  async #retire(): Promise<void> {
    if (this.#users > 0) {
      await new Promise<void>((resolve) => this.#onUnused = resolve);
    }
    if (this.isOwned) await this.engine.close();
  }
}
