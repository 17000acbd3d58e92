import process from "node:process";

/**
 * Number of runs of a property: SHOAL_PROPERTY_RUNS when set, else the property's own default.
 * @throws RangeError when the variable is not a positive integer
 */
export function propertyRuns(defaultRuns: number): number {
  const text = process.env["SHOAL_PROPERTY_RUNS"];
  if (text === undefined || text === "") return defaultRuns;
  const runs = Number(text);
  if (!Number.isInteger(runs) || runs < 1) {
    throw new RangeError(
      `SHOAL_PROPERTY_RUNS is a positive integer, got ${JSON.stringify(text)}`,
    );
  }
  return runs;
}
