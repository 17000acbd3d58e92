import type { Context, Experiment } from "../experiment.ts";
import { MODELS } from "./datasets.ts";
import { BEST_BATCH, v100 } from "./device.ts";
import { linesTable } from "./fig7.ts";
import { latencyChart, type Line, measureLine, peakOf } from "./load.ts";
import { CONDITIONS, SYSTEMS } from "./systems.ts";

const MODEL = { model: "seq2seq", data: "europarl" } as const;

const RATES: Record<number, { all: number[]; quick: number[] }> = {
  2: {
    all: [250, 1000, 2000, 4000, 8000, 10_000, 12_000],
    quick: [250, 1000, 4000, 12_000],
  },
  4: { all: [1000, 8000, 16_000, 24_000], quick: [24_000] },
};

export interface Seq2SeqLines {
  readonly gpus: number;
  /** At most 256 of both cells, and 512 encoder rows. */
  readonly equal: Line;
  readonly different: Line;
  readonly baseline: Line;
}

/** Seq2Seq on two or four GPUs. */
export async function seq2seqLines(
  context: Context,
  gpus: number,
): Promise<Seq2SeqLines> {
  const rates = RATES[gpus][context.quick ? "quick" : "all"];
  const { decoder } = BEST_BATCH;
  const batchMaker = { ...SYSTEMS.batchMaker, ...MODEL, gpus };
  return {
    gpus,
    equal: await measureLine(context, "BatchMaker-256,256", {
      ...batchMaker,
      batchSizeMax: decoder,
    }, rates),
    different: await measureLine(context, "BatchMaker-512,256", {
      ...batchMaker,
      batchSizeMax: BEST_BATCH,
    }, rates),
    baseline: await measureLine(context, "padding with buckets", {
      ...SYSTEMS.baseline,
      ...MODEL,
      gpus,
      batchSizeMax: decoder,
    }, rates),
  };
}

export const SEQ2SEQ_CONDITIONS = CONDITIONS +
  "Sentence pairs of Europarl v7's sample (German to English). Decoder steps take three times the encoder's (75 % of " +
  "the computation). At most 256 per batch for the baselines.";

export const FIG_13: Experiment = {
  id: "cellular_batching.fig13",
  title: "Fig. 13: Seq2Seq on two and four GPUs",
  claims: ["CB-20"],
  conditions: SEQ2SEQ_CONDITIONS,
  async run(context) {
    const two = await seq2seqLines(context, 2);
    const four = await seq2seqLines(context, 4);
    const [encoder] = MODELS.seq2seq.cells;
    const cost = v100();
    const perS = (rows: number) => rows / cost.latencyNs(encoder, rows);
    const gain = ({ different, equal }: Seq2SeqLines) =>
      peakOf(different) / peakOf(equal);
    const gains = [gain(two), gain(four)].sort((a, b) => a - b);
    const best = ({ different, equal }: Seq2SeqLines) =>
      Math.max(peakOf(different), peakOf(equal));
    return {
      findings: [{
        claim: "CB-20",
        compared: [
          {
            name: "peak on two GPUs",
            as: "size",
            published: 8500,
            ours: best(two),
            unit: "/s",
          },
          {
            name: "peak on four GPUs",
            as: "size",
            published: 17_000,
            ours: best(four),
            unit: "/s",
          },
          {
            name: "least gain of 512 rows for the encoder",
            as: "gain",
            published: 1.035,
            ours: gains[0],
          },
          {
            name: "most",
            as: "gain",
            published: 1.06,
            ours: gains[1],
          },
          {
            name: "gain of the encoder's cells alone",
            as: "gain",
            published: 1.2,
            ours: perS(512) / perS(256),
          },
        ],
        cause: {
          text:
            "The most and the least of two gains of a few percent each; see the peaks.",
          shownBy: "Fig. 13, figures",
        },
      }],
      charts: [two, four].map(({ gpus, equal, different, baseline }) =>
        latencyChart(`Fig. 13: Seq2Seq on ${gpus} GPUs`, [
          different,
          equal,
          baseline,
        ])
      ),
      tables: [linesTable(
        "Fig. 13, figures",
        [two, four].flatMap(({ gpus, equal, different, baseline }) =>
          [different, equal, baseline].map((line) => ({
            ...line,
            name: `${line.name}, ${gpus} GPUs`,
          }))
        ),
      )],
    };
  },
};
