/** Costs as a profile measured them, and none that it did not. */
import { mean } from "../base/statistics.ts";
import { type CurvePoints, onCurve } from "../base/curve.ts";
import type { CostModel } from "../cost/cost_model.ts";
import { type Extents, isUniform } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import type { ProfileTable } from "../policy/profile.ts";

/** Tokens of the rows that a profile's times are of, where cells are ragged. */
export interface ProfiledTokens {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
}

/** What a profile says of a model on a machine. */
export interface MachineTimes {
  /** Points [rows, ns] by cell. */
  readonly tablesNs: ProfileTable;
  /** Of models with ragged cells. */
  readonly tokens?: ProfiledTokens;
  /**
   * Between two tasks of which the second was there before the first had ended, by rows of the second; default: none.
   */
  readonly taskNs?: CurvePoints;
}

/** Something was asked of a profile that it has not measured. */
export class OutsideProfile extends RangeError {
  override readonly name = "OutsideProfile";
}

/**
 * Integer nanoseconds of batches within what was measured, by linear interpolation; anything else is refused.
 * Assumption: a row of tokens takes in proportion to them, around the mean of those that were measured.
 */
export class ProfiledCost implements CostModel {
  readonly #times: MachineTimes;

  constructor(times: MachineTimes) {
    this.#times = times;
  }

  /** @throws OutsideProfile naming cell, rows or tokens that the profile does not cover */
  latencyNs(cell: Cell, rows: number, extents?: Extents): number {
    const { tablesNs, taskNs } = this.#times;
    const points = Object.hasOwn(tablesNs, cell.name)
      ? tablesNs[cell.name]
      : tablesNs["*"];
    if (points === undefined) {
      throw new OutsideProfile(`the profile has no cell "${cell.name}"`);
    }
    const [least, most] = [points[0][0], points[points.length - 1][0]];
    if (rows < least || rows > most) {
      throw new OutsideProfile(
        `a batch of ${rows} rows of "${cell.name}"; the profile has ${least} to ${most}` +
          (rows > most ? " (shoal profile --sizes measures more)" : ""),
      );
    }
    const share = this.#tokenShare(cell, extents);
    const gapNs = taskNs ? onCurve(taskNs, rows) : 0;
    return Math.round(gapNs + share * onCurve(points, rows));
  }

  #tokenShare(cell: Cell, extents: Extents | undefined): number {
    if (cell.tokensMax === undefined || extents === undefined) return 1;
    const { tokens } = this.#times;
    const each = isUniform(extents)
      ? extents.length
      : mean(extents.map(({ length }) => length));
    if (tokens === undefined || each < tokens.least || each > tokens.most) {
      throw new OutsideProfile(
        `rows of ${each} tokens of "${cell.name}"; the profile has ` +
          (tokens ? `${tokens.least} to ${tokens.most}` : "none"),
      );
    }
    return each / tokens.mean;
  }
}
