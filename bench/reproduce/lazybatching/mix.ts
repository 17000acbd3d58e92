/** Several networks served by one device at once (section VI-C). */
import { Prng } from "../../../src/base/prng.ts";
import { mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import type { VirtualArrival } from "../../../src/engine/virtual/virtual_driver.ts";
import type { Cell } from "../../../src/graph/cell.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Context } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { judged } from "./evaluation.ts";
import type { Network } from "./network.ts";
import { DEC_TIMESTEPS, type NetworkName, networkOn } from "./networks.ts";
import { policyOf, type PolicySpec, SLA_MS } from "./policies.ts";

export interface MixSpec {
  readonly networks: readonly {
    readonly network: NetworkName;
    readonly ratePerS: number;
  }[];
  readonly policy: PolicySpec;
  /** Of arrivals. */
  readonly seconds: number;
}

/** What a run came to, by network in the order of the mix. */
export type MixRun = {
  readonly meanMs: readonly number[];
  readonly p99Ms: readonly number[];
  /** Share over 100 ms. */
  readonly late: readonly number[];
  /** Mean over all requests. */
  readonly allMs: number;
  readonly perS: number;
  readonly workUs: number;
  /** Refusals of slack. */
  readonly refused: number;
};

/** A run of the mix, each network on the device that is judged by. */
export function mixRun(
  context: Context,
  { networks, policy, seconds }: MixSpec,
  run: number,
): Promise<MixRun> {
  const { seed } = context;
  return context.point(
    {
      paper: "lazybatching",
      mix: networks.map(({ network, ratePerS }) => ({
        network,
        device: judged(network),
        ratePerS,
      })),
      policy,
      seconds,
      seed,
      run,
    },
    () => {
      const served = networks.map(({ network }) =>
        networkOn(network, judged(network), seed)
      );
      const prng = new Prng(seed).fork(`run ${run}`);
      const arrivals = networks
        .flatMap(({ ratePerS }, i) =>
          arrivalsOf(served[i], ratePerS, seconds, prng.fork(`network ${i}`))
            .map((arrival) => ({ ...arrival, i }))
        )
        .sort((a, b) => a.arrivalNs - b.arrivalNs);
      const cost = costOf(served);
      const { latenciesNs, meanMs, perS, workUs, ops } = simulate({
        policy: policyOf(policy, {
          profile: (cell, rows, extent) => cost.latencyNs(cell, rows, extent),
          slaMs: SLA_MS,
          decTimesteps: DEC_TIMESTEPS,
        }),
        cost,
        arrivals: arrivals.map(({ i: _, ...arrival }) => arrival),
      });
      const sortedNs = networks.map((_, i) =>
        latenciesNs.filter((_, id) => arrivals[id].i === i).sort()
      );
      return {
        meanMs: sortedNs.map((ns) => mean(ns) / NS_PER_MS),
        p99Ms: sortedNs.map((ns) => percentile(ns, 0.99) / NS_PER_MS),
        late: sortedNs.map((ns) =>
          ns.filter((one) => one > SLA_MS * NS_PER_MS).length / ns.length
        ),
        allMs: meanMs,
        perS,
        workUs,
        refused: ops.refuse ?? 0,
      };
    },
  );
}

function arrivalsOf(
  { request }: Network,
  ratePerS: number,
  seconds: number,
  prng: Prng,
): VirtualArrival[] {
  const inputs = prng.fork("inputs");
  return poisson({ ratePerS })
    .timesNs(Math.round(ratePerS * seconds), prng.fork("arrivals"))
    .map((arrivalNs) => ({ ...request(inputs), arrivalNs }));
}

/** Each network's cells cost what they do on its own. */
function costOf(served: readonly Network[]): CostModel {
  const costs = new Map<Cell, CostModel>();
  for (const { model, cost } of served) {
    for (const cell of model.cells) costs.set(cell, cost);
  }
  return {
    latencyNs: (cell, rows, extents) =>
      costs.get(cell)!.latencyNs(cell, rows, extents),
  };
}
