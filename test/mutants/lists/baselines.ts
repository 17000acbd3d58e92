/** The baselines: padding with a window, padding with buckets, merging. */
import type { MutantList } from "../mutant.ts";

const BUCKETED = "src/policy/baselines/bucketed.ts";
const MERGED = "src/policy/baselines/merged.ts";
const MERGED_GRAPH = "src/policy/common/merged_graph.ts";
const GRAPH = "src/policy/baselines/graph_batching.ts";

export const MUTANTS: MutantList = [
  {
    id: "baselines.bucketed-no-rotation",
    file: BUCKETED,
    from: "turn = (turn + i + 1) % buckets.length;",
    to: "turn = 0;",
    tests: ["test/policy/bucketed_test.ts"],
    why: "Cellular Batching, section 7.1: round robin over buckets",
  },
  {
    id: "baselines.bucketed-keeps-its-turn",
    file: BUCKETED,
    from: "turn = (turn + i + 1) % buckets.length;",
    to: "turn = (turn + i) % buckets.length;",
    tests: ["test/policy/bucketed_test.ts"],
    why: "Cellular Batching, section 7.1: the turn goes on after every batch",
  },
  {
    id: "baselines.bucketed-turn-by-step",
    file: BUCKETED,
    from: "turn = (turn + i + 1) % buckets.length;",
    to: "turn = (turn + 1) % buckets.length;",
    tests: ["test/policy/bucketed_test.ts"],
    why:
      "Cellular Batching, section 7.1: the turn goes on behind the bucket that was served",
  },
  {
    id: "baselines.bucketed-edge-below",
    file: BUCKETED,
    from: "Math.ceil(inputLength(request) / width)",
    to: "Math.floor(inputLength(request) / width + 1)",
    tests: ["test/policy/bucketed_test.ts"],
    why: "Cellular Batching, section 7.1: (i*10, (i+1)*10], the edge included",
  },
  {
    id: "baselines.bucketed-not-padded",
    file: BUCKETED,
    from: "Math.floor(bucket.edge * steps / Math.max(steps, longest))",
    to: "steps",
    tests: ["test/policy/bucketed_test.ts"],
    why: "Cellular Batching, section 7.3: length 21 is padded to 30",
  },
  {
    id: "baselines.merged-level-of-last-input",
    file: MERGED_GRAPH,
    from: "level = Math.max(level, levelOf[before.index] + 1);",
    to: "level = levelOf[before.index] + 1;",
    tests: ["test/policy/merged_test.ts"],
    why:
      "Cellular Batching, section 7.5: a level is the longest path from the inputs",
  },
  {
    id: "baselines.merged-by-place",
    file: MERGED_GRAPH,
    from: "levelOf.push(level);",
    to: "levelOf.push(level = node.index);",
    tests: ["test/policy/merged_test.ts"],
    why:
      "Cellular Batching, section 7.5: nodes of one level share a batch, within a request too",
  },
  {
    id: "baselines.merged-returns-by-step",
    file: MERGED_GRAPH,
    from: 'release: "end",',
    to: 'release: "step",',
    tests: ["test/policy/merged_test.ts"],
    why: "Cellular Batching, section 2.3: nobody returns before the batch ends",
  },
  {
    id: "baselines.merged-one-request-more",
    file: MERGED,
    from: "takeOldest(oldest, batchSizeMax)",
    to: "takeOldest(oldest, batchSizeMax + 1)",
    tests: ["test/policy/merged_test.ts"],
    why: "Cellular Batching, section 7.5: the maximum counts input trees",
  },
  {
    id: "baselines.graph-window-ignored",
    file: GRAPH,
    from: "queue.size < batchSizeMax && view.nowNs < dueNs",
    to: "false",
    tests: ["test/policy/baselines_test.ts"],
    why: "LazyBatching, section III-A: the oldest request waits for company",
  },
  {
    id: "baselines.graph-returns-by-step",
    file: "src/policy/common/lockstep.ts",
    from: 'release: "end",',
    to: 'release: "step",',
    tests: ["test/policy/golden_test.ts"],
    why: "Cellular Batching, section 2.3: nobody returns before the batch ends",
  },
  {
    id: "baselines.graph-not-padded",
    file: "src/policy/common/lockstep.ts",
    from: "    paddedRows: requests.length,\n",
    to: "",
    tests: ["test/policy/bucketed_test.ts"],
    why: "Cellular Batching, section 2.3: padding is computed",
  },
];
