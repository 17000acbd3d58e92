/**
 * Oracle's predictor: precise batch latencies in place of Eq. 2's sum.
 * Source: LazyBatching, section VI.
 */
import { largerExtents, type SubBatch } from "./batch_table.ts";
import type { CellExtents } from "../common/exec_time.ts";
import type { SlackPredictor } from "./slack.ts";
import type { Profile } from "../profile.ts";

/**
 * Source: LazyBatching, section VI ("Oracle"): the exact latency of every node at every batch size.
 * Plays the stack to its end: each entry catches up with the one below, merges, and goes on; slack is
 * the earliest deadline minus now and that time.
 * Assumption: the paper does not say what Oracle does with Eq. 2's terms. What has been executed is
 * known, so only the rest counts. A decoder's length stays Algorithm 1's estimate: Oracle knows curves,
 * not sentences. Exact for static graphs; sub-batches of different lengths are taken at the longest's.
 */
export function exact(profile: Profile): SlackPredictor {
  /** Moves `work` through the cells before index `until`; returns the time that `rows` rows take. */
  function catchUpNs(
    entry: SubBatch,
    work: number[],
    { rows, until, extents }: {
      rows: number;
      until: number;
      extents: CellExtents | undefined;
    },
  ): number {
    const { cells } = entry.model;
    let ns = 0;
    for (let i = 0; i < until; i++) {
      if (work[i] === 0) continue;
      // A decoder that waits inside a step is caught up with in the first one.
      const waitsInLoop = until < cells.length &&
        cells[until].phase === "decoder" && cells[i].phase === "decoder";
      const times = waitsInLoop ? 1 : work[i];
      ns += times * profile(cells[i], rows, extents?.[i]);
      work[i] -= times;
    }
    return ns;
  }

  return {
    limitNs: ({ arrivalNs, slaNs }) => arrivalNs + slaNs,
    slackNs(table, pending, nowNs) {
      const { entries } = table;
      let ns = 0;
      let rows = pending.members.length;
      let work = [...pending.work];
      let extents = pending.largestExtents();
      let current = pending;
      for (let i = entries.length - 1; i >= 0; i--) {
        const below = entries[i];
        const merges = below.model === current.model;
        const { cells } = current.model;
        const until = merges
          ? below.model.cells.indexOf(below.cell)
          : cells.length;
        ns += catchUpNs(current, work, { rows, until, extents });
        const rest = merges ? work : [];
        rows = below.members.length + (merges ? rows : 0);
        work = below.work.map((times, c) => Math.max(times, rest[c] ?? 0));
        extents = largerExtents(
          below.largestExtents(),
          merges ? extents : undefined,
        );
        current = below;
      }
      const until = current.model.cells.length;
      ns += catchUpNs(current, work, { rows, until, extents });
      const limitNs = Math.min(
        table.top?.limitBelowNs ?? Infinity,
        pending.limitNs,
      );
      return limitNs - nowNs - ns;
    },
  };
}
