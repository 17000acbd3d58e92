/** The arena's results as tables: who is how near to the best, and how often. */
import type { Table } from "../../src/report/table.ts";
import type { Cell } from "./messages.ts";
import { scenarioName, TARGETS } from "./scenario.ts";
import { standing } from "./standing.ts";

/** Within 5 % of the best counts as good as the best. */
export const NEAR = 0.05;

/** By policy, over all cells: how often first, how often near, and how far behind at worst. */
export function overallTable(cells: readonly Cell[]): Table {
  const policies = new Map<
    string,
    { cells: number; first: number; near: number; worst: number; where: string }
  >();
  for (const cell of cells) {
    const places = standing(cell);
    for (const [i, { policy, ratio }] of places.entries()) {
      const tally = policies.get(policy) ??
        { cells: 0, first: 0, near: 0, worst: 1, where: "" };
      policies.set(policy, tally);
      tally.cells++;
      // Several may be level.
      if (i === 0 || ratio === 1) tally.first++;
      if (isNear(ratio)) tally.near++;
      const behind = cell.target === "none" ? ratio : 1 / ratio;
      if (behind > tally.worst) {
        tally.worst = behind;
        tally.where = `${scenarioName(cell.scenario)}, ${cell.target}`;
      }
    }
  }
  const sorted = [...policies].sort(([, a], [, b]) =>
    b.near / b.cells - a.near / a.cells || b.first - a.first
  );
  return {
    columns: [
      { title: "policy", align: "left" },
      { title: "cells", meaning: "scenarios that it can serve" },
      { title: "best", meaning: "of them: best, or level with it" },
      { title: "near", meaning: "of them: within 5 % of the best" },
      {
        title: "at worst",
        meaning: "factor behind the best, in goodput or in mean latency",
      },
      { title: "where", align: "left" },
    ],
    rows: sorted.map(([policy, { cells, first, near, worst, where }]) =>
      [policy, cells, first, near, worst.toFixed(2), where]
        .map((text) => ({ text: String(text) }))
    ),
  };
}

/** Whether a place's ratio is as good as the best's. */
export function isNear(ratio: number): boolean {
  return ratio <= 1 + NEAR && ratio >= 1 - NEAR;
}

/** One cell: everybody's place. */
export function cellTable(cell: Cell): Table {
  const { capacityPerS, scenario, aloneNs, target } = cell;
  const offered = scenario.load * capacityPerS;
  const inTimeIndex = Object.keys(TARGETS).indexOf(target);
  const alone = (ms: number) => (ms * 1e6 / aloneNs).toFixed(2);
  return {
    columns: [
      { title: "policy", align: "left" },
      {
        title: target === "none" ? "mean, alone" : "in time",
        meaning: target === "none"
          ? "mean latency, in multiples of the time alone"
          : "share of the requests within the target",
      },
      { title: "+-", meaning: "half of the 95 % interval over the seeds" },
      { title: "of the best" },
      { title: "p50", meaning: "in multiples of the time alone" },
      { title: "p99", meaning: "in multiples of the time alone" },
      { title: "per s", meaning: "requests done in a second" },
      {
        title: "goodput",
        meaning: "requests due in a second, by the share within the target",
      },
      { title: "device, us", meaning: "device time of a request" },
      { title: "rows", meaning: "of the batch that a row was in" },
      { title: "setting", align: "left" },
    ],
    rows: standing(cell).map(({ policy, figure, spread, ratio, mean, entry }) =>
      [
        policy,
        figure.toFixed(3),
        Number.isNaN(spread) ? "" : spread.toFixed(3),
        ratio.toFixed(3),
        alone(mean.p50Ms),
        alone(mean.p99Ms),
        mean.perS.toFixed(1),
        (offered * mean.inTime[inTimeIndex]).toFixed(1),
        mean.workUs.toFixed(1),
        mean.rowsSeen.toFixed(1),
        settingText(entry.setting),
      ].map((text) => ({ text }))
    ),
  };
}

function settingText(setting: Readonly<Record<string, unknown>>): string {
  return Object.entries(setting)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ");
}
