/** What came of the mutants, for people and as data. */
import { asTest, nameOf } from "./tested.ts";
import type { ListedMutant } from "./registry.ts";
import type { Verdict } from "./trial.ts";

export interface Tried extends Verdict {
  readonly mutant: ListedMutant;
  /** An earlier run found it. */
  readonly remembered: boolean;
}

const OUTCOMES = ["killed", "timeout", "alive", "error"] as const;

interface AreaCount extends Record<typeof OUTCOMES[number], number> {
  readonly area: string;
  readonly mutants: number;
  readonly seconds: number;
}

function countOf(area: string, tried: readonly Tried[]): AreaCount {
  const count = (which: Verdict["outcome"]) =>
    tried.filter(({ outcome }) => outcome === which).length;
  return {
    area,
    mutants: tried.length,
    killed: count("killed"),
    timeout: count("timeout"),
    alive: count("alive"),
    error: count("error"),
    seconds: tried.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}

function areasOf(tried: readonly Tried[]): readonly AreaCount[] {
  const areas = Map.groupBy(tried, ({ mutant }) => mutant.area);
  return [
    ...[...areas].map(([area, some]) => countOf(area, some)),
    countOf("all", tried),
  ];
}

export function jsonOf(tried: readonly Tried[]) {
  return {
    areas: areasOf(tried),
    mutants: tried.map(({ mutant: { id, area, file }, ...verdict }) => ({
      ...{ id, area, file },
      ...verdict,
    })),
  };
}

/** A line for each area, then what nobody has seen, and what could not be tried. */
export function tableOf(tried: readonly Tried[]): string {
  const areas = areasOf(tried);
  const width = Math.max(...areas.map(({ area }) => area.length), 4);
  const line = (name: string, cells: readonly string[]) =>
    [name.padEnd(width), ...cells.map((cell) => cell.padStart(8))].join(" ");
  const lines = [
    line("area", ["mutants", ...OUTCOMES, "seconds"]),
    ...areas.map((count) =>
      line(count.area, [
        String(count.mutants),
        ...OUTCOMES.map((outcome) => String(count[outcome])),
        count.seconds.toFixed(0),
      ])
    ),
  ];
  for (const { mutant, outcome, by } of tried) {
    if (outcome === "alive") {
      const tests = mutant.tests.map((test) => nameOf(asTest(test)));
      lines.push(
        "",
        `${mutant.id} is alive: ${mutant.file}, ${JSON.stringify(mutant.from)}`,
        `  instead: ${JSON.stringify(mutant.to)}`,
        `  why: ${mutant.why}`,
        `  unseen by ${tests.join(", ")}`,
      );
    } else if (outcome === "error") {
      lines.push("", `${mutant.id} could not be tried: ${by}`);
    }
  }
  return lines.join("\n");
}
