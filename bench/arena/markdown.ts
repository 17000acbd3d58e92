/** Every cell in a few Markdown tables: how far our policy is ahead of the best of all others, or behind. */
import { percentile } from "../../src/base/statistics.ts";
import { DEVICES } from "./devices.ts";
import type { Cell } from "./messages.ts";
import { type Lead, lead, OURS } from "./standing.ts";
import { NEAR } from "./tables.ts";

/** Letters of arrivals in a cell. */
const letter = (arrivals: string): string => arrivals[0].toUpperCase();

/** Counts by device, then a table of cells for each. */
export function arenaMarkdown(cells: readonly Cell[]): string {
  const known = cells.flatMap((cell) => {
    const found = lead(cell);
    return found === undefined ? [] : [{ cell, lead: found }];
  });
  if (known.length === 0) return "";
  const devices = Map.groupBy(known, ({ cell }) => cell.scenario.device);
  const lines = [
    ...row([
      "Device",
      "Cells",
      "Within 5 %",
      "Ahead",
      "Median",
      "At worst",
      "Where",
    ]),
    "| :-- | --: | --: | --: | --: | --: | :-- |",
    ...[...devices].flatMap(([device, of]) =>
      row([DEVICES[device].title, ...countsOf(of)])
    ),
    ...row(["All", ...countsOf(known)]),
    "",
  ];
  for (const [device, of] of devices) {
    const loads = [...new Set(of.map(({ cell }) => cell.scenario.load))]
      .sort((a, b) => a - b);
    lines.push(
      `### ${DEVICES[device].title}`,
      "",
      ...row(["Workload", "Target", ...loads.map(String)]),
      `| :-- | :-- |${loads.map(() => " :-- |").join("")}`,
    );
    const rows = Map.groupBy(
      of,
      ({ cell: { scenario: { workload }, target } }) =>
        JSON.stringify([workload, target]),
    );
    for (const [key, entries] of rows) {
      const texts = loads.map((load) =>
        entries.filter(({ cell }) => cell.scenario.load === load)
          .map(({ cell, lead }) =>
            `${letter(cell.scenario.arrivals)} ${leadText(lead)}`
          ).join("<br>")
      );
      lines.push(...row([...JSON.parse(key) as string[], ...texts]));
    }
    lines.push("");
  }
  return lines.join("\n");
}

/** Ours as a multiple of the best other's. */
function leadText({ factor, rival }: Lead): string {
  const digits = factor >= 10 ? 0 : 2;
  return Number.isFinite(factor)
    ? `${factor.toFixed(digits)} ${rival}`
    : `only ${OURS}`;
}

function countsOf(
  of: readonly { readonly cell: Cell; readonly lead: Lead }[],
): string[] {
  const factors = of.map(({ lead: { factor } }) => factor)
    .sort((a, b) => a - b);
  const near = of.filter(({ cell, lead: { factor } }) =>
    cell.target === "none" ? factor >= 1 / (1 + NEAR) : factor >= 1 - NEAR
  );
  const worst = of.reduce((a, b) => a.lead.factor <= b.lead.factor ? a : b);
  const { workload, arrivals, load } = worst.cell.scenario;
  return [
    String(of.length),
    String(near.length),
    String(factors.filter((factor) => factor > 1).length),
    percentile(factors, 0.5).toFixed(2),
    worst.lead.factor.toFixed(2),
    `${workload}, ${arrivals} ${load}, ${worst.cell.target}`,
  ];
}

function row(texts: readonly string[]): string[] {
  return [`| ${texts.join(" | ")} |`];
}
