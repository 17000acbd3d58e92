/**
 * More than can be done, over HTTP: the most that is done in time, and what is left of it at ten times as many requests.
 *
 *     deno task bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N] [--part A,B] [--wire]
 *         [--policy NAME]
 *
 * - peak: the best of open-loop runs around what a closed loop gets through, everything let in.
 * - overload: ten peaks, in one run, with figures of the server every ten seconds.
 * - waiting: the same, shorter, without admission, where everything waits.
 * - nothing: as many requests to a server that refuses all of them without a look, beside a thread that computes: what
 *   runtime, machine and generator take of a refusal.
 *
 * Server and generator share the machine, each in a process of its own. A refusal's time is told as a whole, from when it
 * was sent, and in its parts: until the server's handler is called, in it, and until the generator has heard of it. What
 * the generator's own event loop adds to the first and the last is in the columns beside them. With --wire also as the
 * kernel has it on the loopback device (`tcpdump`): from a request's last byte to the first one of its answer, which is
 * the server's alone, and the ways to the wire and from it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import {
  integerOption,
  namesOption,
  oneName,
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
import { summarizeLoad } from "../../src/load/summarize.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { renderTable } from "../../src/report/table.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { LogHistogram } from "../soak/histogram.ts";
import { watchLoop } from "../soak/loop_delay.ts";
import type { OverloadFigures, OverloadSettings } from "./overload_server.ts";
import { OverloadedServer } from "./overloaded_server.ts";
import { overloadRequests } from "./overload_requests.ts";
import { readyMs } from "./ready_ms.ts";
import {
  numberedWire,
  PART_TITLES,
  refusalParts,
  TimesByNumber,
  wireParts,
} from "./refusal_parts.ts";
import { type Capture, captureWire } from "./wire_capture.ts";

const PARTS = ["peak", "overload", "waiting", "nothing"];

const HELP =
  `bench:overload [--seconds N] [--slo-ms N] [--layers N] [--hidden N] [--seed N] [--part A,B] [--wire] [--policy NAME]
  [--json]

The goodput of a server at its peak and at ten times as many requests, with admission and without.

  --part A,B   of ${
    PARTS.join(", ")
  } (default all; what the others hang on runs)
  --peak N     instead of looking for it
  --policy N   of the server (default cellular)
  --wire       refusals as they are on the wire, too: captured by Debian's tcpdump, which needs the right to`;

/** Requests under way in the closed loop that says where the peak is. */
const OUTSTANDING = 64;
const CLOSED_MS = 3000;

/** Rates around it that are tried, in open loop. */
const TRIALS = [0.85, 1, 1.15, 1.3];
const TRIAL_S = 3;
const WARM_S = 1;

/** Between two looks at the server under overload. */
const LOOK_S = 10;

/** Of the parts that are there to compare with. */
const COMPARED_S = 5;

/** As in the issue: goodput at ten times the peak. */
const OVERLOAD = 10;

/** Connections: at ten times the peak hundreds of requests are under way. */
const CONNECTIONS = 1024;

const { seconds, slo, layers, hidden, seed, parts, peak, ...rest } =
  taskSettings({
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
      "policy": { type: "string" },
      "wire": { type: "boolean", default: false },
      "json": { type: "boolean", default: false },
    },
  }, ({ values }) => ({
    seconds: integerOption("seconds", values.seconds, 60, { min: 1, max: 600 }),
    slo: integerOption("slo-ms", values["slo-ms"], 200, {
      min: 1,
      max: 60_000,
    }),
    layers: integerOption("layers", values.layers, 4, { min: 1, max: 24 }),
    hidden: integerOption("hidden", values.hidden, 256, { min: 64, max: 1024 }),
    seed: seedOption(values.seed),
    parts: namesOption("part", values.part, PARTS),
    peak: values.peak === undefined
      ? undefined
      : integerOption("peak", values.peak, 0, { min: 1, max: 1e6 }),
    policy: oneName(
      "policy",
      values.policy ?? "cellular",
      Object.keys(POLICIES),
    ),
    ...{ isOnWire: values.wire, json: values.json },
  }));
const { policy, isOnWire, json } = rest;
const clock = timerClock(wallNs);
const { lengths: LENGTHS, bodies: BODIES } = overloadRequests(seed);

async function offer(
  origin: URL,
  ratePerS: number,
  forS: number,
  sent: TimesByNumber = new TimesByNumber(),
): Promise<Offered> {
  const http = httpWire({
    ...{ origin, clock },
    ...{ connections: CONNECTIONS, keepAlive: true },
  });
  const wire = numberedWire(http, sent, wallNs);
  const own = new LogHistogram();
  const stopWatching = watchLoop(own);
  const [beforeMs, startMs] = [readyMs(), performance.now()];
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
  const readyShare = (readyMs() - beforeMs) / (performance.now() - startMs);
  stopWatching();
  wire.close();
  const result = summarizeLoad(plan, ledger, {
    target: { sloNs: slo * NS_PER_MS, share: 0.9 },
    connections: CONNECTIONS,
    ...{ isLocal: true, wasStopped: false },
  });
  const { dueNs, endNs, ends } = ledger;
  let tokens = 0;
  plan.choice.forEach((choice, i) => {
    const isInTime = ENDS[ends[i]] === "completed" &&
      dueNs[i] >= plan.warmUpNs && endNs[i] - dueNs[i] <= slo * NS_PER_MS;
    if (isInTime) tokens += LENGTHS[choice];
  });
  const tokensPerS = tokens / forS;
  const ownDelayP99Ms = own.percentile(0.99);
  return { ...result, tokensPerS, ownDelayP99Ms, ownReadyShare: readyShare };
}

interface Offered extends LoadResult {
  /** Of what was done in time: where not all can be, short requests are more easily in time. */
  readonly tokensPerS: number;
  /** Of the generator's event loop. */
  readonly ownDelayP99Ms: number;
  /** Time that the generator was ready to run and did not. */
  readonly ownReadyShare: number;
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
  const { ownDelayP99Ms, ownReadyShare } = result;
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
    ...[figures.delayP99Ms, ownDelayP99Ms].map(ms),
    ...[figures.readyShare, ownReadyShare].map((share) =>
      `${(100 * share).toFixed(0)} %`
    ),
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
      ownDelayP99Ms,
      ownReadyShare,
    },
  });
}

const settings: OverloadSettings = {
  ...{ sloMs: slo, policy, layers, hidden, workers: 1, admits: "in time" },
};

/** Starts a server that lets in who is to be. */
async function started(
  admits: OverloadSettings["admits"],
): Promise<{ server: OverloadedServer; origin: URL }> {
  const server = new OverloadedServer({ ...settings, admits });
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

/** Of refusals: a row for each part. */
const partRows: string[][] = [];

/** Of captures: whether all refusals are in them. */
const captureNotes: string[] = [];

function capture(origin: URL): Promise<Capture> | undefined {
  return isOnWire ? captureWire(Number(origin.port)) : undefined;
}

async function noteParts(
  what: string,
  server: OverloadedServer,
  sent: TimesByNumber,
  capture: Capture | undefined,
): Promise<void> {
  const answered = await server.refusals();
  const captured = await capture?.end();
  const parts = {
    ...refusalParts(sent, answered),
    ...(captured && wireParts(sent, answered, captured)),
  };
  if (captured) {
    const { exchanges, gaps, dropped } = captured;
    const refused = exchanges.filter(({ status }) => status === 503).length;
    captureNotes.push(
      `${what}: ${refused} refusals on the wire of ${
        [...sent.entries()].length
      } that the generator has heard of; ${dropped} packets dropped, ${gaps} gaps`,
    );
  }
  for (const [part, times] of Object.entries(parts)) {
    partRows.push([
      `${what}: ${PART_TITLES[part as keyof typeof PART_TITLES]}`,
      ...[0.5, 0.9, 0.99].map((share) => times.percentile(share).toFixed(2)),
      times.max.toFixed(1),
    ]);
  }
}

async function overload(peak: Peak): Promise<void> {
  const { server, origin } = await started("in time");
  await offer(origin, peak.goodputPerS, 1);
  liveBytes.push(await server.liveBytes());
  await server.figures();
  const { stop, looked } = lookEvery(LOOK_S, server);
  const sent = new TimesByNumber();
  const ratePerS = OVERLOAD * peak.goodputPerS;
  const capturing = await capture(origin);
  const result = await offer(origin, ratePerS, seconds, sent);
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
  await noteParts("10 peaks", server, sent, capturing);
  await server.end();
}

/** Asks for figures while something else happens. */
function lookEvery(
  everyS: number,
  server: OverloadedServer,
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
  const sent = new TimesByNumber();
  const ratePerS = OVERLOAD * peak.goodputPerS;
  const capturing = await capture(origin);
  const result = await offer(origin, ratePerS, COMPARED_S, sent);
  note(what, result, await server.figures(), peak);
  await noteParts(what, server, sent, capturing);
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
  ...["max ms", "loop p99 ms", "client's", "ready", "client's", "MiB"],
];
const table = (titles: readonly string[], rows: { text: string }[][]) =>
  renderTable({
    columns: titles.map((title, i) => ({
      title,
      align: i === 0 ? "left" : "right",
    })),
    rows,
  }, { color: stdoutColor() });
if (json) {
  print(JSON.stringify({ findings, looks, liveBytes, partRows, captureNotes }));
} else {
  print(table(titles, rows));
  print(table(
    ["refusals, from sending", "p50 ms", "p90 ms", "p99 ms", "max ms"],
    partRows.map((row) => row.map((text) => ({ text }))),
  ));
  captureNotes.forEach(print);
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
