/** `shoal load`: a server under load, in an open loop. */
import os from "node:os";
import process from "node:process";
import { shorten } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import { nsToMs } from "../base/units.ts";
import { isoNow, wallNs } from "../engine/wall/clock.ts";
import { runtimeName } from "../engine/wall/runtime.ts";
import { timerClock } from "../load/clock.ts";
import { requestsLeast } from "../load/early_stopping.ts";
import { endpointOf, templateBodies } from "../load/endpoints.ts";
import { httpWire, type HttpWireOptions } from "../load/http_wire.ts";
import { loadReport } from "../load/load_report.ts";
import { loadText, trialsTable } from "../load/load_text.ts";
import { type MachineUse, watchMachine } from "../load/machine.ts";
import { type LoadPlan, loadPlan, wireRequests } from "../load/plan.ts";
import type { LoadResult, Target } from "../load/result.ts";
import { runLoad } from "../load/run.ts";
import { searchRate, type Trial } from "../load/search.ts";
import { summarizeLoad } from "../load/summarize.ts";
import { trialEnd } from "../load/trial_end.ts";
import type { LoadClock, Wire, WireAnswer, WireRequest } from "../load/wire.ts";
import { formatCount, formatMs, formatNumber } from "../report/format.ts";
import { renderTable } from "../report/table.ts";
import { writeText } from "./files.ts";
import { LOAD_REQUESTS_MAX } from "./limits.ts";
import { type LoadSettings, loadSettings } from "./load_settings.ts";
import { withoutSecrets } from "./secrets.ts";
import {
  EXIT,
  printBeside,
  progress,
  stdoutColor,
  UsageError,
} from "./terminal.ts";

/** Requests over the target that a trial of a search can bear and still pass. */
const OVER_IN_TRIAL = 2;
/** A rate that is searched for. */
const LEAST_PER_S = 0.1;
const MOST_PER_S = 1e6;
/** Characters of a server's answer that a message repeats. */
const ANSWER_MAX = 300;

/** What a run goes by and over: a test has others. */
export interface LoadMeans {
  readonly clock: LoadClock;
  readonly connect: (options: HttpWireOptions) => Wire;
  readonly watchMachine: () => () => MachineUse;
}

const REAL_MEANS: LoadMeans = {
  clock: timerClock(wallNs),
  connect: httpWire,
  watchMachine: () => watchMachine(wallNs),
};

export async function load(
  args: string[],
  { clock, connect, watchMachine }: LoadMeans = REAL_MEANS,
): Promise<number> {
  const settings = loadSettings(args);
  if (settings === undefined) return EXIT.success;
  const { url, connections, keepAlive } = settings;
  const startedAt = isoNow();
  const wire = connect({ origin: url, connections, keepAlive, clock });
  const stop = new AbortController();
  const onInterrupt = () => {
    progress("stopping; once more ends at once");
    stop.abort();
  };
  process.once("SIGINT", onInterrupt);
  try {
    const bodies = await bodiesOf(settings, wire);
    await probe(wire, bodies[0], settings);
    const given = {
      ...{ settings, clock, watchMachine, wire, bodies },
      stop: stop.signal,
    };
    const { result, trials } = settings.search
      ? await search(given)
      : { result: await run(given, settings.ratePerS), trials: undefined };
    const about = {
      url: url.href,
      command: `shoal load ${args.map(withoutSecrets).join(" ")}`,
      seed: settings.seed,
      started: startedAt,
      cpu: os.cpus()[0]?.model ?? "unknown",
      cores: os.cpus().length,
      runtime: runtimeName(),
    };
    const told = { ...(trials && { trials }) };
    try {
      if (settings.html !== undefined) {
        writeText(settings.html, await loadReport({ result, about, ...told }));
        progress(`report: ${settings.html}`);
      }
    } finally {
      // Of a run that may have been long, for whose report there may be no room any more.
      const say = (text: string) => printBeside([settings.html], text);
      if (settings.json) {
        say(JSON.stringify({ ...about, ...result, ...told }));
      } else {
        if (trials) {
          say(renderTable(trialsTable(trials), { color: stdoutColor() }));
        }
        say(loadText(result, { color: stdoutColor() }));
      }
    }
    const holds = result.verdict?.holds ?? true;
    return result.isValid && holds ? EXIT.success : EXIT.failure;
  } finally {
    process.off("SIGINT", onInterrupt);
    wire.close();
  }
}

interface Given {
  readonly settings: LoadSettings;
  readonly clock: LoadClock;
  readonly watchMachine: LoadMeans["watchMachine"];
  readonly wire: Wire;
  readonly bodies: readonly WireRequest[];
  readonly stop: AbortSignal;
}

async function bodiesOf(
  settings: LoadSettings,
  wire: Wire,
): Promise<WireRequest[]> {
  const { url, protocol, headers, template, texts, seed } = settings;
  const path = url.pathname + url.search;
  const common = {
    path,
    headers,
    texts,
    prng: new Prng(seed).fork("requests"),
  };
  if (template !== undefined) {
    return usage(() =>
      wireRequests({
        ...common,
        method: "POST",
        body: templateBodies(template),
      })
    );
  }
  if (protocol === "raw") {
    return wireRequests({
      ...{ ...common, method: "GET", body: () => "", distinct: 1 },
    });
  }
  const { metadataPath, bodies } = usage(() =>
    endpointOf(protocol, url.pathname)
  );
  const { model, tokensMax, stream, outputs } = settings;
  const metadata = metadataPath &&
    await textOf(wire, metadataPath(url.pathname), settings);
  return usage(() => {
    const body = bodies({
      model,
      tokensMax,
      stream,
      outputs,
      ...(metadata && { metadata }),
    });
    return wireRequests({ ...common, method: "POST", body });
  });
}

async function textOf(
  wire: Wire,
  path: string,
  settings: LoadSettings,
): Promise<string> {
  const request = {
    ...{ method: "GET" as const, path, headers: settings.headers },
    body: new Uint8Array(),
  };
  const answer = await answerTo(request, wire, settings);
  if (answer.status === 200 && answer.error === undefined) {
    return answer.text ?? "";
  }
  throw unanswered(request, settings.url, answer);
}

/** What comes of a request before the run, which is as patient as those in it. */
async function answerTo(
  request: WireRequest,
  wire: Wire,
  { timeoutNs }: LoadSettings,
): Promise<WireAnswer> {
  const ms = Math.ceil(nsToMs(timeoutNs));
  const abandon = AbortSignal.timeout(ms);
  const answer = await wire.send(request, { wantsText: true, abandon });
  return answer.error !== undefined && abandon.aborted
    ? { ...answer, error: `no whole answer within ${ms} ms` }
    : answer;
}

/** What is said of a request whose answer is none to go on with. */
function unanswered(
  { method, path }: WireRequest,
  { origin, host }: URL,
  { status, text = "", error }: WireAnswer,
): UsageError {
  const why = status === 0
    ? `${error}; is the server up, and at ${host}?`
    : error ?? `${status} ${shorten(text, ANSWER_MAX)}`;
  return new UsageError(`${method} ${origin}${path}: ${why}`);
}

/** One request before all others: where every one would fail, there is nothing to measure. */
async function probe(
  wire: Wire,
  request: WireRequest,
  settings: LoadSettings,
): Promise<void> {
  const answer = await answerTo(request, wire, settings);
  const { status, error } = answer;
  if (error === undefined && status < 400) return;
  if (status === 429 || status === 503) return;
  throw unanswered(request, settings.url, answer);
}

/** A run at a rate. With `trial` it ends as soon as it cannot hold its target any more. */
async function run(
  { settings, clock, watchMachine, wire, bodies, stop }: Given,
  ratePerS: number,
  trial?: { seconds: number },
): Promise<LoadResult> {
  const { url, target, connections, timeoutNs, warmUpS, seed } = settings;
  const prng = new Prng(seed);
  const seconds = trial?.seconds ?? settings.seconds;
  const plan = loadPlan({
    arrivals: settings.arrivals(ratePerS),
    ...{ ratePerS, warmUpS, seconds, prng, bodies },
    leaves: settings.leaves,
    leavesWithinNs: settings.leavesWithinNs,
  });
  progress(
    `${formatNumber(ratePerS)}/s for ${formatNumber(warmUpS)} + ${
      formatNumber(seconds)
    } s: ${plan.dueNs.length} requests`,
  );
  if (trial && target) checkEnough(plan, target, ratePerS);
  const end = trial && target && trialEnd(plan, target);
  const machine = watchMachine();
  const ledger = await runLoad(plan, {
    ...{ wire, clock, connections, timeoutNs },
    stop: end ? AbortSignal.any([stop, end.stop]) : stop,
    ...(end && { onEnd: end.onEnd }),
  });
  return summarizeLoad(plan, ledger, {
    ...(target && { target }),
    connections,
    machine: machine(),
    isLocal: /^(localhost|127\.|\[::1\])/.test(url.hostname),
    wasStopped: stop.aborted || end?.stop.aborted === true,
  });
}

/** That a trial can hold its target, whoever leaves: a short trace would be taken for what the server cannot do. */
function checkEnough(
  { arrivals, dueNs, leaveNs, warmUpNs }: LoadPlan,
  { share, confidence }: Target,
  ratePerS: number,
): void {
  const counted =
    dueNs.filter((ns, i) => ns >= warmUpNs && leaveNs[i] === Infinity).length;
  const least = requestsLeast(share, 0, confidence);
  if (counted >= least) return;
  throw new UsageError(
    `${arrivals} has ${counted} requests behind the warm-up at ${
      formatNumber(ratePerS)
    }/s, and a target takes at least ${least}; give a longer trace, or less --warm-up or --leave`,
  );
}

async function search(
  given: Given,
): Promise<{ result: LoadResult; trials: readonly Trial<LoadResult>[] }> {
  const { settings: { ratePerS, search }, stop } = given;
  let tried = 0;
  let cutBy: string | undefined;
  const { best, trials } = await searchRate<LoadResult>({
    ...{ ratePerS, leastPerS: LEAST_PER_S, mostPerS: MOST_PER_S },
    precision: search!.precision,
    trial: async (perS) => {
      try {
        if (tried === 0 || !stop.aborted) {
          const trial = await tryRate(given, perS);
          if (tried++ === 0 || !stop.aborted) return trial;
        }
        cutBy = "it was stopped";
      } catch (error) {
        if (tried === 0 || !(error instanceof UsageError)) throw error;
        cutBy = error.message;
      }
      return undefined;
    },
  });
  const { result } = best ?? trials[trials.length - 1];
  return {
    result: cutBy === undefined ? result : cutShort(result, cutBy),
    trials,
  };
}

/** A trial of a search, and a line about it. */
async function tryRate(
  given: Given,
  perS: number,
): Promise<Omit<Trial<LoadResult>, "ratePerS">> {
  const { settings: { target, seconds, leaves }, stop } = given;
  // Who leaves may tell nothing of the server.
  const least = requestsLeast(target!.share, OVER_IN_TRIAL) / (1 - leaves);
  // A tenth more: the number of arrivals in a time is itself chance.
  const trialS = Math.max(seconds, 1.1 * least / perS);
  if (perS * trialS > LOAD_REQUESTS_MAX) {
    throw new UsageError(
      `A trial at ${formatNumber(perS)}/s takes ${
        formatCount(Math.ceil(perS * trialS))
      } requests, ${formatCount(LOAD_REQUESTS_MAX)} are the most`,
    );
  }
  const result = await run(given, perS, { seconds: trialS });
  const { verdict, checks, requests, ends, latency, isValid } = result;
  const holds = verdict!.holds &&
    checks.every(({ name, ok }) => ok || name === "duration");
  const p99 = latency.find(({ share }) => share === 0.99);
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  progress(
    `${formatNumber(perS)}/s ${
      holds ? "holds" : stop.aborted ? "was stopped" : "does not hold"
    }: p99 ${formatMs(p99?.ns ?? NaN)} ms, ${verdict!.over} of ${
      requests - ends.left
    } not in time${isValid ? "" : `, not valid: ${failed.join(", ")}`}`,
  );
  return { holds, result };
}

/** The best of a search that did not come to its end: greater rates may hold. */
function cutShort(result: LoadResult, why: string): LoadResult {
  const found = `the search ended before its end: ${why}`;
  return {
    ...result,
    checks: result.checks.map((check) =>
      check.name === "whole" ? { name: check.name, ok: false, found } : check
    ),
    isValid: false,
  };
}

/** What the caller's mistake throws, as such. */
function usage<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
