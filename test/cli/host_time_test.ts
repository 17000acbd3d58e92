import assert from "node:assert/strict";
import { NS_PER_MS } from "../../src/base/units.ts";
import { buildModel } from "../../src/cli/bench_models.ts";
import { withExecutor } from "../../src/cli/bench_run.ts";
import { type HostTime, hostTime } from "../../src/cli/host_time.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";

/** What something else takes of the engine's thread before a task. */
const SPELL_NS = 5 * NS_PER_MS;

/** With something else before so many tasks, the first ones. */
async function measured(
  spell: number,
): Promise<HostTime & { readonly tasks: number }> {
  const options = { hidden: 4, vocabulary: 10 };
  const built = buildModel("lstm", "small", 1, options);
  const sizes = { workers: 1, requests: 20 };
  return await withExecutor(built, sizes, async (executor) => {
    let tasks = 0;
    const push = executor.push.bind(executor);
    executor.push = (task) => {
      const untilNs = wallNs() + (tasks++ < spell ? SPELL_NS : 0);
      while (wallNs() < untilNs);
      push(task);
    };
    return { ...await hostTime(built, executor, [1, 2], 1), tasks };
  });
}

Deno.test("what else the machine does in a spell is no part of the host's times", async () => {
  const { tasks } = await measured(0);
  const { turnNs } = await measured(Math.ceil(tasks / 3));
  assert.deepEqual(turnNs.map(([rows]) => rows), [1, 2]);
  for (const [rows, ns] of turnNs) {
    assert(ns < SPELL_NS / 2, `${ns} ns between tasks of ${rows} rows`);
  }
});
