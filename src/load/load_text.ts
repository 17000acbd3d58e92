/** A run on a terminal. */
import {
  formatCount,
  formatMs,
  formatNumber,
  formatPercentile,
  NO_FIGURE,
} from "../report/format.ts";
import { renderTable, type Table, type TableCell } from "../report/table.ts";
import type { Estimate } from "./confidence.ts";
import type { LoadResult, Spread } from "./result.ts";
import type { Trial } from "./search.ts";

/** Everything about a run, in text. */
export function loadText(
  result: LoadResult,
  options: { color: boolean },
): string {
  return [
    renderTable(countsTable(result), options),
    renderTable(latencyTable(result), options),
    conclusions(result).join("\n"),
  ].join("\n");
}

/** What the run came to, a sentence each. */
export function conclusions(result: LoadResult): string[] {
  const { verdict, checks, isValid } = result;
  return [
    ...(verdict
      ? [
        `${verdict.holds ? "HOLDS" : "DOES NOT HOLD"} ${
          formatMs(verdict.sloNs)
        } ms at p${formatPercentile(verdict.share)}: ${
          formatCount(verdict.over)
        } of ${
          formatCount(result.requests - result.ends.left)
        } requests were not answered in time, ${
          verdict.overMost < 0
            ? "and they are too few to say so"
            : `${formatCount(verdict.overMost)} may be`
        }`,
      ]
      : []),
    ...(isValid
      ? ["VALID"]
      : checks.filter(({ ok }) => !ok).map(({ name, found }) =>
        `NOT VALID (${name}): ${found}`
      )),
  ];
}

/** Requests by what became of them. */
export function countsTable(result: LoadResult): Table {
  const { requests, scheduledPerS, throughputPerS, goodputPerS, ends, late } =
    result;
  const row = (
    name: string,
    count: number | undefined,
    perS?: number,
  ): TableCell[] => [
    { text: name },
    { text: count === undefined ? "" : formatCount(count) },
    { text: perS === undefined ? "" : formatNumber(perS) },
  ];
  return {
    columns: [
      { title: "requests", align: "left" },
      { title: "count" },
      { title: "per second" },
    ],
    rows: [
      row("scheduled", requests, scheduledPerS),
      row("completed", ends.completed),
      // Of other requests than are counted: of the warm-up's as well, and not of those that end later.
      row("throughput while measured", undefined, throughputPerS),
      ...(result.verdict
        ? [
          row("in time (goodput)", ends.completed - late, goodputPerS),
          row("late", late),
        ]
        : []),
      row("refused", ends.refused),
      row("failed", ends.failed),
      ...(ends.left > 0 ? [row("client left", ends.left)] : []),
      ...result.reasons.slice(0, 5).map(([reason, count]) =>
        row(`  ${reason}`, count)
      ),
    ],
  };
}

/** Milliseconds of everything that has a length. */
export function latencyTable(result: LoadResult): Table {
  const { latency, service, refusal, stream, lag, connectionWait } = result;
  return {
    columns: [
      { title: "ms", align: "left" },
      ...latency.map(({ share }) => ({
        title: `p${formatPercentile(share)}`,
      })),
      { title: "max" },
    ],
    rows: [
      estimated("from schedule", latency),
      intervals("  95 % confidence", latency),
      estimated("from sending", service),
      ...(stream
        ? [
          estimated("first token", stream.firstEvent),
          spread("between tokens", stream.between),
        ]
        : []),
      ...(result.ends.refused > 0 ? [spread("refusal", refusal)] : []),
      spread("generator's lag", lag),
      spread("wait for connection", connectionWait),
    ],
  };
}

function estimated(name: string, of: readonly Estimate[]): TableCell[] {
  return [
    { text: name },
    ...of.map(({ ns }) => ({ text: formatMs(ns) })),
    { text: "" },
  ];
}

function intervals(name: string, of: readonly Estimate[]): TableCell[] {
  return [
    { text: name },
    ...of.map(({ lowNs, highNs }) => ({
      text: Number.isNaN(lowNs) && Number.isNaN(highNs)
        ? NO_FIGURE
        : `${bound(lowNs)}..${bound(highNs)}`,
    })),
    { text: "" },
  ];
}

/** An end of an interval that may be further than any request is. */
function bound(ns: number): string {
  return Number.isNaN(ns) ? "?" : formatMs(ns);
}

function spread(name: string, { p50Ns, p99Ns, maxNs }: Spread): TableCell[] {
  const none = { text: "" };
  return [
    { text: name },
    { text: formatMs(p50Ns) },
    none,
    { text: formatMs(p99Ns) },
    none,
    { text: formatMs(maxNs) },
  ];
}

/** The trials of a search. */
export function trialsTable(trials: readonly Trial<LoadResult>[]): Table {
  return {
    columns: [
      { title: "rate" },
      { title: "holds", align: "left" },
      { title: "p50 ms" },
      { title: "p99 ms" },
      { title: "goodput" },
      { title: "not in time" },
      { title: "may be" },
      { title: "valid", align: "left" },
    ],
    rows: [...trials].sort((a, b) => a.ratePerS - b.ratePerS).map((
      { ratePerS, holds, result },
    ) => [
      { text: formatNumber(ratePerS) },
      { text: holds ? "yes" : "no", tone: holds ? "better" : "worse" },
      ...[0.5, 0.99].map((share) => ({
        text: formatMs(
          result.latency.find((of) => of.share === share)?.ns ?? NaN,
        ),
      })),
      { text: formatNumber(result.goodputPerS) },
      { text: formatCount(result.verdict?.over ?? 0) },
      { text: `${result.verdict?.overMost ?? NO_FIGURE}` },
      {
        text: result.isValid
          ? "yes"
          : `no: ${
            result.checks.filter(({ ok }) => !ok).map(({ name }) => name).join(
              ", ",
            )
          }`,
      },
    ]),
  };
}
