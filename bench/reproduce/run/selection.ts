import { describe } from "../../../src/base/describe.ts";
import { UsageError } from "../../../src/cli/terminal.ts";
import type { Experiment } from "../experiment.ts";
import type { Paper } from "../registry.ts";

/**
 * The experiments that `--only` asks for, in the registry's order.
 * @param only comma-separated ids of experiments, papers and claims; undefined for all
 * @throws UsageError naming the first that there is not
 */
export function chosenExperiments(
  papers: readonly Paper[],
  only: string | undefined,
): Experiment[] {
  const all = papers.flatMap(({ experiments }) => experiments);
  if (only === undefined || only === "all") return all;
  const chosen = new Set<Experiment>();
  for (const name of only.split(",").map((part) => part.trim())) {
    const paper = papers.find((paper) => paper.name === name);
    const found = paper?.experiments ??
      all.filter(({ id, claims }) => id === name || claims.includes(name));
    if (found.length === 0) {
      throw new UsageError(
        `--only ${describe(name)} is no experiment, no paper (${
          papers.map(({ name }) => name).join(", ")
        }) and no claim that is answered; see --list`,
      );
    }
    for (const experiment of found) chosen.add(experiment);
  }
  return all.filter((experiment) => chosen.has(experiment));
}
