import assert from "node:assert/strict";
import {
  BASELINES,
  searchWindow,
} from "../../src/policy/baselines/search_window.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { letters, simulateStatic, staticChain } from "./static_chain.ts";

const model = staticChain({ cells: letters(2) });

Deno.test("every baseline is a setting that graph takes", () => {
  for (const [name, baseline] of Object.entries(BASELINES)) {
    const policy = graph(baseline({ windowNs: 3, batchSizeMax: 4 }));
    const { departNs } = simulateStatic(policy, [model], [{ arrivalNs: 0 }]);
    const waits = name === "ZeroBatch" || name === "NO_Wait" ? 0 : 3;
    assert.equal(departNs[1], waits + 2, name);
  }
  assert.throws(() => BASELINES["OPT_Wait"]({}), /OPT_Wait.*searchWindow/);
});

Deno.test("E2bird's Static computes every batch at its full size", () => {
  const rows: number[] = [];
  simulateStatic(
    graph(BASELINES["Static"]({ windowNs: 0 })),
    [model],
    [{ arrivalNs: 0 }, { arrivalNs: 0 }, { arrivalNs: 0 }],
    {
      cost: {
        latencyNs: (_cell, count) => {
          rows.push(count);
          return 1;
        },
      },
    },
  );
  assert.deepEqual(rows, [32, 32]);
});

Deno.test("searchWindow() finds the window with the best score, the shorter of equals", () => {
  const requests = [0, 0, 3, 9, 12].map((arrivalNs) => ({ arrivalNs }));
  const meanLatency = (windowNs: number) => {
    const { departNs } = simulateStatic(graph({ windowNs }), [model], requests);
    return requests.reduce(
      (sum, { arrivalNs }, i) => sum + departNs[i + 1] - arrivalNs,
      0,
    );
  };
  const windows = [7, 0, 4];
  const found = searchWindow(windows, (windowNs) => -meanLatency(windowNs));
  assert.equal(found.windowNs, 0);
  assert.equal(found.score, -Math.min(...windows.map(meanLatency)));
  assert.equal(searchWindow([5, 2], () => 1).windowNs, 2);
  assert.throws(() => searchWindow([], () => 1), RangeError);
});
