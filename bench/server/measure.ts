/** Loads of the comparison: texts of 8 to 512 tokens on 64 connections. */
import { Prng } from "../../src/base/prng.ts";
import { msToNs, NS_PER_S, nsToMs } from "../../src/base/units.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { endpointOf } from "../../src/load/endpoints.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { loadPlan, wireRequests } from "../../src/load/plan.ts";
import { runLoad } from "../../src/load/run.ts";
import { SHARE, summarizeLoad } from "../../src/load/summarize.ts";
import type { TextOptions } from "../../src/load/texts.ts";
import type { Wire, WireRequest } from "../../src/load/wire.ts";
import { interval } from "../../src/workload/arrivals.ts";
import { corpusLengths } from "../../src/workload/lengths.ts";
import { MODEL } from "./model_files.ts";
import { HEADER_LENGTH, oipRequests } from "./oip_requests.ts";
import {
  type HeldRate,
  heldRate,
  type RateSearchOptions,
} from "./rate_search.ts";

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
  /** With which percentiles are told, see `Target`. */
  readonly confidence: number;
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
    readonly confidence: number,
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
    { connections, texts, seed, confidence }: ClientOptions,
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
    return new Client(connections, seed, confidence, origin, wire, requests);
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
  async full(count: number): Promise<Full> {
    const { connections, confidence, requests: bodies } = this;
    const ratePerS = AT_ONCE_PER_S;
    const prng = new Prng(this.seed);
    const plan = loadPlan({
      ...{ arrivals: interval({ ratePerS }), ratePerS, prng, bodies },
      ...{ warmUpS: 0, seconds: count / ratePerS },
      ...{ leaves: 0, leavesWithinNs: 0 },
    });
    const ledger = await runLoad(plan, {
      ...{ wire: this.#wire, clock: this.#clock, connections },
      timeoutNs: msToNs(TIMEOUT_MS),
    });
    const result = summarizeLoad(plan, ledger, {
      ...{ connections, isLocal: true, wasStopped: false },
      target: { sloNs: msToNs(TIMEOUT_MS), share: SHARE, confidence },
    });
    const endNs = ledger.endNs.reduce((a, b) => Math.max(a, b), 0);
    const [p50, , p99] = result.service;
    return {
      requests: result.requests,
      failed: result.requests - result.ends.completed,
      perS: result.ends.completed * NS_PER_S / endNs,
      ...{ p50Ms: nsToMs(p50.ns), p99Ms: nsToMs(p99.ns) },
    };
  }

  /** The greatest rate that holds a target, see `heldRate`. */
  search(
    options: Pick<
      RateSearchOptions,
      "sloMs" | "fromPerS" | "precision" | "onTrial"
    >,
  ): Promise<HeldRate> {
    const { connections, seed, confidence, requests: bodies } = this;
    return heldRate({
      ...{ wire: this.#wire, clock: this.#clock, bodies, connections, seed },
      confidence,
      ...{ timeoutMs: TIMEOUT_MS, ...options },
    });
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
