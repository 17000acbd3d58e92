/** Segments of a server's connections as the kernel sees them, by Debian's `tcpdump`. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { segmentsOf } from "./pcap.ts";
import { type WireExchanges, wireExchanges } from "./wire_exchanges.ts";

/** Of a frame: a request's head with its number fits. */
const FRAME_BYTES = 320;
/** Of the kernel, in KiB: what a second brings, many times. */
const BUFFER_KIB = 32_768;
/** The kernel hands packets over by blocks, at the latest after a second. */
const BLOCK_MS = 1500;

/** What was captured. */
export interface Captured extends WireExchanges {
  /** Packets that the kernel had no room for. */
  readonly dropped: number;
}

/** A capture that runs. */
export interface Capture {
  /** Ends it, and reads what it has. */
  end(): Promise<Captured>;
}

/**
 * Begins one of the loopback device.
 * @throws Error when there is no `tcpdump`, or it may not capture
 */
export async function captureWire(port: number): Promise<Capture> {
  const folder = mkdtempSync(join(tmpdir(), "wire-"));
  const file = join(folder, "wire.pcap");
  const child = spawn("tcpdump", [
    ...["-i", "lo", "-n", "-Z", "root", "--time-stamp-precision=nano"],
    ...["-s", `${FRAME_BYTES}`, "-B", `${BUFFER_KIB}`, "-w", file],
    `ip and tcp port ${port}`,
  ], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const ended = new Promise<string>((resolve) => {
    child.on("error", ({ message }) => resolve(message));
    child.on("close", (code) => resolve(`it ended with ${code}: ${said}`));
  });
  const listening = new Promise<void>((resolve) =>
    child.stderr.on("data", (text) => {
      said += text;
      if (said.includes("listening on")) resolve();
    })
  );
  const failure = await Promise.race([listening, ended]);
  if (failure !== undefined) {
    rmSync(folder, { recursive: true });
    throw new Error(
      `--wire needs tcpdump (Debian's package of this name) and the right to capture: ${failure.trim()}`,
    );
  }
  return {
    async end() {
      await sleep(BLOCK_MS);
      child.kill("SIGINT");
      await ended;
      const segments = segmentsOf(readFileSync(file));
      const found = wireExchanges(segments, port);
      rmSync(folder, { recursive: true });
      const dropped = /(\d+) packets? dropped by kernel/.exec(said)?.[1];
      return { ...found, dropped: Number(dropped ?? NaN) };
    },
  };
}
