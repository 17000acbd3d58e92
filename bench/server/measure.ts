/** Loads of the comparison: texts of 8 to 512 tokens on 64 connections. */
import { Prng } from "../../src/base/prng.ts";
import { msToNs, NS_PER_S, nsToMs } from "../../src/base/units.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { overMost } from "../../src/load/early_stopping.ts";
import { endpointOf } from "../../src/load/endpoints.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { watchMachine } from "../../src/load/machine.ts";
import { loadPlan, wireRequests } from "../../src/load/plan.ts";
import type { LoadResult } from "../../src/load/result.ts";
import { runLoad, type RunOptions } from "../../src/load/run.ts";
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
import { HEADER_LENGTH, oipRequests } from "./oip_requests.ts";

/** What is asked of every server: texts, and tensors of ids as bytes. */
export const ENDPOINTS = {
  embeddings: "/v1/embeddings",
  oip: `/v2/models/${MODEL}/infer`,
} as const;
export type EndpointName = keyof typeof ENDPOINTS;

/** Sentences of Europarl, up to what the model takes. @param most of a text */
export function textsOf(most: number): TextOptions {
  return {
    lengths: corpusLengths("europarl-v7.de-en"),
    sentences: [1, most],
    // [CLS] and [SEP] come on top.
    tokens: [6, 510],
  };
}

/** How a client is set up. */
export interface ClientOptions {
  readonly connections: number;
  readonly texts: TextOptions;
  readonly seed: number;
}

/** Requests that are told apart. */
const REQUESTS = 2048;
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
    readonly origin: string,
    wire: Wire,
    readonly requests: readonly WireRequest[],
  ) {
    this.#wire = wire;
  }

  /** Makes the requests. */
  static open(
    origin: string,
    endpoint: EndpointName,
    { connections, texts, seed }: ClientOptions,
  ): Client {
    const path = ENDPOINTS[endpoint];
    const wire = httpWire({
      ...{ origin: new URL(origin), connections, keepAlive: true },
      clock: { nowNs: wallNs },
    });
    const made = {
      ...{ path, texts, prng: new Prng(seed) },
      distinct: REQUESTS,
    };
    const requests = endpoint === "oip" ? oipRequests(made) : wireRequests({
      ...made,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: endpointOf("openai", path).bodies(
        { model: MODEL, tokensMax: 1, stream: false },
      ),
    });
    return new Client(connections, seed, origin, wire, requests);
  }

  /** What a server answers to the first requests: rows, as they come. */
  async answers(count: number): Promise<Float32Array[]> {
    return await Promise.all(
      this.requests.slice(0, count).map(async ({ path, ...request }) => {
        const response = await fetch(this.origin + path, {
          ...request,
          body: Uint8Array.from(request.body),
        });
        if (!response.ok) {
          throw new Error(
            `${path}: ${response.status} ${await response.text()}`,
          );
        }
        return await rowOf(response);
      }),
    );
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

  /**
   * An open loop, which stops once more requests were late than the target allows.
   * @param requests that count
   */
  async open(
    ratePerS: number,
    { requests, warmUpS, sloMs }: {
      requests: number;
      warmUpS: number;
      sloMs: number;
    },
  ): Promise<LoadResult> {
    // A run has a few requests less or more than its rate says.
    const most = overMost(2 * requests, SHARE);
    let late = 0;
    const stop = new AbortController();
    const { result } = await this.#run(poisson({ ratePerS }), {
      ...{ ratePerS, warmUpS, sloMs, stop: stop.signal },
      seconds: requests / ratePerS,
      onEnd({ dueNs, endNs }, i) {
        const isLate = endNs[i] - dueNs[i] > msToNs(sloMs);
        if (dueNs[i] < warmUpS * NS_PER_S || !isLate) return;
        if (++late > most) stop.abort();
      },
    });
    return result;
  }

  async #run(
    arrivals: Arrivals,
    { ratePerS, seconds, warmUpS, sloMs, ...options }: {
      ratePerS: number;
      seconds: number;
      warmUpS: number;
      sloMs: number;
    } & Pick<RunOptions, "stop" | "onEnd">,
  ): Promise<{ result: LoadResult; endNs: number }> {
    const { connections } = this;
    const prng = new Prng(this.seed);
    const plan = loadPlan({
      ...{ arrivals, ratePerS, warmUpS, seconds, prng },
      ...{ bodies: this.requests, leaves: 0, leavesWithinNs: 0 },
    });
    const machine = watchMachine(wallNs);
    const ledger = await runLoad(plan, {
      ...{ wire: this.#wire, clock: this.#clock, connections, ...options },
      timeoutNs: msToNs(TIMEOUT_MS),
    });
    const result = summarizeLoad(plan, ledger, {
      target: { sloNs: msToNs(sloMs), share: SHARE },
      ...{ connections, machine: machine(), isLocal: true },
      ...{
        wasStopped: options.stop?.aborted ?? false,
        prng: prng.fork("blocks"),
      },
    });
    return { result, endNs: ledger.endNs.reduce((a, b) => Math.max(a, b), 0) };
  }

  [Symbol.dispose](): void {
    this.#wire.close();
  }
}

/** The row of an answer: base64 in JSON, or bytes behind it. */
async function rowOf(response: Response): Promise<Float32Array> {
  const jsonBytes = response.headers.get(HEADER_LENGTH);
  if (jsonBytes !== null) {
    return new Float32Array(
      (await response.arrayBuffer()).slice(Number(jsonBytes)),
    );
  }
  const { data: [{ embedding }] } = await response.json();
  return new Float32Array(
    Uint8Array.from(atob(embedding), (text) => text.charCodeAt(0)).buffer,
  );
}

/** What a server says of itself, since the last time. */
export async function countsOf(origin: string): Promise<Counts> {
  return await (await fetch(`${origin}/counts`)).json() as Counts;
}

/** As the servers of the comparison tell it. */
export interface Counts {
  /** That were computed for somebody. */
  readonly tokens: number;
  readonly padding: number;
  /** Of all threads. */
  readonly cpuS: number;
  /** Of workers in tasks; only ours say. */
  readonly computingS?: number;
}
