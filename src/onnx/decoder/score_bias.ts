/**
 * What is added to an attention's scores, whatever the tokens: masks, windows, biases by distance (ALiBi: Press et al.
 * 2022; T5: Raffel et al. 2020, section 2.1). Behind other numbers of positions it is another row; it is one table for
 * all of them where it depends on nothing but how far a position is back, and none where it is 0. What all positions of
 * a row get alike changes no share and is taken away: ALiBi counted from the first position is one by distance.
 */
import { broadcastPositions } from "../../plain/layout.ts";
import type { OnnxNode } from "../ir.ts";
import { OnnxError } from "../place.ts";
import { sampled } from "./masks.ts";
import type { Positions } from "./positions.ts";

/** A node that changes scores, of all tokens alike. */
export type ScoreTerm =
  | {
    readonly kind: "added";
    readonly node: OnnxNode;
    readonly name: string;
    /** What scores, and it, are multiplied by behind. */
    readonly factor: number;
    /** Axes of the scores, but the last. */
    readonly lead: readonly number[];
  }
  | {
    /** A bool: positions where it is `leaves` are left out. */
    readonly kind: "mask";
    readonly node: OnnxNode;
    readonly name: string;
    readonly lead: readonly number[];
    readonly leaves: boolean;
    /** Whether another score stands there, of which a share would be left: they may not be left out. */
    readonly isReplaced: boolean;
  }
  | {
    /** Positions further back are left out. */
    readonly kind: "window";
    readonly node: OnnxNode;
    readonly most: number;
  };

/** All of an attention. */
export interface ScoreBias {
  readonly heads: number;
  readonly terms: readonly ScoreTerm[];
}

/** What positions that are left out get. */
const LEFT_OUT = -1e30;

/** Below, numbers are no more than a mask's minus infinity. */
export const NEVER_SEEN = -1e29;

/** Roundings of f32 by which what stands for the same distance may differ. */
const ROUNDINGS = 4 * 2 ** -24;

/** What is added by distance behind fewer than `count` positions. */
export interface BiasTable {
  /** Positions up to which it is right. */
  readonly count: number;
  /** [heads, count]; undefined where nothing is added. */
  readonly table: Float32Array | undefined;
}

/** Which bias it is: layers share them. */
function keyOf({ heads, terms }: ScoreBias): string {
  return JSON.stringify([
    heads,
    ...terms.map(({ node: _, ...term }) => term),
  ]);
}

/** Biases of a step's attentions. */
export class ScoreBiases {
  readonly #rows = new Map<string, Float32Array | undefined>();
  readonly #tables = new Map<string, BiasTable>();

  constructor(readonly positions: Positions) {}

  /**
   * What is added to each head's scores in a step with so many positions before, [heads, past + 1]; undefined where it
   * does not fit them.
   */
  #row(bias: ScoreBias, past: number): Float32Array | undefined {
    const { heads, terms } = bias;
    const key = `${past} ${keyOf(bias)}`;
    if (this.#rows.has(key)) return this.#rows.get(key);
    let row: Float32Array | undefined = new Float32Array(heads * (past + 1));
    try {
      for (const term of terms) this.#add(row, term, past);
    } catch (error) {
      const isMisfit = error instanceof OnnxError ||
        error instanceof RangeError;
      if (!isMisfit) throw error;
      row = undefined;
    }
    this.#rows.set(key, row);
    return row;
  }

  #add(row: Float32Array, term: ScoreTerm, past: number): void {
    const count = past + 1;
    const put = (i: number, value: number) => {
      const sum = row[i] + value;
      if (!(sum < Infinity)) throw new RangeError(`a bias is ${sum}`);
      row[i] = sum > NEVER_SEEN ? sum : LEFT_OUT;
    };
    if (term.kind === "window") {
      for (let i = 0; i < row.length; i++) {
        if (past - i % count > term.most) put(i, LEFT_OUT);
      }
      return;
    }
    const value = this.positions.at(term.name, past);
    const at = broadcastPositions(value.dims, [...term.lead, count]);
    if (at.length !== row.length) throw new RangeError("other heads");
    for (let i = 0; i < row.length; i++) {
      const one = Number(value.data[at[i]]);
      if (term.kind === "added") put(i, one * term.factor);
      else if ((one !== 0) === term.leaves) {
        if (term.isReplaced) throw new RangeError("a score is replaced");
        put(i, LEFT_OUT);
      }
    }
  }

  /** Whether nothing is added behind so many positions. */
  #isNone(bias: ScoreBias, past: number): boolean {
    return this.#row(bias, past)?.every((one) => one === 0) ?? false;
  }

  /** Of as many positions as one table is right for, or nothing is added to, at most `count`. */
  table(bias: ScoreBias, count: number): BiasTable {
    const key = `${count} ${keyOf(bias)}`;
    const found = this.#tables.get(key) ?? this.#tableOf(bias, count);
    this.#tables.set(key, found);
    return found;
  }

  #tableOf(bias: ScoreBias, count: number): BiasTable {
    const looked = sampled(count);
    if (looked.every((past) => this.#isNone(bias, past))) {
      return { count, table: undefined };
    }
    const known = first(
      count,
      looked,
      (past) => this.#row(bias, past) === undefined,
    );
    const table = known > 0 ? this.#byDistance(bias, known) : undefined;
    if (table) {
      const isNone = table.every((one) => one === 0);
      return { count: known, table: isNone ? undefined : table };
    }
    const none = first(count, looked, (past) => !this.#isNone(bias, past));
    return { count: none, table: undefined };
  }

  /** Of the last row; those of others are looked at. */
  #byDistance(bias: ScoreBias, count: number): Float32Array | undefined {
    const { heads } = bias;
    const last = this.#row(bias, count - 1);
    if (!last) return undefined;
    const table = new Float32Array(heads * count);
    for (let head = 0; head < heads; head++) {
      const row = last.subarray(head * count, (head + 1) * count);
      for (let i = 0; i < count; i++) {
        table[head * count + i] = row[count - 1 - i];
      }
    }
    const looked = new Set(sampled(count));
    for (let head = 0; head < heads; head++) {
      for (let i = 1; i < count; i++) {
        const [a, b] = [i - 1, i].map((i) => table[head * count + i]);
        // Where positions begin to be left out, or no longer are.
        if ((a === LEFT_OUT) !== (b === LEFT_OUT)) {
          for (const past of [i - 1, i, i + 1]) {
            if (past < count) looked.add(past);
          }
        }
      }
    }
    const rows = [...looked].map((past) => this.#row(bias, past));
    if (!rows.every((row) => row !== undefined)) return undefined;
    if (rows.every((row) => isByDistance(row, table, heads, false))) {
      return table;
    }
    if (!rows.every((row) => isByDistance(row, table, heads, true))) {
      return undefined;
    }
    for (let head = 0; head < heads; head++) {
      const own = table[head * count];
      for (let i = head * count; i < (head + 1) * count; i++) {
        if (table[i] !== LEFT_OUT) table[i] -= own;
      }
    }
    return table;
  }
}

/** Where something begins to be so, among those looked at and then by halves; `count` where it never is. */
function first(
  count: number,
  looked: readonly number[],
  isSo: (past: number) => boolean,
): number {
  let good = -1;
  for (const past of looked) {
    if (!isSo(past)) {
      good = past;
      continue;
    }
    let bad = past;
    while (bad - good > 1) {
      const middle = Math.floor((good + bad) / 2);
      if (isSo(middle)) bad = middle;
      else good = middle;
    }
    return bad;
  }
  return count;
}

/** Whether a row is what a table has by distance; `shifted`: up to what all of a head's get alike, and roundings. */
function isByDistance(
  row: Float32Array,
  table: Float32Array,
  heads: number,
  shifted: boolean,
): boolean {
  const [count, distances] = [row.length / heads, table.length / heads];
  for (let head = 0; head < heads; head++) {
    const own = (head + 1) * count - 1;
    const from = head * distances;
    // The token itself is always seen.
    if (row[own] === LEFT_OUT || table[from] === LEFT_OUT) return false;
    for (let back = 0; back < count; back++) {
      const [a, b] = [row[own - back], table[from + back]];
      if (a === b) continue;
      if (!shifted || a === LEFT_OUT || b === LEFT_OUT) return false;
      const most = Math.max(
        ...[a, b, row[own], table[from]].map((one) => Math.abs(one)),
      );
      const off = Math.abs((a - row[own]) - (b - table[from]));
      if (off > ROUNDINGS * most) return false;
    }
  }
  return true;
}
