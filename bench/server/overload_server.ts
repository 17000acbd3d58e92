/**
 * The server of `bench:overload`, in a process of its own: an encoder of texts, with admission by cost or without.
 * Says where it listens on its first line; answers each line "figures" with those since the last one, "live" with what
 * a full collection leaves of the heap, and "refusals" with when each was asked for and given.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { absoluteMs } from "../../src/engine/wall/clock.ts";
import { policyOf } from "../../src/cli/serve/served_policy.ts";
import { bert } from "../../src/mod.ts";
import {
  CostAdmission,
  createServer,
  EngineHost,
  type HostObserver,
  listen,
  Monitor,
  servedTokens,
} from "../../src/server.ts";
import { LogHistogram } from "../soak/histogram.ts";
import { watchLoop } from "../soak/loop_delay.ts";
import { readyMs } from "./ready_ms.ts";
import { TimesByNumber } from "./refusal_parts.ts";

/** What it is started with. */
export interface OverloadSettings {
  readonly sloMs: number;
  /** Of the registry; those that decide by a target have this one, as `shoal serve` has it. */
  readonly policy: string;
  /** By cost and target; or everything waits in the engine; or all is refused without a look, beside a busy thread. */
  readonly admits: "in time" | "everybody" | "nobody";
  readonly layers: number;
  readonly hidden: number;
  readonly workers: number;
}

/** Figures of its process, since they were asked for last. */
export interface OverloadFigures {
  /** Delay of the event loop. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** Of refusals, from when the handler was called to its answer. */
  readonly refusedP50Ms: number;
  readonly refusedP99Ms: number;
  readonly refusedMaxMs: number;
  /** Time that its main thread was ready to run and did not: somebody else had the core. */
  readonly readyShare: number;
  /** At the end. */
  readonly rssBytes: number;
  /** The least that was seen: what collections left. */
  readonly heapBytes: number;
}

const BATCH_SIZE_MAX = 32;

/** Bytes of the heap that are held; NaN without `--expose-gc`. */
function liveBytes(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) return NaN;
  gc();
  return process.memoryUsage().heapUsed;
}

/** Between two looks at memory. */
const LOOK_MS = 100;

/** A thread that computes all the time. */
const SPINS = "data:text/javascript,for (;;);";

/** Watches a server in its own process. */
class Watch {
  readonly #delays = new LogHistogram();
  readonly #refused = new LogHistogram();
  readonly #stopWatching = watchLoop(this.#delays);
  readonly #startMs = performance.now();
  readonly #readyMs = readyMs();
  #heapBytes = Infinity;
  readonly #looking = setInterval(() => {
    this.#heapBytes = Math.min(
      this.#heapBytes,
      process.memoryUsage().heapUsed,
    );
  }, LOOK_MS);

  refused(tookMs: number): void {
    this.#refused.add(tookMs);
  }

  end(): OverloadFigures {
    this.#stopWatching();
    clearInterval(this.#looking);
    return {
      delayP99Ms: this.#delays.percentile(0.99),
      delayMaxMs: this.#delays.max,
      refusedP50Ms: this.#refused.percentile(0.5),
      refusedP99Ms: this.#refused.percentile(0.99),
      refusedMaxMs: this.#refused.max,
      readyShare: (readyMs() - this.#readyMs) /
        (performance.now() - this.#startMs),
      rssBytes: process.memoryUsage().rss,
      heapBytes: this.#heapBytes,
    };
  }
}

async function hostOf(
  { sloMs, policy, admits, layers, hidden, workers }: OverloadSettings,
  observers: readonly HostObserver[],
): Promise<EngineHost> {
  const model = bert({ layers, hidden, heads: hidden / 64, vocabulary: 1000 });
  return await EngineHost.create({
    models: [servedTokens(model, { name: "encoder" })],
    policy: policyOf({
      policy: { name: policy, options: {} },
      max_batch_size: BATCH_SIZE_MAX,
      slo_ms: sloMs,
    }),
    // As `shoal serve` has it.
    engine: { workers, queueMax: 1_000_000, niceness: 10 },
    observers,
    ...(admits === "in time" && {
      admission: new CostAdmission({ sloMs, workers, runningMax: 64 }),
    }),
  });
}

if (import.meta.main) {
  const settings: OverloadSettings = JSON.parse(process.argv[2]);
  const monitor = new Monitor({ sloMs: settings.sloMs });
  const host = await hostOf(settings, monitor.observers);
  const server = createServer(host, { monitor });
  const refusesAll = settings.admits === "nobody";
  if (refusesAll) new Worker(SPINS, { type: "module" });
  let watch = new Watch();
  const refusals = new TimesByNumber();
  const listener = await listen({
    async fetch(request, connection) {
      const calledMs = absoluteMs();
      const response = refusesAll
        ? new Response(null, { status: 503 })
        : await server.fetch(request, connection);
      if (response.status === 503) {
        const answeredMs = absoluteMs();
        watch.refused(answeredMs - calledMs);
        const number = Number(request.headers.get("x-request-id") ?? NaN);
        if (number >= 0) refusals.note(number, calledMs, answeredMs);
      }
      return response;
    },
  }, { port: 0 });
  console.log(listener.url);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "live") console.log(JSON.stringify(liveBytes()));
    else if (line === "refusals") {
      console.log(JSON.stringify([...refusals.entries()]));
    } else {
      console.log(JSON.stringify(watch.end()));
      watch = new Watch();
    }
  }
  watch.end();
  // A thread that never has a turn of its event loop cannot be ended in Deno.
  if (refusesAll) process.exit(0);
  await listener.close(1000);
  await server.close();
}
