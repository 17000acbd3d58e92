/**
 * Fig. 12 and 13: mean latency and throughput over arrival rates, on the three networks of Table II; then with
 * single rules switched off, and on devices that gain nothing or more by batching, to see what makes the
 * difference.
 */
import type {
  ChartData,
  Context,
  Experiment,
  TableData,
} from "../experiment.ts";
import type { Compared, Finding } from "../claim.ts";
import {
  AS_MODELLED,
  figures,
  type Gains,
  gainsOf,
  judged,
  latency,
  MAIN_NETWORKS,
  rateChart,
  type Sweep,
  sweep,
  throughput,
  titleOf,
} from "./evaluation.ts";
import type { Device } from "./devices.ts";
import { workloadOf } from "./networks.ts";
import { ruleTable } from "./rules.ts";
import { SLOWER, slowerTable } from "./slower.ts";
import { withCause } from "./cause.ts";

const LATENCY = { resnet50: 5.3, gnmt: 2.7, transformer: 2.5 } as const;
const THROUGHPUT = { resnet50: 1.1, gnmt: 1.3, transformer: 1.2 } as const;

/** The device on which ResNet's throughput saturates where Fig. 3 has it (see that experiment). */
const CAUSAL: Device = { ...judged("resnet50"), mode: "causal" };

type Main = typeof MAIN_NETWORKS[number];

function finding(
  claim: string,
  published: Readonly<Record<Main, number>>,
  gains: ReadonlyMap<Main, Gains>,
  onCausal: string,
): Finding {
  const compared = MAIN_NETWORKS.map((network): Compared => ({
    name: `${workloadOf(network).title}, best window ${
      gains.get(network)!.bestWindow
    }`,
    as: "gain",
    published: published[network],
    ours: gains.get(network)!.best,
  }));
  const each = MAIN_NETWORKS.map((network) =>
    `${workloadOf(network).title} ${gains.get(network)!.bestOfEach.toFixed(2)}x`
  );
  return {
    claim,
    compared,
    note:
      `Averaged over the rates, over the window that is best overall; over the best of each rate: ${
        each.join(", ")
      }. ResNet-50 with causal folds, where batching gains what Fig. 3 says: ${onCausal}.`,
  };
}

/** LazyB beside the best window at every rate. */
function rateTable(
  swept: Sweep,
  what: "latency" | "throughput",
): TableData {
  const of = what === "latency" ? latency : throughput;
  const unit = what === "latency" ? "Mean latency, ms" : "Requests/s";
  const gains = gainsOf(swept, what);
  const digits = (value: number) => value.toFixed(what === "latency" ? 2 : 0);
  return {
    title: `${unit}: ${titleOf(swept.network, swept.device)}`,
    columns: ["policy", ...swept.rates.map((rate) => `${rate}/s`), "gain"],
    rows: [
      ...[...swept.byPolicy.keys()].map((policy) => [
        policy,
        ...figures(swept, policy, of).map(digits),
        "",
      ]),
      [
        "LazyB against the best window",
        ...gains.byRate.map((gain) => `${gain.toFixed(2)}x`),
        `${gains.best.toFixed(2)}x`,
      ],
    ],
  };
}

async function measure(context: Context) {
  const charts: ChartData[] = [];
  const tables: TableData[] = [];
  const gains = {
    latency: new Map<Main, Gains>(),
    throughput: new Map<Main, Gains>(),
  };
  const show = (swept: Sweep) => {
    charts.push(
      rateChart(swept, "Fig. 12", "mean latency, ms", latency),
      rateChart(swept, "Fig. 13", "requests/s", throughput),
    );
    tables.push(rateTable(swept, "latency"), rateTable(swept, "throughput"));
  };
  for (const network of MAIN_NETWORKS) {
    const swept = await sweep(context, network, judged(network));
    for (const what of ["latency", "throughput"] as const) {
      gains[what].set(network, gainsOf(swept, what));
    }
    show(swept);
    show(await sweep(context, network, AS_MODELLED, { runs: 1 }));
    tables.push(
      await ruleTable(context, network, judged(network), {
        devices: network === "resnet50",
      }),
    );
  }
  const causal = await sweep(context, "resnet50", CAUSAL, { runs: 1 });
  show(causal);
  tables.push(
    await ruleTable(context, "transformer", AS_MODELLED),
    await slowerTable(context, MAIN_NETWORKS),
  );
  return { charts, tables, gains, causal };
}

export const fig12: Experiment = {
  id: "lazybatching.fig12",
  title: "Latency and throughput against the arrival rate",
  claims: ["LB-17", "LB-18"],
  conditions:
    "The NPU of Table I (docs/npu.md), all times scaled to Table II's time alone, which claims are judged by; beside " +
    "it the NPU as modelled, one run per point. SLA 100 ms, at most 64 per batch, Poisson arrivals of one second",
  async run(context) {
    const { charts, tables, gains, causal } = await measure(context);
    const onCausal = (["latency", "throughput"] as const)
      .map((what) => `${gainsOf(causal, what).best.toFixed(2)}x`);
    return {
      findings: [
        finding("LB-17", LATENCY, gains.latency, onCausal[0]),
        withCause(
          finding("LB-18", THROUGHPUT, gains.throughput, onCausal[1]),
          "Whoever serves all that arrives has the throughput of the arrivals: a gain needs a device that one policy " +
            "saturates and the other does not. A slower device at one rate shows where that is, and the figures of the " +
            "NPU as modelled.",
          SLOWER,
        ),
      ],
      charts,
      tables,
    };
  },
};
