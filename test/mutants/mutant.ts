/** A small change of the project that its tests must see: one entry of a list under `lists/`. */

/** A test file, and which of its tests see the change. */
export interface MutantTest {
  /** Path from the project's root. */
  readonly file: string;
  /** As `deno test --filter` takes it: a part of the tests' names, or /an expression/; default: all. */
  readonly filter?: string;
  /** Runs of each property (SHOAL_PROPERTY_RUNS); default {@linkcode PROPERTY_RUNS}. */
  readonly runs?: number;
}

export interface Mutant {
  /** Unique among all: the area and what is changed, as in `cellular.pin`. */
  readonly id: string;
  /** Path from the project's root, under `src/` or `assembly/`. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  /** What stands in its place. */
  readonly to: string;
  /** What must fail: any of these is enough. The quickest first. */
  readonly tests: readonly (string | MutantTest)[];
  /** The rule that is broken, with its source. */
  readonly why: string;
  /**
   * Builds of the kernels to compile with it, as asconfig.json names them; default, under `assembly/`:
   * release. The others are left as they are.
   */
  readonly builds?: readonly string[];
}

/** What a list exports, as MUTANTS. */
export type MutantList = readonly Mutant[];

/** Runs of each property while a mutant is tried; they begin at the same seed every time. */
export const PROPERTY_RUNS = 100;
