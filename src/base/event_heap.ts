/** Order of events at one instant: completions, then arrivals, then scheduling points. */
export const RANK = { completion: 0, arrival: 1, schedule: 2 } as const;

export interface TimedEvent {
  readonly atNs: number;
  readonly rank: number;
}

interface Entry<T> {
  readonly event: T;
  readonly sequence: number;
}

/** Binary min-heap of events keyed by (atNs, rank, insertion): deterministic at equal times. */
export class EventHeap<T extends TimedEvent> {
  readonly #entries: Entry<T>[] = [];
  #sequence = 0;

  get size(): number {
    return this.#entries.length;
  }

  peek(): T | undefined {
    return this.#entries[0]?.event;
  }

  push(event: T): void {
    const entries = this.#entries;
    const entry = { event, sequence: this.#sequence++ };
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, entries[parent])) break;
      entries[at] = entries[parent];
      at = parent;
    }
    entries[at] = entry;
  }

  pop(): T | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined) return undefined;
    const size = entries.length;
    if (size > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && before(entries[child + 1], entries[child])) {
          child++;
        }
        if (!before(entries[child], last)) break;
        entries[at] = entries[child];
        at = child;
      }
      entries[at] = last;
    }
    return first.event;
  }
}

function before<T extends TimedEvent>(a: Entry<T>, b: Entry<T>): boolean {
  if (a.event.atNs !== b.event.atNs) return a.event.atNs < b.event.atNs;
  if (a.event.rank !== b.event.rank) return a.event.rank < b.event.rank;
  return a.sequence < b.sequence;
}
