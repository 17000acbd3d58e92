/**
 * LazyBatching's BatchTable: a stack of sub-batches, the topmost one running.
 * Source: LazyBatching, section IV-B, Fig. 10.
 * Invariant: the members of a sub-batch all execute `cell` next.
 * Every entry carries what a decision needs of everything at or below it, so that a decision looks at
 * the top alone (section VI-D: O(1)).
 */
import { type Extent, largerExtent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Model } from "../../graph/model.ts";
import type { CellExtents, ExecTime } from "../common/exec_time.ts";
import type { Request } from "../request.ts";

/** A request in the table; its tag. */
export class Member {
  /** Index of its next node in its graph: nodes are executed in the graph's order. */
  cursor = 0;
  entry: SubBatch | undefined = undefined;
  table: BatchTable | undefined = undefined;
  /** What the predictor's slack counts down from, ns; set when it is issued. */
  limitNs = Infinity;
  /** SingleInputExecTime, and what of it is left, ns (Algorithm 1). */
  readonly execNs: number;
  leftNs: number;
  /** Executions still expected, by index of the model's cells. */
  readonly work: number[];
  readonly extents: CellExtents | undefined;
  readonly #nodeNs: readonly number[];

  constructor(
    readonly request: Request,
    { execNs, work, nodeNs, extents }: ExecTime,
  ) {
    this.execNs = execNs;
    this.leftNs = execNs;
    this.work = work;
    this.extents = extents;
    this.#nodeNs = nodeNs;
  }

  get nextCell(): Cell {
    return this.request.graph.nodes[this.cursor].cell;
  }

  /** It has executed its node, of the cell with this index; steps beyond the expected ones were never counted. */
  executed(cell: number): void {
    this.cursor++;
    if (this.work[cell] === 0) return;
    this.work[cell]--;
    this.leftNs -= this.#nodeNs[cell];
  }
}

/** One entry of the stack. */
export class SubBatch {
  members: Member[] = [];
  /** Sum of the members' SingleInputExecTime, and of what of it is left. */
  execNs = 0;
  leftNs = 0;
  /** Smallest limit of its members. */
  limitNs = Infinity;
  /** The same of this entry and all below it. */
  execBelowNs = 0;
  leftBelowNs = 0;
  limitBelowNs = Infinity;
  /** Executions still expected, by index of cell: the most of any member. */
  readonly work: number[] = [];
  /** Slack forbade to batch more with it: it completes uninterrupted. */
  uninterrupted = false;

  constructor(readonly model: Model, public cell: Cell) {}

  /** Adds a request that has not begun. */
  begin(member: Member): void {
    this.add(member);
    this.expect(member.work);
  }

  add(member: Member): void {
    member.entry = this;
    this.members.push(member);
    this.execNs += member.execNs;
    this.leftNs += member.leftNs;
    this.limitNs = Math.min(this.limitNs, member.limitNs);
  }

  expect(work: readonly number[]): void {
    for (let i = 0; i < work.length; i++) {
      this.work[i] = Math.max(this.work[i] ?? 0, work[i]);
    }
  }

  /** The largest extents of any member, by index of cell: looks at all of them, for Oracle only. */
  largestExtents(): CellExtents | undefined {
    return this.members.reduce(
      (largest: CellExtents | undefined, { extents }) =>
        largerExtents(largest, extents),
      undefined,
    );
  }
}

export class BatchTable {
  /** From the bottom to the top of the stack. */
  readonly entries: SubBatch[] = [];
  /** The entry whose node is under way or has just ended. */
  running: SubBatch | undefined = undefined;
  /** Where its members go on, and whether they may have come apart; see `executed`. */
  #nextCell: Cell | undefined = undefined;
  #mayBeApart = false;
  readonly #rows = new Map<Model, number>();

  get top(): SubBatch | undefined {
    return this.entries[this.entries.length - 1];
  }

  /** Members of all entries of a model. */
  rowsOf(model: Model): number {
    return this.#rows.get(model) ?? 0;
  }

  push(entry: SubBatch): void {
    this.entries.push(entry);
    for (const member of entry.members) member.table = this;
    this.#rows.set(
      entry.model,
      this.rowsOf(entry.model) + entry.members.length,
    );
    this.#sumUp(this.entries.length - 1);
  }

  /** The running entry's node is done for these members; those that leave are still among them. */
  executed(members: readonly Member[]): void {
    this.#nextCell = undefined;
    this.#mayBeApart = false;
    const { running } = this;
    if (running === undefined) return;
    const cell = running.model.cells.indexOf(running.cell);
    let doneNs = 0;
    for (let i = 0; i < members.length; i++) {
      const member = members[i];
      const { leftNs } = member;
      member.executed(cell);
      // Who has been cancelled meanwhile is in no entry any more.
      if (member.table === this) doneNs += leftNs - member.leftNs;
      const next = member.request.graph.nodes[member.cursor]?.cell;
      if (next === undefined) continue;
      if (this.#nextCell === undefined) this.#nextCell = next;
      else if (this.#nextCell !== next) this.#mayBeApart = true;
    }
    running.leftNs -= doneNs;
    if (this.top === running) this.#sumUp(this.entries.length - 1);
  }

  /**
   * The running entry has executed its node. Members that go on at another cell than others (a longer
   * sentence, a decoder that goes on) come apart: those ahead wait below those behind, who catch up.
   */
  advance(): void {
    const { running } = this;
    this.running = undefined;
    if (running === undefined || running.members.length === 0) return;
    const { model, members, work } = running;
    const done = model.cells.indexOf(running.cell);
    if (work[done] > 0) work[done]--;
    if (!this.#mayBeApart) {
      running.cell = this.#nextCell!;
      return;
    }
    const groups = new Map<Cell, SubBatch>();
    for (const member of members) {
      const next = member.nextCell;
      let group = groups.get(next);
      if (group === undefined) {
        groups.set(next, group = new SubBatch(model, next));
        group.uninterrupted = running.uninterrupted;
        group.expect(work);
      }
      group.add(member);
    }
    const { cells } = model;
    const ahead = (a: SubBatch, b: SubBatch) =>
      cells.indexOf(b.cell) - cells.indexOf(a.cell);
    const at = this.entries.length - 1;
    this.entries.splice(at, 1, ...[...groups.values()].sort(ahead));
    this.#sumUp(at);
  }

  /**
   * Merges the two topmost entries while they stand at the same node (Fig. 10, t = 6 and 7).
   * @returns the requests that were merged into others, undefined when none were
   */
  mergeTop(batchSizeMax: number): Member[] | undefined {
    let merged: Member[] | undefined;
    for (;;) {
      const top = this.entries[this.entries.length - 1];
      const below = this.entries[this.entries.length - 2];
      if (top === undefined || below?.cell !== top.cell) return merged;
      // Models may share cells; work and rows are counted by model.
      if (below.model !== top.model) return merged;
      const rows = top.members.length + below.members.length;
      if (rows > batchSizeMax) return merged;
      this.entries.pop();
      for (const member of top.members) below.add(member);
      below.expect(top.work);
      below.uninterrupted ||= top.uninterrupted;
      this.#sumUp(this.entries.length - 1);
      merged = top.members;
    }
  }

  /** The request has left. */
  remove(member: Member): void {
    const entry = member.entry!;
    member.table = undefined;
    const { model, members } = entry;
    members.splice(members.indexOf(member), 1);
    this.#rows.set(model, this.rowsOf(model) - 1);
    const at = this.entries.lastIndexOf(entry);
    entry.execNs -= member.execNs;
    entry.leftNs -= member.leftNs;
    if (members.length === 0) {
      this.entries.splice(at, 1);
    } else if (member.limitNs <= entry.limitNs) {
      entry.limitNs = Infinity;
      for (const { limitNs } of members) {
        entry.limitNs = Math.min(entry.limitNs, limitNs);
      }
    }
    this.#sumUp(at);
  }

  /** Works the running sums out again from entry `at` to the top. */
  #sumUp(at: number): void {
    for (let i = at; i < this.entries.length; i++) {
      const entry = this.entries[i];
      const below = this.entries[i - 1];
      entry.execBelowNs = entry.execNs + (below?.execBelowNs ?? 0);
      entry.leftBelowNs = entry.leftNs + (below?.leftBelowNs ?? 0);
      entry.limitBelowNs = Math.min(
        entry.limitNs,
        below?.limitBelowNs ?? Infinity,
      );
    }
  }
}

/** The larger extents, cell by cell. */
export function largerExtents(
  a: CellExtents | undefined,
  b: CellExtents | undefined,
): CellExtents | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b;
  return a.map((extent, i): Extent | undefined => {
    const other = b[i];
    if (extent === undefined || other === undefined) return extent ?? other;
    return largerExtent(extent, other);
  });
}
