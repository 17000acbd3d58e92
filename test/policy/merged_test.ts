/** Dynamic merging (Cellular Batching, sections 2.3 and 7.5): levels, and when results return. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { runSimulated } from "../engine/harness.ts";
import { told, type ToldOptions } from "./told.ts";

const model = treeLstm({ hidden: 1, vocabulary: 1 });
const COMPLETE: ParseTree = [[0, 0], [0, 0]];
const SKEWED: ParseTree = [0, [0, [0, 0]]];
const SKEWED_LEFT: ParseTree = [[[0, 0], 0], 0];

const run = (
  requests: readonly [arrivalNs: number, tree: ParseTree][],
  options: Partial<ToldOptions> = {},
) =>
  told({
    policy: merged({ batchSizeMax: 2 }),
    models: [model],
    requests: requests.map(([arrivalNs, tree]) => ({
      arrivalNs,
      input: { tree },
    })),
    ...options,
  });

Deno.test("merging batches all nodes of one cell at one level, over and within requests", () => {
  for (const skewed of [SKEWED, SKEWED_LEFT]) {
    assert.deepEqual(run([[0, COMPLETE], [0, skewed]]), [
      "0..1 w0 tree_leaf:1x4,2x4",
      // A node's level is its longest path from the leaves: 2's lowest node is beside 1's two.
      "1..2 w0 tree_node:1x2,2",
      "2..3 w0 tree_node:1,2",
      "3..4 w0 tree_node:2",
    ]);
  }
});

Deno.test("whoever is merged returns when the whole merged graph has run", () => {
  const { records } = runSimulated({
    policy: merged(),
    models: [model],
    cost: constantCost(1),
    arrivals: [0, SKEWED].map((tree) => ({
      model,
      input: { tree },
      arrivalNs: 0,
    })),
  });
  assert.deepEqual(records.map(({ endNs }) => endNs), [4, 4]);
});

Deno.test("the maximum of merging counts requests, and a merged graph lets nobody in", () => {
  assert.deepEqual(run([[0, COMPLETE], [0, COMPLETE], [0, COMPLETE], [1, 0]]), [
    "0..1 w0 tree_leaf:1x4,2x4",
    "1..2 w0 tree_node:1x2,2x2",
    "2..3 w0 tree_node:1,2",
    "3..4 w0 tree_leaf:3x4,4",
    "4..5 w0 tree_node:3x2",
    "5..6 w0 tree_node:3",
  ]);
});

Deno.test("merging takes no time by itself, but can be given the host's", () => {
  let last = -1;
  // 2 for a launch: its first task.
  const submitNs: ToldOptions["submitNs"] = ({ launchId }) => {
    const isFirst = launchId !== last;
    last = launchId;
    return isFirst ? 2 : 0;
  };
  assert.deepEqual(run([[0, [0, 0]], [0, 0], [0, 0]], { submitNs }), [
    "2..3 w0 tree_leaf:1x2,2",
    "3..4 w0 tree_node:1",
    "6..7 w0 tree_leaf:3",
  ]);
});
