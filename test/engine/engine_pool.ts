import { EngineUnderTest, type Setting } from "./engine_under_test.ts";
import type { MortalWorker } from "./mortal_workers.ts";

/** Engines under test that serve one sequence of commands after the other. */
export class EnginePool {
  readonly #idle = new Map<Setting, EngineUnderTest>();

  constructor(readonly workers: readonly MortalWorker[]) {}

  /** An engine of this setting, at the beginning of a sequence. */
  async take(setting: Setting): Promise<EngineUnderTest> {
    const engine = this.#idle.get(setting) ??
      await EngineUnderTest.create(setting, this.workers);
    this.#idle.delete(setting);
    engine.begin();
    return engine;
  }

  /** It may be taken again. */
  giveBack(engine: EngineUnderTest): void {
    this.#idle.set(engine.setting, engine);
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#idle.values()].map((engine) => engine.discard()),
    );
    this.#idle.clear();
  }
}
