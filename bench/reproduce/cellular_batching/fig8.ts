import type { Experiment } from "../experiment.ts";
import { linesTable, LSTM_RATES, lstmLines } from "./fig7.ts";
import { EXTENT, latencyChart, leastOf, measureLine, peakOf } from "./load.ts";
import { CONDITIONS, LENGTHS_CONDITIONS, SYSTEMS } from "./systems.ts";

/** Narrow buckets have rounds of two seconds when they are full: their peak takes longer to show. */
const OVERLOAD = 28_000;
const PEAKS = "Peaks under overload";
const OVERLOAD_EXTENT = { ...EXTENT, overloadSeconds: 5 };

export const FIG_8: Experiment = {
  id: "cellular_batching.fig8",
  title: "Fig. 8: the width of buckets",
  claims: ["CB-12"],
  conditions: CONDITIONS + LENGTHS_CONDITIONS +
    " Peaks: five seconds at 28,000 requests/s.",
  async run(context) {
    const rates = context.quick ? LSTM_RATES.quick : LSTM_RATES.all;
    const [, ten] = await lstmLines(context);
    const of = (bucketWidth: number, ratesPerS = rates, extent = EXTENT) =>
      measureLine(
        context,
        `width ${bucketWidth}`,
        { ...SYSTEMS.baseline, bucketWidth },
        ratesPerS,
        extent,
      );
    const lines = [await of(1), { ...ten, name: "width 10" }, await of(40)];
    const overloads = [];
    for (const width of [1, 10, 40]) {
      overloads.push(await of(width, [OVERLOAD], OVERLOAD_EXTENT));
    }
    const least = lines.map((line) => leastOf(line, "p90Ms"));
    const peaks = overloads.map(peakOf);
    const texts = (values: readonly number[], unit: string) =>
      values.map((value) => `${value.toFixed(0)} ${unit}`).join(", ");
    return {
      findings: [{
        claim: "CB-12",
        compared: [
          {
            name: "latency at low load, widths 1, 10, 40",
            as: "holds",
            published: "lower the wider",
            ours: least[0] > least[1] && least[1] > least[2],
            seen: texts(least, "ms"),
          },
          {
            name: "peak, widths 1, 10, 40",
            as: "holds",
            published: "higher the narrower",
            ours: peaks[0] > peaks[1] && peaks[1] > peaks[2],
            seen: texts(peaks, "/s"),
          },
        ],
        cause: {
          text:
            "A round over 80 buckets takes 2.5 s when they are full: the 1.5 s of overload that --quick has do not fill them, and a " +
            "peak that is not reached is no peak. Five seconds are enough.",
          shownBy: PEAKS,
        },
      }],
      charts: [latencyChart("Fig. 8: width of buckets", lines)],
      tables: [
        linesTable("Fig. 8, figures", lines),
        linesTable(PEAKS, overloads),
      ],
    };
  },
};
