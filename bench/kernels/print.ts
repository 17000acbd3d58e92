/** The bench's figures as text. */
import type { Result } from "./contest.ts";

/** Decimals of a rate. */
export function digits(rate: number): number {
  return rate < 10 ? 2 : 1;
}

/** Geometric means of the ratios to each peer, by area. */
export function geometricMeans(
  results: readonly Result[],
): { area: string; peer: string; build: string; ratio: number; of: number }[] {
  const logs = new Map<
    string,
    { area: string; peer: string; build: string; logs: number[] }
  >();
  for (const { area, ratios } of results) {
    for (const [peer, builds] of Object.entries(ratios)) {
      for (const [build, ratio] of Object.entries(builds)) {
        const key = `${area}/${peer}/${build}`;
        const entry = logs.get(key) ?? { area, peer, build, logs: [] };
        entry.logs.push(Math.log(ratio));
        logs.set(key, entry);
      }
    }
  }
  return [...logs.values()].map(({ logs, ...names }) => ({
    ...names,
    ratio: Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length),
    of: logs.length,
  }));
}

/** A line for a result: rates, our ratios to the peers, hash of the deterministic build. */
export function resultLine(
  { area, label, unit, rates, ratios, ofReading, hashes }: Result,
): string {
  const columns = Object.entries(rates).map(([name, rate]) => {
    const peers = Object.values(ratios)
      .flatMap((builds) => name in builds ? [builds[name].toFixed(2)] : []);
    const beside = peers.length > 0 ? ` (${peers.join("x, ")}x)` : "";
    const reading = ofReading?.[name];
    return `${name} ${rate.toFixed(digits(rate))}${beside}` +
      (reading === undefined
        ? ""
        : `, ${reading.toFixed(2)} of reading its operands`);
  });
  return `${area.padEnd(24)} ${label.padEnd(46)} ${
    columns.join("  ")
  } ${unit}  ${hashes["deterministic"]}`;
}

/** Lines of geometric means, an area and peer each. */
export function meanLines(results: readonly Result[]): string[] {
  const rows = new Map<string, string[]>();
  for (
    const { area, peer, build, ratio, of } of geometricMeans(results)
  ) {
    const key = `${area.padEnd(24)} to ${peer.padEnd(16)} of ${
      String(of).padStart(2)
    }`;
    rows.set(key, [...rows.get(key) ?? [], `${build} ${ratio.toFixed(2)}x`]);
  }
  return [...rows].map(([key, values]) => `${key}  ${values.join("  ")}`);
}
