/** Who wins a cell of the arena, and by how much. */
import { mean } from "../../src/base/statistics.ts";
import type { Cell } from "./messages.ts";
import { type Entry, valueOf } from "./match.ts";
import type { Score, Target } from "./scenario.ts";

/** A policy's place in a cell. */
export interface Place {
  readonly policy: string;
  readonly entry: Entry;
  /** Means over the runs. */
  readonly mean: Score;
  /** With a target the share in time, without one the mean latency in multiples of the time alone. */
  readonly figure: number;
  /** Half of the figure's 95 % confidence interval over the runs; NaN of a single one. */
  readonly spread: number;
  /** How far it is behind the best: 1 is the best, with a target less, without one more. */
  readonly ratio: number;
}

/** Everybody's place, the best first. */
export function standing({ entries, target, aloneNs }: Cell): Place[] {
  const places = entries.map((entry) => {
    const average = meanScore(entry.scores);
    const figures = entry.scores.map((score) =>
      figureOf(score, target, aloneNs)
    );
    return {
      policy: entry.policy,
      entry,
      mean: average,
      figure: mean(figures),
      spread: confidence(figures),
      value: valueOf(average, target),
    };
  }).sort((a, b) => b.value - a.value);
  const best = places[0].figure;
  return places.map(({ value: _, ...place }) => ({
    ...place,
    // Where nobody is in time, nobody is behind.
    ratio: best === 0 ? 1 : place.figure / best,
  }));
}

/** The policy whose place the heat map is about, if it took part. */
export const OURS = "auto";

/** Ours beside the best of all others. */
export interface Lead {
  /** In goodput or, without a target, in the inverse of the mean latency: above 1 we are ahead. */
  readonly factor: number;
  readonly rival: string;
}

/** @returns undefined where we or all others did not take part, or nobody is in time */
export function lead(cell: Cell): Lead | undefined {
  const places = standing(cell);
  const ours = places.find(({ policy }) => policy === OURS);
  const rival = places.find(({ policy }) => policy !== OURS);
  if (ours === undefined || rival === undefined) return undefined;
  const factor = cell.target === "none"
    ? rival.figure / ours.figure
    : ours.figure / rival.figure;
  return Number.isNaN(factor) ? undefined : { factor, rival: rival.policy };
}

/** Of whom a cell tells: the best, and ours, or else the second. */
export function told(cell: Cell): Place[] {
  const places = standing(cell);
  const [first, second] = places;
  const other = places.find(({ policy }) => policy === OURS) ?? second;
  return other === undefined || other === first ? [first] : [first, other];
}

function figureOf(score: Score, target: Target, aloneNs: number): number {
  if (target === "none") return score.meanMs * 1e6 / aloneNs;
  // Nobody in time is a whole 0: latency, which decides between equals, would make it less than that.
  return Math.max(0, Math.round(valueOf(score, target) * 1e6) / 1e6);
}

function meanScore(scores: readonly Score[]): Score {
  const of = (figure: (score: Score) => number) => mean(scores.map(figure));
  return {
    meanMs: of(({ meanMs }) => meanMs),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    perS: of(({ perS }) => perS),
    inTime: scores[0].inTime.map((_, i) => of(({ inTime }) => inTime[i])),
    workUs: of(({ workUs }) => workUs),
    rowsSeen: of(({ rowsSeen }) => rowsSeen),
  };
}

/** Two-sided 95 % quantiles of Student's t by degrees of freedom from 1. */
const STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
const NORMAL = 1.96;

/**
 * Beyond those in the table the expansion about the normal distribution: off by less than 0.001.
 * Source: Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7.5, its first three terms.
 */
function student(freedom: number): number {
  const z = NORMAL;
  return STUDENT[freedom - 1] ??
    z + (z ** 3 + z) / (4 * freedom) +
      (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
      (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3);
}

function confidence(figures: readonly number[]): number {
  const count = figures.length;
  if (count < 2) return NaN;
  const middle = mean(figures);
  const squares = figures.reduce((sum, one) => sum + (one - middle) ** 2, 0);
  return student(count - 1) * Math.sqrt(squares / (count - 1) / count);
}
