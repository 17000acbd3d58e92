/** Prints what bench/papers/e2bird.ts found, beside the published figures. */
import type { DeviceResult } from "./e2bird.ts";

function change(share: number): string {
  return `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`;
}

export function printDevice(
  { network, device, copyUs, lowPerS, highPerS, configurations, systems }:
    DeviceResult,
): void {
  console.log(
    `\n${network}, ${device}, copies of ${copyUs} us: low load ${
      lowPerS.toFixed(0)
    }/s, high ${highPerS.toFixed(0)}/s`,
  );
  for (const [name, mixes] of Object.entries(configurations)) {
    console.log(`  mixes of ${name}: ${JSON.stringify(mixes)}`);
  }
  for (const { system, lowMs, highMs, peakPerS } of systems) {
    console.log(
      `  ${system.padEnd(27)} low ${lowMs.toFixed(1)} ms, high ${
        highMs.toFixed(1)
      } ms, peak ${peakPerS.toFixed(0)}/s`,
    );
  }
  const [published, found, naive, ...enhanced] = systems;
  for (const base of [published, found]) {
    console.log(
      `  N-Ebird against ${base.system}: latency ${
        change(naive.lowMs / base.lowMs - 1)
      } low (published -44.6 to -70.9 %), ${
        change(naive.highMs / base.highMs - 1)
      } high (-7.4 to -53.1 %), throughput ${
        change(naive.peakPerS / base.peakPerS - 1)
      } (+34.4 %)`,
    );
  }
  for (const { system, highMs, peakPerS } of enhanced) {
    if (!system.startsWith("E-Ebird")) continue;
    console.log(
      `  ${system} against N-Ebird: latency ${
        change(highMs / naive.highMs - 1)
      } high (-5 to -30 %), throughput ${
        change(peakPerS / naive.peakPerS - 1)
      } (+9.9 %)`,
    );
  }
}
