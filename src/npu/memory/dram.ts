/**
 * DRAM of fixed latency and bandwidth over channels, in exact arithmetic.
 *
 * Time is counted in ticks, a whole fraction of a cycle, so that 360 GB/s at 700 MHz (3600/7 bytes
 * per cycle) is exact and long runs do not drift. A request is cut into bursts that go round the
 * channels; the port is busy until the channel with most bursts is done, and the data is there
 * `latency` after that. Requests are served in the order they are given.
 *
 * Not modelled: rows, banks, refresh, turnaround (as in LazyBatching, section V).
 */
import { positiveInteger } from "../checks.ts";

/** DRAM of fixed latency and bandwidth over channels. */
export interface DramConfig {
  /** Channels, which bursts go round. */
  channels: number;
  /** Clock cycles from the end of a transfer to its data's arrival; may be 0. */
  latencyCycles: number;
  /** Of all channels together. */
  bytesPerSecond: number;
  /** Bytes that go to one channel before the next one's turn. */
  burstBytes: number;
}

export interface DramTiming {
  /** Ticks per clock cycle. */
  ticksPerCycle: number;
  latencyTicks: number;
  /** Ticks the port is busy with `bytes`. */
  transferTicks(bytes: number): number;
  /** True if requests never wait for each other. */
  ideal: boolean;
}

export function dramTiming(config: DramConfig, clockHz: number): DramTiming {
  const channels = positiveInteger(config.channels, "DRAM channels");
  const burstBytes = positiveInteger(config.burstBytes, "DRAM burst bytes");
  positiveInteger(config.bytesPerSecond, "DRAM bytes per second");
  positiveInteger(clockHz, "clock (Hz)");
  // A burst takes burstBytes * channels * clockHz / bytesPerSecond cycles.
  const perBurst = burstBytes * channels * clockHz;
  const divisor = greatestCommonDivisor(perBurst, config.bytesPerSecond);
  const ticksPerCycle = config.bytesPerSecond / divisor;
  const ticksPerBurst = perBurst / divisor;
  return {
    ticksPerCycle,
    latencyTicks: config.latencyCycles * ticksPerCycle,
    transferTicks: (bytes) =>
      Math.ceil(Math.ceil(bytes / burstBytes) / channels) * ticksPerBurst,
    ideal: false,
  };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
