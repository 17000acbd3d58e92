/** What a server keeps to be looked at, and the routes by which it is. */
import {
  checkedOptions,
  type Checks,
  listOf,
  oneOf,
  positive,
  positiveInteger,
} from "../base/checked_options.ts";
import type { HostObserver } from "./host/host_observer.ts";
import { jsonResponse } from "./http/respond.ts";
import type { Context, Protocol } from "./http/route.ts";
import type { TextObserver } from "./http/text_observer.ts";
import { exposition, EXPOSITION_TYPE } from "./observe/exposition.ts";
import { LiveDecisions } from "./observe/live_decisions.ts";
import { PendingRequests } from "./observe/pending_requests.ts";
import { processFigures } from "./observe/process_figures.ts";
import { TritonMetrics } from "./oip/triton_metrics.ts";
import { LiveFeed } from "./page/live_feed.ts";
import { pageProtocol } from "./page/page.ts";
import { ServerMetrics } from "./observe/server_metrics.ts";
import { TeiMetrics } from "./tei/tei_metrics.ts";

/** Servers whose names figures may have as well: Triton, Text Embeddings Inference. */
export type MetricNames = "triton" | "tei";

export const METRIC_NAMES: readonly MetricNames[] = ["triton", "tei"];

/** Options of {@linkcode Monitor}. */
export interface MonitorOptions {
  /** The last requests that can be explained. Default 256. */
  explainMax?: number;
  /** The server's target in milliseconds, which the page shows. */
  sloMs?: number;
  /**
   * Servers under whose names figures are told as well, for dashboards made for them: Triton (`nv_inference_...`), Text
   * Embeddings Inference (`te_...`). Default none.
   */
  compatible?: readonly MetricNames[];
}

const MONITOR_CHECKS: Checks<MonitorOptions> = {
  explainMax: positiveInteger,
  sloMs: positive,
  compatible: listOf(oneOf(METRIC_NAMES)),
};

/**
 * Figures for Prometheus (`GET /metrics`) and the last decisions (`GET /v2/models/M/explain/REQUEST`), and a page that
 * shows what happens (`GET /`): give its observers to the host and itself to the server.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import { createServer, EngineHost, Monitor, servedTokens } from "@shoal/core/server";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });
 * const monitor = new Monitor();
 * const host = await EngineHost.create({
 *   models: [servedTokens(model, { name: "intents" })],
 *   policy: () => cellular(),
 *   engine: { workers: 0, warmUp: false },
 *   observers: monitor.observers,
 * });
 * const server = createServer(host, { monitor });
 * await host.run(host.find("intents"), { tokens: [3, 1, 4] }, { id: "mine" });
 * const get = (path: string) => server.fetch(new Request(`http://localhost${path}`));
 * assert.match(await (await get("/metrics")).text(), /shoal_requests_served_total\{model="intents".*\} 1/);
 * const { launches } = await (await get("/v2/models/intents/explain/mine")).json();
 * assert.equal(launches.length, 4);
 * await server.close();
 * ```
 */
export class Monitor {
  readonly #metrics = new ServerMetrics();
  readonly #decisions: LiveDecisions;
  readonly #feed: LiveFeed;
  readonly #pending: PendingRequests | undefined;
  readonly #triton: TritonMetrics | undefined;
  readonly #tei: TeiMetrics | undefined;

  /** Keeps nothing yet. */
  constructor(options: MonitorOptions = {}) {
    const { explainMax = 256, sloMs, compatible = [] } = checkedOptions(
      "Monitor",
      options,
      MONITOR_CHECKS,
    );
    this.#feed = new LiveFeed(sloMs);
    this.#decisions = new LiveDecisions(explainMax);
    if (compatible.length === 0) return;
    const pending = new PendingRequests();
    this.#pending = pending;
    if (compatible.includes("triton")) {
      this.#triton = new TritonMetrics(this.#metrics, pending);
    }
    if (compatible.includes("tei")) this.#tei = new TeiMetrics(pending);
  }

  /** What its host tells. */
  get observers(): readonly HostObserver[] {
    const own = [this.#metrics, this.#decisions, this.#feed];
    const compatible = [this.#pending, this.#triton, this.#tei];
    return [...own, ...compatible.filter((heard) => heard !== undefined)];
  }

  /**
   * Counts a request that was refused before its body was read.
   * @param path of its route
   */
  refusedUnread(path: string, error: unknown): void {
    this.#metrics.refusedUnread(error);
    this.#tei?.refusedUnread(path, error);
  }

  /** Hears of requests about texts, if anybody asks for what it counts. */
  get texts(): TextObserver | undefined {
    return this.#tei;
  }

  /** Its routes. */
  get protocols(): readonly Protocol[] {
    const routes: Protocol = {
      name: "monitor",
      routes: [
        {
          method: "GET",
          path: "/metrics",
          scope: "infer",
          handle: () =>
            new Response(this.#text(), {
              headers: { "content-type": EXPOSITION_TYPE },
            }),
        },
        {
          method: "GET",
          path: "/v2/models/{model}/explain/{request}",
          scope: "infer",
          handle: (context) => this.#explain(context),
        },
      ],
      errorBody: ({ message }) => ({ error: message }),
    };
    return [routes, pageProtocol(this.#feed)];
  }

  /** Pages that look are told nothing more. */
  close(): void {
    this.#feed.close();
  }

  #text(): string {
    return exposition([
      ...this.#metrics.families,
      ...this.#triton?.families() ?? [],
      ...this.#tei?.families() ?? [],
      ...processFigures(),
    ]);
  }

  #explain({ params, key }: Context): Response {
    return jsonResponse(
      this.#decisions.explain(params["model"], params["request"], key),
    );
  }
}
