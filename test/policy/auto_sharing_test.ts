/** Our own policy on workers that share a device: who waits for those that run, and who runs beside them. */
import assert from "node:assert/strict";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

/** A request is one pass. */
const MODEL = staticChain({ cells: ["A"] });
/** One pass, too: what is left of it after the last cell is as good as nothing, by rounding. */
const THIRDS = staticChain({ cells: ["A", "B", "C"] });

/** Of the batches once it is known how workers slow each other down, the share that begin beside so many others. */
function beside(
  others: number,
  { share, rowNs, gapNs = 20, workers = 2, slaNs = Infinity, model = MODEL }: {
    /** Of the device that a batch takes. */
    share: number;
    rowNs: number;
    gapNs?: number;
    workers?: number;
    slaNs?: number;
    model?: typeof MODEL;
  },
): number {
  const cost: SharedCost = {
    latencyNs: (_cell, rows) =>
      (100 - rowNs + rowNs * rows) / model.cells.length,
    demand: () => share,
  };
  const tasks = told({
    policy: auto({
      ...{ profile: (cell, rows) => cost.latencyNs(cell, rows), slaNs },
    }),
    models: [model],
    requests: Array.from(
      { length: 1000 },
      (_, i) => ({ arrivalNs: gapNs * i, model }),
    ),
    cost,
    workers,
  }).map((task) => /^(\d+)\.\.(\d+)/.exec(task)!.slice(1).map(Number));
  const late = tasks.filter(([start]) => start > 10_000);
  const count = (at: number) =>
    late.slice(0, at).filter(([, end]) => end > late[at][0]).length;
  return late.filter((_, at) => count(at) >= others).length / late.length;
}

Deno.test("where workers slow each other down requests wait for those that run, and go together", () => {
  assert.equal(beside(1, { share: 1, rowNs: 0 }), 0);
  const shared = beside(1, { share: 0.5, rowNs: 0 });
  assert(shared > 0.5, `${shared}`);
});

Deno.test("requests do not wait for those that run where that takes longer than they slow each other down", () => {
  const shared = beside(1, { share: 0.6, rowNs: 0 });
  assert(shared > 0.5, `${shared}`);
});

Deno.test("who has nothing left behind its pass makes no batch larger", () => {
  // A target that all meet: else what seems to be left idle would count, too.
  assert.equal(beside(1, { share: 1, rowNs: 100, slaNs: 1e6 }), 0);
});

Deno.test("who has nothing left but rounding goes with nobody", () => {
  const device = { share: 1, rowNs: 100, slaNs: 1e6, model: THIRDS };
  assert.equal(beside(1, device), 0);
});

Deno.test("batches that run side by side do not count as one large one", () => {
  const device = { share: 0.5, rowNs: 70, gapNs: 45, workers: 4, slaNs: 1e6 };
  const shared = beside(2, device);
  assert(shared < 0.83, `${shared}`);
});

Deno.test("room that a batch leaves on the device is used while others wait behind", () => {
  // One after the other each takes 100, two beside each other 190: more come than go, and those behind become many.
  const shared = beside(1, { share: 0.95, rowNs: 100, gapNs: 85 });
  assert(shared > 0.5, `${shared}`);
});
