/** Section VI-D: what a decision costs while more and more requests run. */
import type { Context, Experiment } from "../experiment.ts";
import { withCause } from "./cause.ts";
import type { Order, Report, Shape } from "./decision_work.ts";

/**
 * What is called often is inlined, and its blocks are counted no more; so sizes end where that begins: it shows as a
 * smaller count. A table of n sub-batches takes n * n / 2 decisions to come about.
 */
const SIZES: Readonly<Record<Shape, readonly number[]>> = {
  "one sub-batch": [4, 16, 64, 128],
  "a sub-batch each": [2, 4, 8, 12],
};
const LAYERS = 20;

/** Counts in a thread of its own, whose code nothing has run before. */
async function count(order: Order): Promise<number> {
  const worker = new Worker(new URL("./decision_work.ts", import.meta.url), {
    type: "module",
  });
  try {
    const report = await new Promise<Report>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Report>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage(order);
    });
    if ("error" in report) throw new Error(report.error);
    return report.blocks;
  } finally {
    worker.terminate();
  }
}

export const decisions: Experiment = {
  id: "lazybatching.decisions",
  title: "Work of a decision",
  claims: ["LB-26"],
  conditions:
    "Blocks of the policy's code that are executed when a request arrives at a boundary and preempts, by V8's " +
    "counters; nothing is timed. Listing a batch's rows in its launch is linear and no decision: what is launched " +
    "is the newcomer alone",
  async run(context: Context) {
    const counted: {
      shape: Shape;
      running: readonly number[];
      blocks: number[];
    }[] = [];
    for (const shape of Object.keys(SIZES) as Shape[]) {
      const blocks: number[] = [];
      for (const running of SIZES[shape]) {
        const order = { shape, running, layers: LAYERS };
        blocks.push(
          await context.point(
            { paper: "lazybatching", decision: order },
            () => count(order),
          ),
        );
      }
      counted.push({ shape, running: SIZES[shape], blocks });
    }
    const title = "Blocks executed by a decision";
    const all = [...new Set(counted.flatMap(({ running }) => running))]
      .sort((a, b) => a - b);
    return {
      findings: [withCause(
        {
          claim: "LB-26",
          compared: counted.map(({ shape, running, blocks }) => ({
            name: `running requests in ${shape}`,
            as: "holds" as const,
            published: "O(1)",
            ours: Math.min(...blocks) > 0 &&
              Math.max(...blocks) === Math.min(...blocks),
            seen: `${blocks} blocks at ${running} requests`,
          })),
        },
        "Some of the work of a decision grows with what runs.",
        title,
      )],
      charts: [{
        kind: "lines",
        title,
        x: "running requests",
        y: "blocks",
        logX: true,
        series: counted.map(({ shape, running, blocks }) => ({
          name: shape,
          points: running.map((x, i) => ({ x, y: blocks[i] })),
        })),
      }],
      tables: [{
        title: `${title}, by running requests`,
        columns: ["in", ...all.map(String)],
        rows: counted.map(({ shape, running, blocks }) => [
          shape,
          ...all.map((size) => blocks[running.indexOf(size)] ?? "-"),
        ]),
      }],
    };
  },
};
