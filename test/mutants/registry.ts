/** All mutants: a list is a file under `lists/` that exports MUTANTS; its area is the file's name. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { Mutant, MutantList } from "./mutant.ts";

/** A mutant in its list. */
export interface ListedMutant extends Mutant {
  readonly area: string;
}

const LISTS = new URL("lists/", import.meta.url);

export async function allMutants(): Promise<readonly ListedMutant[]> {
  const files = readdirSync(LISTS).filter((name) => name.endsWith(".ts"));
  const lists = await Promise.all(
    files.sort().map(async (name) => {
      const { MUTANTS } = await import(new URL(name, LISTS).href) as {
        MUTANTS?: MutantList;
      };
      assert(Array.isArray(MUTANTS), `lists/${name} exports MUTANTS`);
      const area = name.slice(0, -".ts".length);
      return MUTANTS.map((mutant: Mutant) => ({ ...mutant, area }));
    }),
  );
  return lists.flat();
}
