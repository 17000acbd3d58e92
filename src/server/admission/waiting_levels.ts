/**
 * Requests that wait, by priority: a level is served when those above it are empty, first come first served within.
 * What waits is counted by model, in requests and sizes, so that the work in it is always what is known of it now.
 */
import type { CostEstimate } from "./cost_estimate.ts";
import type { Ticket } from "./ticket.ts";

/** Requests of one model in a level. */
interface Tally {
  count: number;
  size: number;
}

class Level {
  first: Ticket | undefined;
  last: Ticket | undefined;
  readonly tallies = new Map<CostEstimate, Tally>();

  push(ticket: Ticket): void {
    ticket.before = this.last;
    if (this.last) this.last.after = ticket;
    else this.first = ticket;
    this.last = ticket;
    this.#count(ticket);
  }

  #count({ estimate, size }: Ticket): void {
    const tally = this.tallies.get(estimate);
    if (tally) {
      tally.count++;
      tally.size += size;
    } else this.tallies.set(estimate, { count: 1, size });
  }

  /** Before all others. */
  pushFirst(ticket: Ticket): void {
    ticket.after = this.first;
    if (this.first) this.first.before = ticket;
    else this.last = ticket;
    this.first = ticket;
    this.#count(ticket);
  }

  delete(ticket: Ticket): void {
    const { before, after, estimate, size } = ticket;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    ticket.before = ticket.after = undefined;
    const tally = this.tallies.get(estimate)!;
    tally.count--;
    tally.size -= size;
    // Models that were unloaded are not kept.
    if (tally.count === 0) this.tallies.delete(estimate);
  }

  get count(): number {
    let sum = 0;
    for (const { count } of this.tallies.values()) sum += count;
    return sum;
  }

  get workNs(): number {
    let sum = 0;
    for (const [estimate, { count, size }] of this.tallies) {
      sum += estimate.workNs(count, size);
    }
    return sum;
  }
}

export class WaitingLevels {
  readonly #levels: readonly Level[];
  #count = 0;

  /** @param levels positive */
  constructor(levels: number) {
    this.#levels = Array.from({ length: levels }, () => new Level());
  }

  /** Requests that wait. */
  get count(): number {
    return this.#count;
  }

  push(ticket: Ticket): void {
    this.#levels[ticket.level].push(ticket);
    this.#count++;
  }

  /** It is the next one of its level. */
  pushFirst(ticket: Ticket): void {
    this.#levels[ticket.level].pushFirst(ticket);
    this.#count++;
  }

  /** It waits, and does not any more. */
  delete(ticket: Ticket): void {
    this.#levels[ticket.level].delete(ticket);
    this.#count--;
  }

  /** Who is next. */
  get first(): Ticket | undefined {
    return this.#levels.find(({ first }) => first)?.first;
  }

  /** The newest of the lowest level below another one. */
  lastBelow(level: number): Ticket | undefined {
    return this.#levels.findLast(({ last }, i) => i > level && last)?.last;
  }

  /** Requests that wait in the levels below another one. */
  countBelow(level: number): number {
    let sum = 0;
    for (let i = level + 1; i < this.#levels.length; i++) {
      sum += this.#levels[i].count;
    }
    return sum;
  }

  /** Work that waits in a level and those above it. */
  workNs(level: number = this.#levels.length - 1): number {
    let sum = 0;
    for (let i = 0; i <= level; i++) sum += this.#levels[i].workNs;
    return sum;
  }
}
