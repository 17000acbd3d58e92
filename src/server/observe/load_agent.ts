/**
 * What a load balancer is told of a server: how much it has to do, and whether it takes requests. HAProxy asks by
 * connecting (`agent-check`) and reads a line: the state, and a weight in per cent of the configured one.
 *
 * Source: HAProxy 2.6, Configuration Manual, section 5.2, "agent-check".
 */
import type { HostObserver } from "../host/host_observer.ts";
import type { HostState } from "../host/host_state.ts";

const HALF_AT = 64;

/**
 * Counts a host's requests, as one of its observers, for load balancers.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { connect } from "node:net";
 * import { cellular, lstm } from "@shoal/core";
 * import { EngineHost, listenAgent, LoadAgent, servedTokens } from "@shoal/core/server";
 *
 * const agent = new LoadAgent();
 * const host = await EngineHost.create({
 *   models: [servedTokens(lstm({ hidden: 8, vocabulary: 10 }), { name: "sentences" })],
 *   policy: () => cellular(),
 *   engine: { workers: 0, warmUp: false },
 *   observers: [agent],
 * });
 * const port = await listenAgent(() => agent.line(host.state), { port: 0 });
 * const line = await new Promise((resolve) => connect(port.port, "127.0.0.1").on("data", resolve));
 * assert.equal(`${line}`, "ready up 100%\n");
 * await host.close();
 * assert.equal(agent.line(host.state), "drain\n");
 * await port.close();
 * ```
 */
export class LoadAgent implements HostObserver {
  readonly #halfAt: number;
  #waiting = 0;

  /**
   * An agent that has seen nothing yet.
   * @param options `halfAt`: requests with which the weight is half of an idle server's; default 64, a batch
   * @throws RangeError unless that is a number of them
   */
  constructor({ halfAt = HALF_AT }: { readonly halfAt?: number } = {}) {
    if (!(Number.isInteger(halfAt) && halfAt > 0)) {
      throw new RangeError(`"halfAt" is a number of requests, got ${halfAt}`);
    }
    this.#halfAt = halfAt;
  }

  /** Requests that have come and have not ended. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * A request came.
   * @internal
   */
  arrived(): void {
    this.#waiting++;
  }

  /**
   * It ended.
   * @internal
   */
  ended(): void {
    this.#waiting--;
  }

  /**
   * What a balancer reads: "ready up 50%" of a server that takes requests, the less the more it has; "drain" of one
   * that is about to end, or does not take any more, whose requests under way are let finish.
   */
  line(state: HostState): string {
    if (state !== "serving") return "drain\n";
    const weight = Math.round(
      100 * this.#halfAt / (this.#halfAt + this.#waiting),
    );
    // With a weight of 0 HAProxy would take the server out.
    return `ready up ${Math.max(1, weight)}%\n`;
  }
}
