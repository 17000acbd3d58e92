/** What can be said of a network before anything is batched: times alone, and Algorithm 1's estimate. */
import { Prng } from "../../../src/base/prng.ts";
import { mean } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import { CellGraph } from "../../../src/graph/cell_graph.ts";
import { execTime } from "../../../src/policy/common/exec_time.ts";
import { serial } from "../../../src/policy/baselines/serial.ts";
import type { Request } from "../../../src/policy/request.ts";
import { simulate } from "../simulation.ts";
import type { Network } from "./network.ts";

/** Requests that times are averaged over; those with fixed inputs are all alike. */
const REQUESTS = 300;

function requestsOf({ request, lengths }: Network, seed: number) {
  const prng = new Prng(seed).fork("facts");
  return Array.from({ length: lengths ? REQUESTS : 1 }, () => request(prng));
}

/** Mean time of a request with the device to itself, ns. */
export function aloneNs(network: Network, seed: number): number {
  return mean(
    requestsOf(network, seed).map((arrival) =>
      simulate({ policy: serial(), cost: network.cost, arrivals: [arrival] })
        .meanMs
    ),
  ) * NS_PER_MS;
}

/** Mean of Algorithm 1's estimate, ns. */
export function estimateNs(network: Network, seed: number): number {
  const { cost, decTimesteps } = network;
  return mean(
    requestsOf(network, seed).map(({ model, input }, id) => {
      const graph = new CellGraph<Request>(model);
      model.unfold(input, graph);
      const request: Request = {
        id,
        model,
        graph,
        arrivalNs: 0,
        deadlineNs: Infinity,
        finishNs: Infinity,
        tag: undefined,
      };
      return execTime(request, {
        profile: (cell, rows, extent) => cost.latencyNs(cell, rows, extent),
        decTimesteps,
      }).execNs;
    }),
  );
}
