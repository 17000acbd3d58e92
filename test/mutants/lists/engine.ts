/** The engine's core: frontier, growth, deadlines, admission, settling. */
import type { MutantList } from "../mutant.ts";

export const MUTANTS: MutantList = [];
