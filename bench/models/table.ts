/** Networks' figures as text. */
import type { Column, Table } from "../../src/report/table.ts";
import { type NetworkResult, ours, PEER } from "./measure.ts";

/** A row for every network and size of batch: best times, and medians of ratios. */
export function networksTable(
  results: readonly NetworkResult[],
  threads: number,
): Table {
  const counts = threads === 1 ? [1] : [1, threads];
  const columns: Column[] = [
    { title: "network", align: "left" },
    { title: "batch" },
    ...counts.map((count) => ({ title: `${ours(count)}, ms` })),
    ...(threads > 1 ? [{ title: "over one" }] : []),
    { title: `${PEER}, ms` },
    { title: "over it" },
  ];
  return {
    columns,
    keys: 2,
    rows: results.map(({ name, batch, bestMs, ratio, scaling }) =>
      [
        name,
        `${batch}`,
        ...counts.map((count) => milliseconds(bestMs[ours(count)])),
        ...(scaling === undefined ? [] : [`${scaling.toFixed(2)}x`]),
        milliseconds(bestMs[PEER]),
        `${ratio.toFixed(2)}x`,
      ].map((text) => ({ text }))
    ),
  };
}

/** Three digits and more. */
function milliseconds(ms: number): string {
  return ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0);
}
