/**
 * Names that a block of a template uses, its own and not those of blocks in it. Jinja makes a template a function whose
 * names belong to blocks before anything runs: a name that a block first sets, outside of conditions, is the block's own from
 * its beginning on, so that before it is set, in a loop or macro, it is nothing, whatever is given by that name.
 * Source: Jinja 3.1.6, `idtracking.py`.
 */
export class BlockNames {
  /** By name, whether what comes first sets it whatever holds. */
  readonly #first = new Map<string, boolean>();
  readonly #inner: BlockNames[] = [];
  /** Conditions that are open. */
  conditions = 0;
  /** Names that are nothing at the block's beginning. */
  readonly unset: string[] = [];

  inner(): BlockNames {
    const made = new BlockNames();
    this.#inner.push(made);
    return made;
  }

  reads(name: string): void {
    if (!this.#first.has(name)) this.#first.set(name, false);
  }

  sets(name: string): void {
    if (!this.#first.has(name)) this.#first.set(name, this.conditions === 0);
  }

  /** Once all is read. @param known names of the blocks around */
  settle(known: Set<string> = new Set()): void {
    const own = [...this.#first].filter(([name]) => !known.has(name));
    for (const [name, isSet] of own) {
      if (isSet) this.unset.push(name);
      known.add(name);
    }
    for (const inner of this.#inner) inner.settle(known);
    for (const [name] of own) known.delete(name);
  }
}
