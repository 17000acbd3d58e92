import { EngineUnderTest, type Setting } from "./engine_under_test.ts";
import { unlessItHangs } from "./hang_guard.ts";
import type { MortalWorker } from "./mortal_workers.ts";

function closed(engine: EngineUnderTest, patienceMs?: number): Promise<void> {
  const what = () => `close() with policy "${engine.setting.policy}"`;
  return unlessItHangs(what, engine.discard(), patienceMs);
}

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

  /** After a sequence: it may be taken again, unless it is closed. */
  giveBack(engine: EngineUnderTest): void {
    if (engine.oracle.closing === undefined) {
      this.#idle.set(engine.setting, engine);
    }
  }

  /** After a sequence that has failed: nobody knows what it can still do. */
  async discard(engine: EngineUnderTest): Promise<void> {
    await Promise.allSettled([closed(engine, 5000)]);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#idle.values()].map((one) => closed(one)));
    this.#idle.clear();
  }
}
