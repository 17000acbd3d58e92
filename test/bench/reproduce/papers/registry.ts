import type { Paper } from "../../../../bench/reproduce/registry.ts";
import { CLAIMS, EXPERIMENTS } from "./made_up/experiments.ts";

export const PAPERS: readonly Paper[] = [{
  name: "made_up",
  title: "A paper & its claims",
  claims: CLAIMS,
  experiments: EXPERIMENTS,
}];
