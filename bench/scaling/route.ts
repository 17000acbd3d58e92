/** Which server takes a request: what a load balancer in front of several of them knows and does. */
import type { Prng } from "../../src/base/prng.ts";

/** What a balancer is told of a server. */
export interface ServerState {
  /** Requests that it has and has not ended. */
  readonly waiting: number;
}

/** What a balancer may look at of a request. */
export interface RoutedRequest {
  readonly tokens: number;
  /** Which of the models it is for. */
  readonly model: number;
}

/** Chooses a server. */
export type Route = (
  request: RoutedRequest,
  servers: readonly ServerState[],
) => number;

/** How a balancer is made. */
export interface RouteOptions {
  readonly servers: number;
  readonly models: number;
  /** Lengths of requests, as many as it takes to know their distribution. */
  readonly lengths: readonly number[];
  readonly prng: Prng;
}

/** Every way by name: one line adds one. */
export const ROUTES: Readonly<Record<string, (of: RouteOptions) => Route>> = {
  random: ({ prng }) => (_request, servers) => prng.int(servers.length),
  "round robin": () => {
    let next = 0;
    return (_request, servers) => next++ % servers.length;
  },
  "least waiting": ({ prng }) => (_request, servers) =>
    least(servers, servers.map((_, i) => i), prng),
  "by length": byLength,
  "by model": ({ servers: count, models, prng }) => ({ model }, servers) =>
    least(servers, own(model, models, count), prng),
};

/** The one of some with the least waiting; any of those that are equal. */
function least(
  servers: readonly ServerState[],
  among: readonly number[],
  prng: Prng,
): number {
  const fewest = Math.min(...among.map((i) => servers[i].waiting));
  const best = among.filter((i) => servers[i].waiting === fewest);
  return best[prng.int(best.length)];
}

/** Servers of a model: equal parts of all; with fewer servers than models, one that it shares. */
function own(model: number, models: number, servers: number): number[] {
  if (servers <= models) return [model % servers];
  const each = Array.from({ length: servers }, (_, i) => i);
  return each.filter((i) => i % models === model);
}

/** Each server has the lengths of one share of the tokens, from the shortest to the longest. */
function byLength({ servers, lengths }: RouteOptions): Route {
  const sorted = Float64Array.from(lengths).sort();
  const total = sorted.reduce((sum, tokens) => sum + tokens, 0);
  const upTo: number[] = [];
  let sum = 0;
  for (const tokens of sorted) {
    sum += tokens;
    if (sum >= (upTo.length + 1) * total / servers) upTo.push(tokens);
  }
  return ({ tokens }) => {
    const found = upTo.findIndex((most) => tokens <= most);
    return found < 0 ? servers - 1 : Math.min(found, servers - 1);
  };
}
