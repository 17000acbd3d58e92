import type { Compared } from "../claim.ts";
import type { Experiment } from "../experiment.ts";
import { lstmLines } from "./fig7.ts";
import { SEQ2SEQ_CONDITIONS, seq2seqLines } from "./fig13.ts";
import { type Line, meanOf, peakOf } from "./load.ts";

const SHOWN = "Below half of the baselines' peak: 90th percentile (ms)";

interface Row {
  readonly name: string;
  readonly ratePerS: number;
  readonly ours: number;
  readonly theirs: number;
}

/** The load is moderate below half of the baselines' peak (section 7). */
function moderate(name: string, batchMaker: Line, baseline: Line): Row[] {
  const limit = peakOf(baseline) / 2;
  return baseline.measured.flatMap((one, i) =>
    one.ratePerS < limit
      ? [{
        name,
        ratePerS: one.ratePerS,
        ours: meanOf(batchMaker.measured[i], "p90Ms"),
        theirs: meanOf(one, "p90Ms"),
      }]
      : []
  );
}

const reductionOf = ({ ours, theirs }: Row) => 100 * (1 - ours / theirs);

export const HIGHLIGHTS: Experiment = {
  id: "cellular_batching.highlights",
  title: "Abstract, section 7: latency and throughput of LSTM and Seq2Seq",
  claims: ["CB-01", "CB-13"],
  conditions: SEQ2SEQ_CONDITIONS + " LSTM as in Fig. 7a, Seq2Seq on two GPUs.",
  async run(context) {
    const [batchMaker, baseline] = await lstmLines(context);
    const seq2seq = await seq2seqLines(context, 2);
    const lstmRows = moderate("LSTM", batchMaker, baseline);
    const seq2seqRows = moderate(
      "Seq2Seq",
      seq2seq.different,
      seq2seq.baseline,
    );
    const range = (
      name: string,
      rows: readonly Row[],
      published: readonly [number, number],
    ): Compared[] => {
      const reductions = rows.map(reductionOf);
      const ours = [Math.min(...reductions), Math.max(...reductions)];
      return ["least", "most"].map((which, i) => ({
        name: `${which} reduction of latency, ${name}`,
        as: "reduction",
        published: published[i],
        ours: ours[i],
        unit: "%",
      }));
    };
    const gains = {
      lstm: peakOf(batchMaker) / peakOf(baseline),
      seq2seq: peakOf(seq2seq.different) / peakOf(seq2seq.baseline),
    };
    const gain = (name: string, published: number, ours: number): Compared => ({
      name: `peak over the baselines', ${name}`,
      as: "gain",
      published,
      ours,
    });
    const both = [...lstmRows, ...seq2seqRows];
    const cause = {
      text:
        "The baselines' latency at moderate load is the time of one round over the buckets, 67 ms or more for 8 buckets of " +
        "185 us a step, at every rate at which several of them are filled.",
      shownBy: SHOWN,
    };
    return {
      findings: [
        {
          claim: "CB-01",
          compared: [
            ...range("both", both, [17.5, 90.5]),
            gain("the lesser", 1.25, Math.min(gains.lstm, gains.seq2seq)),
            gain("the greater", 1.6, Math.max(gains.lstm, gains.seq2seq)),
          ],
          cause,
        },
        {
          claim: "CB-13",
          compared: [
            ...range("LSTM", lstmRows, [37.5, 90.5]),
            ...range("Seq2Seq", seq2seqRows, [17.5, 82.6]),
            gain("LSTM", 1.25, gains.lstm),
            gain("Seq2Seq", 1.6, gains.seq2seq),
          ],
          cause,
        },
      ],
      charts: [],
      tables: [{
        title: SHOWN,
        columns: ["", "requests/s", "BatchMaker", "baselines", "lower by %"],
        rows: both.map((row) => [
          row.name,
          row.ratePerS,
          Number(row.ours.toFixed(1)),
          Number(row.theirs.toFixed(1)),
          Number(reductionOf(row).toFixed(1)),
        ]),
      }],
    };
  },
};
