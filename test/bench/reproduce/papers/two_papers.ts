import type { Paper } from "../../../../bench/reproduce/registry.ts";
import { PAPERS as FIRST } from "./registry.ts";
import { EXPERIMENTS } from "./second/experiments.ts";

export const PAPERS: readonly Paper[] = [...FIRST, {
  name: "second",
  title: "Another paper",
  claims: [],
  experiments: EXPERIMENTS,
}];
