import { describe } from "./describe.ts";

/**
 * Points of a measured curve, such as batch size and latency in ns, ascending in size. Between two sizes the value
 * is interpolated linearly; below the first it is the first's, beyond the last in proportion to the size.
 */
export type CurvePoints = readonly (readonly [size: number, value: number])[];

/**
 * @param label what the curve is of, for messages
 * @throws RangeError when the curve is empty, its sizes are not ascending integers, or a value is negative or not finite
 */
export function checkCurve(label: string, points: CurvePoints): void {
  if (!Array.isArray(points) || points.length === 0) {
    throw new RangeError(`The table of ${label} is empty`);
  }
  let before = 0;
  for (const point of points) {
    if (!Array.isArray(point) || point.length !== 2) {
      throw new RangeError(
        `The table of ${label} lists pairs of size and value, got ${
          describe(point)
        }`,
      );
    }
    const [size, value] = point;
    if (!Number.isInteger(size) || size <= before) {
      throw new RangeError(
        `The table of ${label} lists size ${
          describe(size)
        } after ${before}; sizes are integers that ascend from 1`,
      );
    }
    if (typeof value !== "number" || !(value >= 0 && value < Infinity)) {
      throw new RangeError(
        `The table of ${label} has the value ${describe(value)}`,
      );
    }
    before = size;
  }
}

/**
 * Linear interpolation between measured sizes; below the first one its value, beyond the last one its
 * value per unit of size times the size (a device that is full).
 */
export function onCurve(points: CurvePoints, size: number): number {
  const last = points[points.length - 1];
  if (size >= last[0]) return last[1] * size / last[0];
  if (size <= points[0][0]) return points[0][1];
  let above = 1;
  while (points[above][0] < size) above++;
  const [size0, value0] = points[above - 1];
  const [size1, value1] = points[above];
  return value0 + (value1 - value0) * (size - size0) / (size1 - size0);
}
