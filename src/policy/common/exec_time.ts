/**
 * How long a request takes alone, estimated before it runs.
 * Source: LazyBatching, section IV-C, Algorithm 1; line numbers below are its. `NodeLatency` is the
 * profile at batch size 1.
 */
import { integer, listOf } from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { type Extent, hasExtents } from "../../graph/cache.ts";
import { NODE } from "../../graph/cell_graph.ts";
import type { Profile } from "../profile.ts";
import type { Request } from "../request.ts";

/**
 * How often a request will execute each cell of its model, by the cell's index.
 * @param decTimesteps steps that every growing decoder is expected to take (line 9); its actual length
 * is not known yet. What the graph already holds when the request arrives is known and counts as it is.
 */
function expectedWork(request: Request, decTimesteps: number): number[] {
  const { cells } = request.model;
  const work = new Array<number>(cells.length).fill(0);
  const { closed, nodes } = request.graph;
  let index = 0;
  for (let i = 0; i < nodes.length; i++) {
    const { cell } = nodes[i];
    if (cells[index] !== cell) index = cells.indexOf(cell);
    const grows = !closed && cell.phase === "decoder";
    work[index] += grows ? decTimesteps : 1;
  }
  return work;
}

/** How much there is of the rows of each cell of a model, by the cell's index; undefined where it makes no difference. */
export type CellExtents = readonly (Extent | undefined)[];

/**
 * The extents of the rows that a request will have.
 * Assumption: the paper takes a node's time as independent of the input. Rows of tokens and attention are
 * not: what the request brings is known, and a cache that steps append to counts as it is after `decTimesteps` of
 * them, behind what the request's input has put there.
 * @returns undefined when no cell of the model has extents
 */
export function expectedExtents(
  request: Request,
  decTimesteps: number,
): CellExtents | undefined {
  const { cells } = request.model;
  if (!cells.some(hasExtents)) return undefined;
  const { closed, nodes } = request.graph;
  const extents = new Array<Extent | undefined>(cells.length);
  for (const { cell, length, caches } of nodes) {
    if (!hasExtents(cell)) continue;
    const index = cells.indexOf(cell);
    const known = extents[index];
    const grows = !closed && cell.phase === "decoder";
    extents[index] = {
      length: Math.max(length, known?.length ?? 0),
      caches: caches.map(({ seen }, i) => {
        const { appends, positionsMax } = cell.caches[i];
        const last = grows && appends
          ? Math.min(seen - 1 + decTimesteps, positionsMax)
          : seen;
        return { seen: Math.max(last, known?.caches[i]?.seen ?? 0) };
      }),
    };
  }
  return extents;
}

/** Algorithm 1's estimate of a request. */
export interface ExecTime {
  /** Expected executions by index of the model's cells. */
  readonly work: number[];
  /** NodeLatency by index of the model's cells, ns; 0 where none is expected. */
  readonly nodeNs: readonly number[];
  /** SingleInputExecTime, ns: the sum of NodeLatency over all nodes. */
  readonly execNs: number;
  /** Extents of its rows by index of the model's cells, where it has any. */
  readonly extents: CellExtents | undefined;
}

/** Lines 1-14. */
export function execTime(
  request: Request,
  { profile, decTimesteps }: { profile: Profile; decTimesteps: number },
): ExecTime {
  const { cells } = request.model;
  const work = expectedWork(request, decTimesteps);
  const extents = expectedExtents(request, decTimesteps);
  const nodeNs = new Array<number>(cells.length).fill(0);
  let graphLatencyNs = 0; // l. 2
  for (let n = 0; n < cells.length; n++) { // l. 3
    if (work[n] === 0) continue;
    nodeNs[n] = profile(cells[n], 1, extents?.[n]);
    // Lines 4-10: `work` is 1 per STATIC node, enc_timesteps or dec_timesteps otherwise.
    graphLatencyNs += nodeNs[n] * work[n];
  }
  return { work, nodeNs, execNs: graphLatencyNs, extents }; // l. 12-14
}

/**
 * Steps that a growing request took to its end; 0 of one that does not grow, or was given up before. Those that were
 * appended or submitted ahead of it do not count.
 */
export function stepsTaken({ graph: { nodes, closed } }: Request): number {
  if (!closed) return 0;
  let steps = 0;
  for (const { cell, state } of nodes) {
    if (cell.stop && state === NODE.done) steps++;
  }
  return steps;
}

const checkLengths = listOf(listOf(integer(0, Number.MAX_SAFE_INTEGER)));

/**
 * dec_timesteps that cover a share of a length distribution, for the option of that name of `lazy`.
 * Source: LazyBatching, section IV-C.
 * @param lengths values with their counts, ascending, e.g. `Histogram.entries()`
 * @param coverage share of the lengths, in (0, 1], taken as the decimal fraction it is written as; default 0.9, the
 * paper's 90 %
 * @returns the smallest length such that at least `coverage` of all lengths are at most it
 * @throws TypeError or RangeError on an argument that is not one, or without a length
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lazy } from "@shoal/core";
 * import { decTimesteps } from "@shoal/core/simulate";
 *
 * const steps = decTimesteps([[5, 60], [12, 30], [80, 10]]); // 60 sentences of 5 words, ...
 * assert.equal(steps, 12);
 * lazy({ decTimesteps: steps });
 * ```
 */
export function decTimesteps(
  lengths: Iterable<readonly [length: number, count: number]>,
  coverage = 0.9,
): number {
  if (typeof coverage !== "number" || !(coverage > 0 && coverage <= 1)) {
    throw new RangeError(`"coverage" is in (0, 1], got ${describe(coverage)}`);
  }
  if (typeof lengths?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `"lengths" are pairs of length and count, got ${describe(lengths)}`,
    );
  }
  const entries = [...lengths];
  checkLengths("lengths", entries);
  const { numerator, denominator } = fractionOf(coverage);
  const total = entries.reduce((sum, [, count]) => sum + BigInt(count), 0n);
  let covered = 0n;
  for (const [length, count] of entries) {
    covered += BigInt(count);
    if (covered * denominator >= numerator * total) return length;
  }
  throw new RangeError("A length distribution has at least one length");
}

/** A positive number of at most 1 as the decimal fraction it is written as: 0.28 times 25 is 7, not a little more. */
function fractionOf(
  value: number,
): { numerator: bigint; denominator: bigint } {
  const [mantissa, exponent = "0"] = String(value).split("e");
  const [whole, decimals = ""] = mantissa.split(".");
  return {
    numerator: BigInt(whole + decimals),
    denominator: 10n ** BigInt(decimals.length - Number(exponent)),
  };
}
