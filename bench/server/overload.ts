/**
 * More than can be done, over HTTP: the most that is done in time, and what is left of it at ten times as many requests.
 *
 *     deno task bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N] [--only TEXT]
 *
 * - peak: the best of open-loop runs around what a closed loop gets through, everything let in.
 * - overload: ten peaks, in one run, with figures of the server every ten seconds.
 * - waiting: the same, shorter, without admission, where everything waits.
 * - nothing: as many requests to a server that refuses all of them without a look, beside a thread that computes: what
 *   runtime, machine and generator take of a refusal.
 *
 * Server and generator share the machine, each in a process of its own. A refusal's time is told twice: from when it was
 * sent, by the generator, and from when the server's handler was called, by the server.
 */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import {
  integerOption,
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { ENDS } from "../../src/load/ledger.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { loadPlan } from "../../src/load/plan.ts";
import type { LoadResult } from "../../src/load/result.ts";
import { runLoad } from "../../src/load/run.ts";
import type { WireRequest } from "../../src/load/wire.ts";
import { summarizeLoad } from "../../src/load/summarize.ts";
import { renderTable } from "../../src/report/table.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import type { OverloadFigures, OverloadSettings } from "./overload_server.ts";

const PARTS = ["peak", "overload", "waiting", "nothing"];

const HELP =
  `bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N] [--part A,B] [--json]

The goodput of a server at its peak and at ten times as many requests, with admission and without.

  --part A,B   of ${
    PARTS.join(", ")
  } (default all; what the others hang on runs)
  --peak N     instead of looking for it`;

/** Tokens of a request: short and long sentences. */
const TOKENS_MIN = 8;
const TOKENS_MAX = 120;

/** Requests under way in the closed loop that says where the peak is. */
const OUTSTANDING = 64;
const CLOSED_MS = 3000;

/** Rates around it that are tried, in open loop. */
const TRIALS = [0.85, 1, 1.15, 1.3];
const TRIAL_S = 3;
const WARM_S = 1;

/** Between two looks at the server under overload. */
const LOOK_S = 10;

/** Time that a server has to end. */
const END_MS = 5000;

/** Of the parts that are there to compare with. */
const COMPARED_S = 5;

/** As in the issue: goodput at ten times the peak. */
const OVERLOAD = 10;

/** Connections: at ten times the peak hundreds of requests are under way. */
const CONNECTIONS = 1024;

const { seconds, slo, layers, hidden, seed, parts, peak, json } = taskSettings({
  name: "bench:overload",
  help: HELP,
  options: {
    "seconds": { type: "string" },
    "slo-ms": { type: "string" },
    "layers": { type: "string" },
    "hidden": { type: "string" },
    "seed": { type: "string" },
    "part": { type: "string" },
    "peak": { type: "string" },
    "json": { type: "boolean", default: false },
  },
}, ({ values }) => ({
  seconds: integerOption("seconds", values.seconds, 60, { min: 1, max: 600 }),
  slo: integerOption("slo-ms", values["slo-ms"], 200, { min: 1, max: 60_000 }),
  layers: integerOption("layers", values.layers, 4, { min: 1, max: 24 }),
  hidden: integerOption("hidden", values.hidden, 256, { min: 64, max: 1024 }),
  seed: seedOption(values.seed),
  parts: namesOption("part", values.part, PARTS),
  peak: values.peak === undefined
    ? undefined
    : integerOption("peak", values.peak, 0, { min: 1, max: 1e6 }),
  json: values.json,
}));
const clock = timerClock(wallNs);
const drawing = new Prng(seed).fork("requests");

const LENGTHS: readonly number[] = Array.from(
  { length: 512 },
  () => TOKENS_MIN + drawing.int(TOKENS_MAX - TOKENS_MIN + 1),
);
const BODIES: readonly WireRequest[] = LENGTHS.map((length) => {
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
      [
        ...["run", "-A", "--v8-flags=--expose-gc", script],
        JSON.stringify(settings),
      ],
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
    // What there is none of is null in JSON.
    return JSON.parse(
      await this.line(),
      (_name, value) => value === null ? NaN : value,
    );
  }

  /** Bytes of the heap that a full collection leaves. */
  async liveBytes(): Promise<number> {
    this.#child.stdin.write("live\n");
    return JSON.parse(await this.line()) ?? NaN;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.on("exit", resolve));
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(late);
  }
}

async function offer(
  origin: URL,
  ratePerS: number,
  forS: number,
): Promise<Offered> {
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
  const result = summarizeLoad(plan, ledger, {
    target: { sloNs: slo * NS_PER_MS, share: 0.9 },
    connections: CONNECTIONS,
    ...{ isLocal: true, wasStopped: false, prng },
  });
  const { dueNs, endNs, ends } = ledger;
  let tokens = 0;
  plan.choice.forEach((choice, i) => {
    const isInTime = ENDS[ends[i]] === "completed" &&
      dueNs[i] >= plan.warmUpNs && endNs[i] - dueNs[i] <= slo * NS_PER_MS;
    if (isInTime) tokens += LENGTHS[choice];
  });
  return { ...result, tokensPerS: tokens / forS };
}

/** With the tokens of what was done in time: where not all can be, short requests are more easily in time. */
type Offered = LoadResult & { readonly tokensPerS: number };

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

/** The most of a run that was in time. */
type Peak = Pick<Offered, "goodputPerS" | "tokensPerS">;

function ofPeak(value: number, peak: number | undefined): string {
  return peak ? `${(100 * value / peak).toFixed(0)} %` : "-";
}

function note(
  what: string,
  result: Offered,
  figures: OverloadFigures,
  peak?: Peak,
): void {
  const { goodputPerS, tokensPerS, ends, late, refusal, lag } = result;
  const ms = (value: number) => Number.isNaN(value) ? "-" : value.toFixed(1);
  const p99 =
    result.quantilesNs[Math.round(0.99 * result.quantilesNs.length) - 1];
  rows.push([
    what,
    result.scheduledPerS.toFixed(0),
    goodputPerS.toFixed(1),
    ofPeak(goodputPerS, peak?.goodputPerS),
    tokensPerS.toFixed(0),
    ofPeak(tokensPerS, peak?.tokensPerS),
    `${ends.refused}`,
    `${late}`,
    `${ends.failed}`,
    ms(p99 / NS_PER_MS),
    ...[refusal.p50Ns, refusal.p99Ns].map((ns) => ms(ns / NS_PER_MS)),
    ...[figures.refusedP50Ms, figures.refusedP99Ms, figures.refusedMaxMs].map(
      ms,
    ),
    ...[figures.delayP99Ms, lag.p99Ns / NS_PER_MS].map(ms),
    `${(100 * figures.readyShare).toFixed(0)} %`,
    `${(figures.rssBytes / 2 ** 20).toFixed(0)}`,
  ].map((text) => ({ text })));
  findings.push({
    ...{
      what,
      peak,
      ...figures,
      goodputPerS,
      tokensPerS,
      refusal,
      ends,
      late,
      lag,
    },
  });
}

const settings: OverloadSettings = {
  ...{ sloMs: slo, layers, hidden, workers: 1, admits: "in time" },
};

/** Starts a server that lets in who is to be. */
async function started(
  admits: OverloadSettings["admits"],
): Promise<{ server: Server; origin: URL }> {
  const server = new Server({ ...settings, admits });
  return { server, origin: new URL(await server.line()) };
}

/** Against the server that admits by cost: what the closed loop says is where to look, not what is found. */
async function findPeak(): Promise<Peak> {
  const open = await started("everybody");
  const capacityPerS = await closedLoop(open.origin);
  await open.server.end();
  const { server, origin } = await started("in time");
  await offer(origin, capacityPerS / 2, 1);
  let goodputPerS = 0;
  let tokensPerS = 0;
  for (const share of TRIALS) {
    await server.figures();
    const result = await offer(origin, share * capacityPerS, TRIAL_S);
    goodputPerS = Math.max(goodputPerS, result.goodputPerS);
    tokensPerS = Math.max(tokensPerS, result.tokensPerS);
    note(`${share} of a closed loop`, result, await server.figures());
  }
  await server.end();
  progress(
    `peak ${goodputPerS.toFixed(0)} requests a second, ${
      tokensPerS.toFixed(0)
    } tokens`,
  );
  return { goodputPerS, tokensPerS };
}

/** Memory over the run: figures at every look. */
const looks: OverloadFigures[] = [];

/** What a collection leaves of the heap, before the run and when all of it is answered. */
const liveBytes: number[] = [];

async function overload(peak: Peak): Promise<void> {
  const { server, origin } = await started("in time");
  await offer(origin, peak.goodputPerS, 1);
  liveBytes.push(await server.liveBytes());
  await server.figures();
  const { stop, looked } = lookEvery(LOOK_S, server);
  const result = await offer(origin, OVERLOAD * peak.goodputPerS, seconds);
  stop();
  looks.push(...await looked, await server.figures());
  liveBytes.push(await server.liveBytes());
  const worst = (of: (figures: OverloadFigures) => number) =>
    Math.max(...looks.map(of).filter((value) => !Number.isNaN(value)));
  note("10 peaks", result, {
    ...looks[looks.length - 1],
    refusedP99Ms: worst(({ refusedP99Ms }) => refusedP99Ms),
    refusedMaxMs: worst(({ refusedMaxMs }) => refusedMaxMs),
    delayP99Ms: worst(({ delayP99Ms }) => delayP99Ms),
    delayMaxMs: worst(({ delayMaxMs }) => delayMaxMs),
  }, peak);
  await server.end();
}

/** Asks for figures while something else happens. */
function lookEvery(
  everyS: number,
  server: Server,
): { stop: () => void; looked: Promise<OverloadFigures[]> } {
  const over = new AbortController();
  const looked = (async () => {
    const figures = [];
    for (;;) {
      await sleep(everyS * 1000, undefined, { signal: over.signal })
        .catch(() => {});
      if (over.signal.aborted) return figures;
      figures.push(await server.figures());
    }
  })();
  return { stop: () => over.abort(), looked };
}

async function compared(
  what: string,
  admits: OverloadSettings["admits"],
  peak: Peak,
): Promise<void> {
  const { server, origin } = await started(admits);
  await offer(origin, peak.goodputPerS, 1);
  await server.figures();
  const result = await offer(origin, OVERLOAD * peak.goodputPerS, COMPARED_S);
  note(what, result, await server.figures(), peak);
  await server.end();
}

const found: Peak = peak === undefined
  ? await findPeak()
  : { goodputPerS: peak, tokensPerS: NaN };
if (parts.includes("overload")) await overload(found);
if (parts.includes("waiting")) {
  await compared("everything waits", "everybody", found);
}
if (parts.includes("nothing")) {
  await compared("nothing but refusals", "nobody", found);
}
const titles = [
  ...[
    "",
    "offered/s",
    "in time/s",
    "of peak",
    "tokens/s",
    "of peak",
    "refused",
    "late",
    "failed",
  ],
  ...["p99 ms", "refusal p50 ms", "p99 ms", "in handler p50 ms", "p99 ms"],
  ...["max ms", "loop p99 ms", "lag p99 ms", "ready", "MiB"],
];
const table = (titles: readonly string[], rows: { text: string }[][]) =>
  renderTable({
    columns: titles.map((title, i) => ({
      title,
      align: i === 0 ? "left" : "right",
    })),
    rows,
  }, { color: stdoutColor() });
if (json) print(JSON.stringify({ findings, looks, liveBytes }));
else {
  print(table(titles, rows));
  print(table(
    ["after s", "resident MiB", "heap MiB", "loop p99 ms", "loop max ms"],
    looks.map(({ rssBytes, heapBytes, delayP99Ms, delayMaxMs }, i) =>
      [
        `${(i + 1) * LOOK_S}`,
        ...[rssBytes, heapBytes].map((bytes) => (bytes / 2 ** 20).toFixed(1)),
        ...[delayP99Ms, delayMaxMs].map((ms) => ms.toFixed(1)),
      ].map((text) => ({ text }))
    ),
  ));
  const mib = liveBytes.map((bytes) => (bytes / 2 ** 20).toFixed(1));
  if (mib.length > 0) {
    print(`heap after a collection, before and after: ${mib.join(", ")} MiB`);
  }
}
