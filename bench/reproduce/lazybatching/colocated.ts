/** Section VI-C: four models on one device, and what protects a slow one from a stream of fast ones. */
import { mean } from "../../../src/base/statistics.ts";
import type { Context, Experiment, TableData } from "../experiment.ts";
import { percent } from "../simulation.ts";
import { withCause } from "./cause.ts";
import { POLICIES, WINDOWS } from "./evaluation.ts";
import { type MixRun, mixRun } from "./mix.ts";
import { type NetworkName, workloadOf } from "./networks.ts";
import { graphB, LAZYB, ORACLE, type PolicySpec } from "./policies.ts";

/** Assumption: which four, and in equal shares; the paper names neither. */
const FOUR = ["resnet50", "gnmt", "transformer", "bert"] as const;

/** Requests/s of all four together. */
const RATES = [64, 256, 512, 1024] as const;
const QUICK_RATES = [64, 512] as const;

/** Where rules are switched off one at a time: the four on a busy device. */
const BUSY_RATE = 512;

/** GNMT between a stream of ResNet's: whoever is on top of the stack makes those below wait. */
const STREAM = [
  { network: "gnmt", ratePerS: 10 },
  { network: "resnet50", ratePerS: 800 },
] as const;

const RULES: Readonly<Record<string, PolicySpec>> = {
  "LazyB": LAZYB,
  "slack by exact curves (Oracle)": ORACLE,
  "Eq. 2 to the letter: no time charged": {
    kind: "lazy",
    options: { elapsedTime: "ignore" },
  },
  "and asked of what waits while nothing runs": {
    kind: "lazy",
    options: { elapsedTime: "ignore", emptyTable: "check" },
  },
  "no nested preemption": {
    kind: "lazy",
    options: { nestedPreemption: false },
  },
  "no preemption: GraphB(0)": graphB(0),
  "GraphB(5)": graphB(5),
};

type Mix = readonly {
  readonly network: NetworkName;
  readonly ratePerS: number;
}[];

async function runsOf(
  context: Context,
  networks: Mix,
  policy: PolicySpec,
  seconds: number,
  runs: number,
): Promise<MixRun[]> {
  const results: MixRun[] = [];
  for (let run = 0; run < runs; run++) {
    results.push(await mixRun(context, { networks, policy, seconds }, run));
  }
  return results;
}

const over = (runs: readonly MixRun[], of: (run: MixRun) => number) =>
  mean(runs.map(of));

/** One rule at a time, by network; one run per point. */
async function ruleTable(
  context: Context,
  networks: Mix,
  seconds: number,
): Promise<TableData> {
  const rows: string[][] = [];
  for (const [name, policy] of Object.entries(RULES)) {
    const runs = await runsOf(context, networks, policy, seconds, 1);
    rows.push([
      name,
      ...networks.map((_, i) =>
        `${over(runs, ({ meanMs }) => meanMs[i]).toFixed(1)}; ${
          over(runs, ({ p99Ms }) => p99Ms[i]).toFixed(0)
        }; ${percent(over(runs, ({ late }) => late[i]))}`
      ),
      over(runs, ({ workUs }) => workUs).toFixed(0),
      over(runs, ({ refused }) => refused).toFixed(0),
    ]);
  }
  return {
    title: `One rule at a time: ${
      networks.map(({ network, ratePerS }) =>
        `${workloadOf(network).title} ${ratePerS}/s`
      ).join(", ")
    }; ${seconds} s`,
    columns: [
      "mean; 99th percentile, ms; late at 100 ms",
      ...networks.map(({ network }) => workloadOf(network).title),
      "device time per request, us",
      "refusals",
    ],
    rows,
  };
}

/** Four networks in equal shares. */
function fourAt(ratePerS: number): Mix {
  return FOUR.map((network) => ({
    network,
    ratePerS: ratePerS / FOUR.length,
  }));
}

export const colocated: Experiment = {
  id: "lazybatching.colocated",
  title: "Four co-located models",
  claims: ["LB-25"],
  conditions:
    "ResNet-50, GNMT, Transformer and BERT base in equal shares on one NPU of Table I; the first three at Table II's " +
    "times alone, BERT as modelled. Poisson arrivals of one second, SLA 100 ms. Assumption: the four, and the rates",
  async run(context) {
    const rates = context.quick ? QUICK_RATES : RATES;
    const byPolicy = new Map<string, MixRun[][]>();
    for (const [name, policy] of Object.entries(POLICIES)) {
      const points: MixRun[][] = [];
      for (const rate of rates) {
        points.push(
          await runsOf(context, fourAt(rate), policy, 1, context.runs),
        );
      }
      byPolicy.set(name, points);
    }
    const figure = (policy: string, of: (run: MixRun) => number) =>
      byPolicy.get(policy)!.map((runs) => over(runs, of));
    const latency = ({ allMs }: MixRun) => allMs;
    const throughput = ({ perS }: MixRun) => perS;
    const lazyB = figure("LazyB", latency);
    const slower = WINDOWS.map((window) =>
      mean(figure(window, latency).map((ms, r) => ms / lazyB[r]))
    );
    const served = figure("LazyB", throughput);
    const fewer = WINDOWS.map((window) =>
      mean(figure(window, throughput).map((perS, r) => served[r] / perS))
    );
    const busy = await ruleTable(context, fourAt(BUSY_RATE), 1);
    const title = "Four models: mean latency, ms; requests/s; late at 100 ms";
    return {
      findings: [withCause(
        {
          claim: "LB-25",
          compared: [
            {
              name: "latency, best window",
              as: "gain",
              published: 2.4,
              ours: Math.min(...slower),
            },
            {
              name: "throughput, best window",
              as: "gain",
              published: 1.8,
              ours: Math.min(...fewer),
            },
          ],
          note: `Averaged over the windows ${mean(slower).toFixed(1)}x and ${
            mean(fewer).toFixed(2)
          }x.`,
        },
        "A newcomer stops whoever runs, of whatever network, and only its own network's requests can be caught up " +
          "with: the others' only wait, for no less device time per request than under graph batching. Without nested " +
          "preemption, and more so without any, the same load has shorter latencies. While the device keeps up, " +
          "everybody has the throughput of the arrivals.",
        busy.title,
      )],
      charts: [{
        kind: "lines",
        title: "Mean latency of four co-located models",
        x: "requests/s",
        y: "ms",
        logX: true,
        logY: true,
        series: [...byPolicy.keys()].map((name) => ({
          name,
          points: figure(name, latency).map((y, r) => ({ x: rates[r], y })),
        })),
      }],
      tables: [
        {
          title,
          columns: ["policy", ...rates.map((rate) => `${rate}/s`)],
          rows: [...byPolicy].map(([name, points]) => [
            name,
            ...points.map((runs) =>
              `${over(runs, latency).toFixed(1)}; ${
                over(runs, throughput).toFixed(0)
              }; ${percent(over(runs, ({ late }) => mean(late)))}`
            ),
          ]),
        },
        busy,
        await ruleTable(context, STREAM, context.quick ? 2 : 10),
      ],
    };
  },
};
