/** Loads of the comparison: texts of 8 to 512 tokens on 64 connections. */
import { Prng } from "../../src/base/prng.ts";
import { msToNs, NS_PER_S, nsToMs } from "../../src/base/units.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { endpointOf, protocolOf } from "../../src/load/endpoints.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { watchMachine } from "../../src/load/machine.ts";
import { loadPlan, wireRequests } from "../../src/load/plan.ts";
import type { LoadResult } from "../../src/load/result.ts";
import { runLoad } from "../../src/load/run.ts";
import { SHARE, summarizeLoad } from "../../src/load/summarize.ts";
import type { TextOptions } from "../../src/load/texts.ts";
import type { Wire, WireRequest } from "../../src/load/wire.ts";
import {
  type Arrivals,
  interval,
  poisson,
} from "../../src/workload/arrivals.ts";
import { corpusLengths } from "../../src/workload/lengths.ts";
import { MODEL } from "./model_files.ts";

/** What is asked of every server. */
export const ENDPOINTS = {
  embeddings: "/v1/embeddings",
  oip: `/v2/models/${MODEL}/infer`,
} as const;
export type EndpointName = keyof typeof ENDPOINTS;

/** One to sixteen sentences of Europarl, up to what the model takes. */
const TEXTS: TextOptions = {
  lengths: corpusLengths("europarl-v7.de-en"),
  sentences: [1, 16],
  // [CLS] and [SEP] come on top.
  tokens: [6, 510],
};

/** Requests that are sent at once are asked for at this rate. */
const AT_ONCE_PER_S = 100_000;
const TIMEOUT_MS = 60_000;

/** As many requests under way as there are connections, until all are answered. */
export interface Full {
  readonly requests: number;
  readonly failed: number;
  /** From the first one sent to the last one answered. */
  readonly perS: number;
  /** From when a request had its connection. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A client of one server's endpoint. */
export class Client implements Disposable {
  readonly #wire: Wire;
  readonly #clock = timerClock(wallNs);

  private constructor(
    readonly connections: number,
    readonly seed: number,
    wire: Wire,
    readonly requests: readonly WireRequest[],
  ) {
    this.#wire = wire;
  }

  /** Makes the requests, of the model's own metadata where the protocol has it. */
  static async open(
    origin: string,
    endpoint: EndpointName,
    { connections, seed }: { connections: number; seed: number },
  ): Promise<Client> {
    const path = ENDPOINTS[endpoint];
    const wire = httpWire({
      ...{ origin: new URL(origin), connections, keepAlive: true },
      clock: { nowNs: wallNs },
    });
    const { metadataPath, bodies } = endpointOf(protocolOf(path), path);
    const metadata = metadataPath && await textAt(wire, metadataPath(path));
    const requests = wireRequests({
      ...{ path, method: "POST", texts: TEXTS, prng: new Prng(seed) },
      headers: { "content-type": "application/json" },
      body: bodies({
        ...{ model: MODEL, tokensMax: 1, stream: false },
        ...(metadata && { metadata }),
      }),
    });
    return new Client(connections, seed, wire, requests);
  }

  /** All requests at once, which wait for a connection: what the server can do, and latency with all of them in use. */
  async full(requests: number): Promise<Full> {
    const ratePerS = AT_ONCE_PER_S;
    const { result, endNs } = await this.#run(interval({ ratePerS }), {
      ...{ ratePerS, seconds: requests / ratePerS, warmUpS: 0, sloMs: 1e6 },
    });
    const [p50, , p99] = result.service;
    return {
      requests: result.requests,
      failed: result.requests - result.ends.completed,
      perS: result.ends.completed * NS_PER_S / endNs,
      ...{ p50Ms: nsToMs(p50.ns), p99Ms: nsToMs(p99.ns) },
    };
  }

  /** An open loop. */
  async open(
    ratePerS: number,
    options: { seconds: number; warmUpS: number; sloMs: number },
  ): Promise<LoadResult> {
    const arrivals = poisson({ ratePerS });
    return (await this.#run(arrivals, { ...options, ratePerS })).result;
  }

  async #run(
    arrivals: Arrivals,
    { ratePerS, seconds, warmUpS, sloMs }: {
      ratePerS: number;
      seconds: number;
      warmUpS: number;
      sloMs: number;
    },
  ): Promise<{ result: LoadResult; endNs: number }> {
    const { connections } = this;
    const prng = new Prng(this.seed);
    const plan = loadPlan({
      ...{ arrivals, ratePerS, warmUpS, seconds, prng },
      ...{ bodies: this.requests, leaves: 0, leavesWithinNs: 0 },
    });
    const machine = watchMachine(wallNs);
    const ledger = await runLoad(plan, {
      ...{ wire: this.#wire, clock: this.#clock, connections },
      timeoutNs: msToNs(TIMEOUT_MS),
    });
    const result = summarizeLoad(plan, ledger, {
      target: { sloNs: msToNs(sloMs), share: SHARE },
      ...{ connections, machine: machine(), isLocal: true },
      ...{ wasStopped: false, prng: prng.fork("blocks") },
    });
    return { result, endNs: ledger.endNs.reduce((a, b) => Math.max(a, b), 0) };
  }

  [Symbol.dispose](): void {
    this.#wire.close();
  }
}

/** What a GET answers. */
async function textAt(wire: Wire, path: string): Promise<string> {
  const body = new Uint8Array();
  const { status, text = "", error } = await wire.send(
    { method: "GET", path, headers: {}, body },
    { wantsText: true },
  );
  if (status !== 200) {
    throw new Error(`GET ${path}: ${error ?? status} ${text}`);
  }
  return text;
}

/** What a server says of itself, since the last time. */
export async function countsOf(origin: string): Promise<Counts> {
  return await (await fetch(`${origin}/counts`)).json() as Counts;
}

/** As the servers of the comparison tell it. */
export interface Counts {
  readonly tokens: number;
  readonly padding: number;
  readonly rss?: number;
  readonly loopDelayP99Ms?: number;
}
