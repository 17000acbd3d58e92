import { CellGraph } from "../../../src/graph/cell_graph.ts";
import { completeTree } from "../../../src/workload/complete_tree.ts";
import type { Experiment, TableData } from "../experiment.ts";
import { MODELS } from "./datasets.ts";
import { OVERHEAD_US } from "./device.ts";
import {
  BATCH_MAKER_TREES,
  DYNET,
  FOLD,
  TREE_CONDITIONS,
  treeRates,
} from "./fig14.ts";
import { linesTable } from "./fig7.ts";
import { latencyChart, measureLine, peakOf, valueAt } from "./load.ts";

const DATA = "complete 16";
const MODERATE = 1000;

export const FIG_15: Experiment = {
  id: "cellular_batching.fig15",
  title: "Fig. 15: identical trees of 16 leaves",
  claims: ["CB-22"],
  conditions: TREE_CONDITIONS +
    "The ideal runs cell after cell, each for up to 64 trees at once, without BatchMaker's overhead.",
  async run(context) {
    const rates = treeRates(context);
    const of = (name: string, system: Parameters<typeof measureLine>[2]) =>
      measureLine(context, name, { ...system, data: DATA }, rates);
    const batchMaker = await of("BatchMaker", BATCH_MAKER_TREES);
    const ideal = await of("ideal", { ...DYNET, policy: "ideal" });
    const dynet = await of("DyNet", DYNET);
    const fold = await of("Fold", FOLD);
    const overhead: TableData = {
      title: "BatchMaker's overhead per task: what it does to the peak",
      columns: ["us per task", "peak/s", "below the ideal by %"],
      rows: [],
    };
    const rows: (string | number)[][] = [];
    for (const overheadUs of [0, 30, OVERHEAD_US, 100]) {
      const line = await measureLine(context, "BatchMaker", {
        ...BATCH_MAKER_TREES,
        overheadUs,
        data: DATA,
      }, [rates[rates.length - 1]]);
      rows.push([
        overheadUs,
        Math.round(peakOf(line)),
        Number((100 * (1 - peakOf(line) / peakOf(ideal))).toFixed(1)),
      ]);
    }
    const tree = new CellGraph(MODELS.tree);
    MODELS.tree.unfold({ tree: completeTree(16) }, tree);
    const p90s = [ideal, batchMaker, dynet].map((line) =>
      valueAt(line, MODERATE, "p90Ms")
    );
    return {
      findings: [{
        claim: "CB-22",
        compared: [
          {
            name: "BatchMaker's peak below the ideal's",
            as: "reduction",
            published: 30,
            ours: 100 * (1 - peakOf(batchMaker) / peakOf(ideal)),
            unit: "%",
          },
          {
            name: "cells that the ideal runs",
            as: "equal",
            published: 31,
            ours: tree.nodes.length,
          },
          {
            name: "90th percentile at 1000/s",
            as: "holds",
            published: "the ideal's is higher than BatchMaker's and DyNet's",
            ours: p90s[0] > p90s[1] && p90s[0] > p90s[2],
            seen: p90s.map((ms) => `${ms.toFixed(1)} ms`).join(", "),
          },
        ],
      }],
      charts: [
        latencyChart("Fig. 15: identical trees of 16 leaves", [
          batchMaker,
          ideal,
          dynet,
          fold,
        ]),
      ],
      tables: [
        linesTable("Fig. 15, figures", [batchMaker, ideal, dynet, fold]),
        { ...overhead, rows },
      ],
    };
  },
};
