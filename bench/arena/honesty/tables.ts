/** What was predicted beside what was measured: how far off that is, and how far off a run of the same is. */
import { ascending, percentile } from "../../../src/base/statistics.ts";
import { formatNumber } from "../../../src/report/format.ts";
import type { Table } from "../../../src/report/table.ts";
import type { Comparison } from "./compare.ts";
import { type Figures, middleOf } from "./figures.ts";

/** What errors are of: one figure as a prediction of another. */
const ERRORS: readonly (readonly [
  title: string,
  off: (one: Figures, of: Figures) => number,
])[] = [
  ["p50", (one, of) => one.p50Ms / of.p50Ms - 1],
  ["p99", (one, of) => one.p99Ms / of.p99Ms - 1],
  ["goodput", (one, of) => one.inTime - of.inTime],
];

/** Columns behind the words of a row that is refused: of each figure what was measured, and two errors. */
const REFUSED = 3 * ERRORS.length - 1;

/** One that was predicted. */
type Predicted = Comparison & { predicted: Figures };

function isPredicted(one: Comparison): one is Predicted {
  return one.predicted !== undefined;
}

const right = (title: string, meaning?: string) => ({
  title,
  align: "right" as const,
  ...(meaning !== undefined && { meaning }),
});

/** Every policy at every load. */
export function comparisonTable(comparisons: readonly Comparison[]): Table {
  return {
    columns: [
      { title: "model" },
      { title: "policy" },
      right("load", "share of the capacity, which is that of the arena"),
      right("p50", "ms, measured: the run in the middle"),
      right("off", "predicted, relative to measured"),
      right("again", "the second run, relative to the first"),
      right("p99", "ms, measured"),
      ...[right("off"), right("again")],
      right("goodput", "measured share of the requests within the target"),
      right("off, points", "predicted share less the measured one"),
      right("again, points", "that of the second run less that of the first"),
    ],
    keys: 3,
    rows: comparisons.map((one) => {
      const { model, policy, load, refused, measured } = one;
      const middle = middleOf(measured);
      const figures = isPredicted(one)
        ? ERRORS.flatMap(([, off], i) => [
          [
            formatNumber(middle.p50Ms),
            formatNumber(middle.p99Ms),
            middle.inTime.toFixed(3),
          ][i],
          percentText(off(one.predicted, middle)),
          measured.length > 1
            ? percentText(off(measured[1], measured[0]))
            : "-",
        ])
        : [`refused: ${refused}`, ...new Array<string>(REFUSED).fill("")];
      return [model, policy, String(load), ...figures]
        .map((text) => ({ text }));
    }),
  };
}

/**
 * By model and load, regardless of signs: errors of predictions against every run, in the middle and the largest, and of
 * every run as a prediction of the next: nobody can be nearer than that.
 */
export function errorTable(comparisons: readonly Comparison[]): Table {
  const groups = Map.groupBy(
    comparisons,
    ({ model, load }) => `${model} ${load}`,
  );
  return {
    columns: [
      { title: "model" },
      right("load"),
      right("policies"),
      right("refused"),
      ...ERRORS.flatMap(([title]) => [
        right(title, "median of the errors"),
        right("worst"),
        right("again", "median of the errors of a run that is run again"),
      ]),
    ],
    keys: 2,
    rows: [...groups.values()].map((of) => {
      const ran = of.filter(isPredicted);
      const errors = ERRORS.flatMap(([, off]) => {
        const own = sizes(
          ran.flatMap(({ predicted, measured }) =>
            measured.map((run) => off(predicted, run))
          ),
        );
        const again = sizes(
          ran.flatMap(({ measured }) =>
            measured.slice(1).map((run, i) => off(measured[i], run))
          ),
        );
        return [percentile(own, 0.5), own.at(-1) ?? NaN, percentile(again, 0.5)]
          .map(percentText);
      });
      return [
        of[0].model,
        String(of[0].load),
        String(ran.length),
        String(of.length - ran.length),
        ...errors,
      ].map((text) => ({ text }));
    }),
  };
}

function sizes(errors: readonly number[]): Float64Array {
  return ascending(errors.map(Math.abs));
}

/** Of what there is none of, "-". */
function percentText(share: number): string {
  return Number.isNaN(share) ? "-" : `${(100 * share).toFixed(1)} %`;
}
