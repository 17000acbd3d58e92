/** What can be said of a network before anything is simulated: times alone, and what Eq. 2 allows. */
import { Prng } from "../../src/base/prng.ts";
import { mean } from "../../src/base/statistics.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { execTime } from "../../src/policy/lazybatching/exec_time.ts";
import type { Request } from "../../src/policy/request.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import type { Network } from "./lazy_networks.ts";
import { simulate } from "../reproduce/simulation.ts";

/** Requests that times are averaged over. */
const REQUESTS = 300;

export interface Facts {
  /** Mean time of a request with the device to itself, ms. */
  readonly aloneMs: number;
  /** Mean of Algorithm 1's estimate, ms. */
  readonly estimateMs: number;
  /** Rows that Eq. 2 allows an SLA of 100 ms, by that estimate and without any wait. */
  readonly rowsBy100Ms: number;
}

export function factsOf(network: Network, seed: number): Facts {
  const prng = new Prng(seed).fork("facts");
  const requests = Array.from(
    { length: REQUESTS },
    () => network.request(prng),
  );
  const alone = requests.map((arrival) =>
    simulate({ policy: serial(), cost: network.cost, arrivals: [arrival] })
      .meanMs
  );
  const estimates = requests.map(({ model, input }, id) => {
    const graph = new CellGraph<Request>(model);
    model.unfold(input, graph);
    const request: Request = {
      id,
      model,
      graph,
      arrivalNs: 0,
      deadlineNs: Infinity,
      tag: undefined,
    };
    return execTime(request, {
      profile: (cell, rows, extent) =>
        network.cost.latencyNs(cell, rows, extent),
      decTimesteps: network.decTimesteps,
    }).execNs / NS_PER_MS;
  });
  const estimateMs = mean(estimates);
  return {
    aloneMs: mean(alone),
    estimateMs,
    rowsBy100Ms: Math.floor(100 / estimateMs),
  };
}
