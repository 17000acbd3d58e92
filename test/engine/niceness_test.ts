import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";

/** Nice values of this process's threads, by their ids. */
function niceValues(): Map<string, number> {
  const tasks = "/proc/self/task";
  return new Map(
    readdirSync(tasks).map((id) => {
      const told = readFileSync(`${tasks}/${id}/stat`, "utf8");
      // Fields behind the name, which may have spaces: the state is the third of all, the nice value the nineteenth.
      const fields = told.slice(told.lastIndexOf(")") + 2).split(" ");
      return [id, Number(fields[16])];
    }),
  );
}

Deno.test({
  name: "niceness: a worker's threads stand back, the event loop's does not",
  ignore: process.platform !== "linux",
  async fn() {
    const before = niceValues();
    const model = lstm({ hidden: 8, vocabulary: 10 });
    await using engine = await ServingEngine.create({
      ...{ models: [model], policy: cellular(), niceness: 7 },
      threadsPerWorker: 2,
    });
    await engine.run(model, { tokens: [1, 2, 3] });
    const after = niceValues();
    const nice = [...after].filter(([, value]) => value === 7);
    assert.equal(nice.length, 2, `${[...after.values()]}`);
    assert(nice.every(([id]) => before.get(id) !== 7));
    assert.equal(after.get(`${process.pid}`), before.get(`${process.pid}`));
  },
});
