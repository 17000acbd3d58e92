/**
 * More than can be done, over HTTP: the most that is done in time, and what is left of it at ten times as many requests.
 *
 *     deno task bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N]
 *
 * The peak is the best of a few open-loop runs around what a closed loop gets through; then ten times that. The same once
 * more without admission, where everything waits. Server and generator share the machine, each in a process of its own.
 */
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import {
  integerOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { loadPlan } from "../../src/load/plan.ts";
import type { LoadResult } from "../../src/load/result.ts";
import { runLoad } from "../../src/load/run.ts";
import type { WireRequest } from "../../src/load/wire.ts";
import { summarizeLoad } from "../../src/load/summarize.ts";
import { renderTable } from "../../src/report/table.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import type { OverloadFigures, OverloadSettings } from "./overload_server.ts";

const HELP =
  `bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N]

The goodput of a server at its peak and at ten times as many requests, with admission and without.`;

/** Tokens of a request: short and long sentences. */
const TOKENS_MIN = 8;
const TOKENS_MAX = 120;

/** Requests under way in the closed loop that says where the peak is. */
const OUTSTANDING = 64;
const CLOSED_MS = 2000;

/** Rates around it that are tried, in open loop. */
const TRIALS = [0.7, 0.85, 1];
const TRIAL_S = 3;
const WARM_S = 1;

/** As in the issue: goodput at ten times the peak. */
const OVERLOAD = 10;

/** Connections: at ten times the peak hundreds of requests are under way. */
const CONNECTIONS = 1024;

const { seconds, slo, layers, hidden, seed } = taskSettings({
  name: "bench:overload",
  help: HELP,
  options: {
    "seconds": { type: "string" },
    "slo-ms": { type: "string" },
    "layers": { type: "string" },
    "hidden": { type: "string" },
    "seed": { type: "string" },
  },
}, ({ values }) => ({
  seconds: integerOption("seconds", values.seconds, 60, { min: 1, max: 600 }),
  slo: integerOption("slo-ms", values["slo-ms"], 200, { min: 1, max: 60_000 }),
  layers: integerOption("layers", values.layers, 4, { min: 1, max: 24 }),
  hidden: integerOption("hidden", values.hidden, 256, { min: 64, max: 1024 }),
  seed: seedOption(values.seed),
}));
const clock = timerClock(wallNs);
const drawing = new Prng(seed).fork("requests");

const BODIES: readonly WireRequest[] = Array.from({ length: 512 }, () => {
  const length = TOKENS_MIN + drawing.int(TOKENS_MAX - TOKENS_MIN + 1);
  const body = {
    inputs: [{
      name: "tokens",
      shape: [length],
      datatype: "INT32",
      data: Array.from({ length }, () => drawing.int(1000)),
    }],
  };
  return {
    method: "POST",
    path: "/v2/models/encoder/infer",
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify(body)),
  };
});

/** A server in a process of its own. */
class Server {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(settings: OverloadSettings) {
    const script = fileURLToPath(
      new URL("overload_server.ts", import.meta.url),
    );
    this.#child = spawn(
      process.execPath,
      ["run", "-A", "--v8-flags=--expose-gc", script, JSON.stringify(settings)],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    this.#lines = createInterface({ input: this.#child.stdout })
      [Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the server ended");
    return value;
  }

  /** Since the last call. */
  async figures(): Promise<OverloadFigures> {
    this.#child.stdin.write("figures\n");
    return JSON.parse(await this.line());
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.on("exit", resolve));
    this.#child.stdin.end();
    await ended;
  }
}

async function offer(
  origin: URL,
  ratePerS: number,
  forS: number,
): Promise<LoadResult> {
  const wire = httpWire({
    ...{ origin, clock },
    ...{ connections: CONNECTIONS, keepAlive: true },
  });
  const prng = new Prng(seed).fork(`${ratePerS}`);
  const plan = loadPlan({
    arrivals: poisson({ ratePerS }),
    ...{ ratePerS, prng, bodies: BODIES, seconds: forS, warmUpS: WARM_S },
    ...{ leaves: 0, leavesWithinNs: Infinity },
  });
  const ledger = await runLoad(plan, {
    ...{ wire, clock, connections: CONNECTIONS },
    timeoutNs: 20 * slo * NS_PER_MS,
  });
  wire.close();
  return summarizeLoad(plan, ledger, {
    target: { sloNs: slo * NS_PER_MS, share: 0.9 },
    connections: CONNECTIONS,
    ...{ isLocal: true, wasStopped: false, prng },
  });
}

/** Requests a second when there are always some under way. */
async function closedLoop(origin: URL): Promise<number> {
  const wire = httpWire({
    ...{ origin, clock },
    ...{ connections: OUTSTANDING, keepAlive: true },
  });
  let done = 0;
  let next = 0;
  let isOver = false;
  const startNs = wallNs();
  const client = async () => {
    while (!isOver) {
      const { status } = await wire.send(BODIES[next++ % BODIES.length]);
      if (status === 200) done++;
    }
  };
  const clients = Array.from({ length: OUTSTANDING }, client);
  // The first half is for what is compiled and learned.
  await new Promise((resolve) => setTimeout(resolve, CLOSED_MS / 2));
  const before = done;
  const fromNs = wallNs();
  await new Promise((resolve) => setTimeout(resolve, CLOSED_MS / 2));
  const perS = (done - before) / ((wallNs() - fromNs) / 1e9);
  isOver = true;
  await Promise.all(clients);
  wire.close();
  progress(
    `closed loop: ${perS.toFixed(0)} requests a second, ${
      ((wallNs() - startNs) / 1e9).toFixed(1)
    } s`,
  );
  return perS;
}

const rows: { text: string }[][] = [];
const findings: Record<string, unknown>[] = [];

function note(
  what: string,
  result: LoadResult,
  peakPerS: number,
  figures: OverloadFigures,
): void {
  const { goodputPerS, scheduledPerS, ends, late, refusal } = result;
  const ms = (ns: number) =>
    Number.isNaN(ns) ? "-" : (ns / NS_PER_MS).toFixed(1);
  const p99 =
    result.quantilesNs[Math.round(0.99 * result.quantilesNs.length) - 1];
  rows.push([
    what,
    scheduledPerS.toFixed(0),
    goodputPerS.toFixed(1),
    peakPerS > 0 ? `${(100 * goodputPerS / peakPerS).toFixed(0)} %` : "-",
    `${ends.refused}`,
    `${late}`,
    `${ends.failed}`,
    ms(p99),
    ms(refusal.p50Ns),
    ms(refusal.p99Ns),
    figures.delayP99Ms.toFixed(1),
    (figures.rssBytes / 2 ** 20).toFixed(0),
    ms(result.lag.p99Ns),
  ].map((text) => ({ text })));
  findings.push({
    what,
    peakPerS,
    ...figures,
    goodputPerS,
    refusal,
    ends,
    late,
  });
}

const settings = { sloMs: slo, layers, hidden, workers: 1 };

/** What it gets through when it refuses nothing and there is always something to do. */
async function capacity(): Promise<number> {
  const server = new Server({ ...settings, admits: false });
  const perS = await closedLoop(new URL(await server.line()));
  await server.end();
  return perS;
}

const capacityPerS = await capacity();
let peakPerS = 0;
for (const admits of [true, false]) {
  const name = admits ? "admission" : "everything waits";
  const server = new Server({ ...settings, admits });
  const origin = new URL(await server.line());
  await server.figures();
  // The peak is the admission's, and what both are measured against.
  for (const share of admits ? TRIALS : []) {
    const result = await offer(origin, share * capacityPerS, TRIAL_S);
    peakPerS = Math.max(peakPerS, result.goodputPerS);
    note(`${name}, ${share} of capacity`, result, 0, await server.figures());
  }
  progress(`${name}: peak ${peakPerS.toFixed(0)} a second`);
  // In pieces: memory is flat when they are alike.
  for (let piece = 0; piece < (admits ? 3 : 1); piece++) {
    const result = await offer(origin, OVERLOAD * peakPerS, seconds / 3);
    note(`${name}, 10 peaks`, result, peakPerS, await server.figures());
  }
  await server.end();
}
const titles = [
  ...["", "offered/s", "in time/s", "of peak", "refused", "late", "failed"],
  ...["p99 ms", "refusal p50 ms", "refusal p99 ms", "loop p99 ms", "MiB"],
  "lag p99 ms",
];
print(renderTable({
  columns: titles.map((title, i) => ({
    title,
    align: i === 0 ? "left" : "right",
  })),
  rows,
}, { color: stdoutColor() }));
print(JSON.stringify(findings));
