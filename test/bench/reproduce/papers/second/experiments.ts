import type { Experiment } from "../../../../../bench/reproduce/experiment.ts";

/** Experiments without anything to do, for tests of what runs them. */
export const EXPERIMENTS: readonly Experiment[] = ["a", "b"].map((name) => ({
  id: `second.${name}`,
  title: name,
  claims: [],
  conditions: "none",
  run: () => Promise.resolve({ findings: [], charts: [], tables: [] }),
}));
