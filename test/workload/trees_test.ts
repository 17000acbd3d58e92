import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { SST_SHAPES } from "../../src/workload/corpora/sst_shapes.ts";
import { completeTree } from "../../src/workload/complete_tree.ts";
import { treebankTrees, treeSampler } from "../../src/workload/trees.ts";
import { propertyRuns } from "../property_runs.ts";
import { dataFolder } from "./data_folder.ts";
import {
  formatTreeShape,
  leafCount,
  parseTreeShape,
  treeDepth,
} from "./tree_shape.ts";
import { readTrees, treeCounts } from "./derive_histograms.ts";

function statistics(trees: readonly ParseTree[]) {
  const leaves = ascending(trees.map(leafCount));
  const depths = ascending(trees.map(treeDepth));
  return {
    leavesMean: mean(leaves),
    leavesP99: percentile(leaves, 0.99),
    depthMean: mean(depths),
    depthMedian: percentile(depths, 0.5),
    depthP99: percentile(depths, 0.99),
  };
}

function generate(trees: number, seed: number): ParseTree[] {
  const sampler = treebankTrees();
  const prng = new Prng(seed);
  return Array.from({ length: trees }, () => sampler.sample(prng, () => 0));
}

Deno.test("treebankTrees() has the treebank's leaves (within 1 %) and depths (mean within 2 %, p99 within 1)", () => {
  const measured = statistics(generate(20_000, 1));
  // Published for the 8,544 training trees: leaves mean 19.14, p99 43; depth mean 10.83, p99 21.
  ok(
    Math.abs(measured.leavesMean / 19.14 - 1) < 0.01,
    `leaves, mean ${measured.leavesMean}`,
  );
  ok(
    Math.abs(measured.leavesP99 - 43) <= 1,
    `leaves, p99 ${measured.leavesP99}`,
  );
  ok(
    Math.abs(measured.depthMean / 10.83 - 1) < 0.02,
    `depth, mean ${measured.depthMean}`,
  );
  ok(Math.abs(measured.depthP99 - 21) <= 1, `depth, p99 ${measured.depthP99}`);
});

Deno.test("treebankTrees() gives binary trees whose leaves are the given ids, left to right", () => {
  const sampler = treebankTrees();
  const prng = new Prng(9);
  for (let i = 0; i < 200; i++) {
    let next = 0;
    const tree = sampler.sample(prng, () => next++);
    const ids: number[] = [];
    const visit = (node: ParseTree): void => {
      if (typeof node === "number") return void ids.push(node);
      equal(node.length, 2);
      node.forEach(visit);
    };
    visit(tree);
    deepEqual(ids, Array.from({ length: next }, (_, id) => id));
  }
});

Deno.test("treebankTrees() is the same for the same seed and another for another", () => {
  const shapes = (seed: number) =>
    generate(50, seed).map(formatTreeShape).join("\n");
  equal(shapes(4), shapes(4));
  ok(shapes(4) !== shapes(5));
});

Deno.test("completeTree() has 31 nodes at 16 leaves and refuses what cannot be complete", () => {
  const tree = completeTree(16);
  deepEqual([leafCount(tree), treeDepth(tree)], [16, 5]);
  throws(() => completeTree(12), /got 12/);
  throws(() => treeSampler({ complete: 0 }), /got 0/);
  throws(() => treeSampler("penn"), /got "penn"/);
});

const shape: fc.Arbitrary<ParseTree> =
  fc.letrec<{ tree: ParseTree }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      fc.constant(0),
      fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
    ),
  })).tree;

Deno.test("parseTreeShape() reads what formatTreeShape() writes", () => {
  fc.assert(
    fc.property(
      shape,
      (tree) => deepEqual(parseTreeShape(formatTreeShape(tree)), tree),
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("parseTreeShape() names the column where the text stops being a tree", () => {
  deepEqual(parseTreeShape("(.(..))"), [0, [0, 0]]);
  for (
    const [text, message] of [
      ["", "column 1: no tree"],
      ["(.", 'column 3: 1 "(" not closed'],
      ["..", 'column 2: "." after the end'],
      [")", 'column 1: ")" without "("'],
      ["(.())", "column 4: an internal node has children"],
      ["(.x)", 'column 3: expected ".", "(" or ")", got "x"'],
    ] as const
  ) {
    throws(
      () => parseTreeShape(text),
      (error: Error) =>
        error instanceof SyntaxError && error.message.includes(message),
    );
  }
});

Deno.test("the embedded tree counts are the treebank's, and the generator is close to both its splits", () => {
  const data = dataFolder("tree shapes against the treebank");
  if (data === undefined) return;
  const train = readTrees(data, "train");
  const counts = treeCounts(train);
  equal(SST_SHAPES.leaves.trim().replaceAll("\n", " "), counts.leaves);
  equal(SST_SHAPES.splits.trim(), counts.splits);
  const generated = statistics(generate(train.length, 2));
  for (const trees of [train, readTrees(data, "dev")]) {
    const real = statistics(trees);
    ok(
      Math.abs(generated.leavesMean / real.leavesMean - 1) < 0.02,
      `leaves, mean ${generated.leavesMean}`,
    );
    ok(
      Math.abs(generated.depthMean / real.depthMean - 1) < 0.02,
      `depth, mean ${generated.depthMean}`,
    );
    ok(
      Math.abs(generated.depthMedian - real.depthMedian) <= 1,
      `depth, median ${generated.depthMedian}`,
    );
    ok(
      Math.abs(generated.depthP99 - real.depthP99) <= 1,
      `depth, p99 ${generated.depthP99}`,
    );
  }
});

Deno.test("trees as deep as they come are counted, measured and written", () => {
  let tree: ParseTree = 0;
  for (let depth = 1; depth < 100_000; depth++) tree = [tree, 0];
  equal(leafCount(tree), 100_000);
  equal(treeDepth(tree), 100_000);
  const text = formatTreeShape(tree);
  equal(text.length, 2 * 99_999 + 100_000);
  equal(treeDepth(parseTreeShape(text)), 100_000);
  equal(leafCount([new Array<number>(300_000).fill(0)]), 300_000);
  equal(treeDepth([new Array<number>(300_000).fill(0)]), 3);
});
