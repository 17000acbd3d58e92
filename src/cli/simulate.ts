/** `shoal simulate`: policies on virtual time. Equal seed and config give equal bytes. */
import { simulatedEngine } from "../engine/virtual/simulated_engine.ts";
import { driveVirtual } from "../engine/virtual/virtual_driver.ts";
import { Collector } from "../metrics/collector.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { summarize } from "../metrics/summarize.ts";
import { tee } from "../metrics/tee.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import { metricsTable } from "../report/bench_table.ts";
import { renderLegend, renderTable } from "../report/table.ts";
import { submissions } from "./measure.ts";
import { readConfig, type Simulation } from "./simulate_config.ts";
import { readText } from "./files.ts";
import { readOptions, see } from "./options.ts";
import { print, progress, stdoutColor, UsageError } from "./terminal.ts";

const HELP = `shoal simulate --config FILE [--json]

Runs policies on virtual time with a given cost table. The configuration is JSON:

  {
    "seed": 1,
    "model": { "name": "lstm" },
    "policies": [{ "name": "cellular", "options": { "batchSizeMax": 64 } }, { "name": "graph" }],
    "workers": 1,
    "workload": {
      "requests": 10000,
      "arrivals": { "kind": "poisson", "ratePerS": 5000 },
      "lengths": "europarl-v7.de-en"
    },
    "cost": { "tablesNs": { "*": [[1, 50000], [64, 185000], [512, 784000]] } },
    "log": false
  }

"model" may also be {"file": "MODEL.onnx"}, with "size", "sizeMax", "shape", "constant" (lists, as ["NAME=N"]) and "cells"
of what shoal inspect takes as options.
"arrivals" are "poisson", "interval", "at-once", "stepping" or {"kind": "trace", "file": FILE.csv}, a line of
t_seconds,input_tokens,output_tokens for each request, or of t_seconds,count for each interval. Only its times count:
how long requests are is drawn, by "lengths". A policy that is listed twice, with other options, is shown with a number.
A policy of your own is {"module": "./mine.ts", "options": {...}}: the module's default export makes it of the options.
"cost" is {"constantNs": N}, {"tablesNs": {CELL: [[rows, ns], ...]}}, "*" for any cell, or
{"profile": FILE} as shoal profile or shoal npu --profile saved it; a policy's "profile" may be such a FILE, too.
Files are looked for from where the command is run, not from where the configuration lies.
With "log": true, --json lists every decision: what was launched (rows as [request, node]) or waited for, and why.`;

interface Decision {
  readonly atNs: number;
  readonly kind: "launch" | "wait";
  readonly [detail: string]: unknown;
}

export async function simulate(args: string[]): Promise<number> {
  const given = readOptions({
    name: "shoal simulate",
    help: HELP,
    options: {
      config: { type: "string" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return 0;
  const { values } = given;
  if (values.config === undefined) {
    throw new UsageError(`--config FILE is missing${see("shoal simulate")}`);
  }
  const simulation = await readConfig(readText(values.config), values.config);
  const runs = simulation.policies.map(({ name, build }) => {
    progress(`simulating ${simulation.arrivals.length} requests under ${name}`);
    return { policy: name, ...run(simulation, build()) };
  });
  if (values.json) {
    print(JSON.stringify({ seed: simulation.seed, runs }));
  } else {
    const table = metricsTable(runs);
    print(
      `${renderTable(table, { color: stdoutColor() })}\n${
        renderLegend([table])
      }`,
    );
  }
  return 0;
}

function run(
  simulation: Simulation,
  policy: Policy,
): { metrics: Metrics; decisions?: Decision[] } {
  const { model, workers, cost, deadlineNs } = simulation;
  const collector = new Collector();
  const decisions: Decision[] = [];
  const { engine, timeline } = simulatedEngine({
    models: [model],
    policy,
    cost,
    workers,
    observer: simulation.log
      ? tee(collector, decisionLog(decisions))
      : collector,
  });
  const arrivals = submissions(model, simulation.arrivals);
  if (deadlineNs !== undefined) {
    for (const arrival of arrivals) {
      arrival.deadlineNs = arrival.arrivalNs + deadlineNs;
    }
  }
  driveVirtual(engine, timeline, arrivals);
  return {
    metrics: summarize(collector, { workers }),
    ...(simulation.log && { decisions }),
  };
}

function decisionLog(decisions: Decision[]): Observer {
  return {
    decided(atNs, launch, launchId) {
      const { worker, steps, tail, paddedRows, paddedLength } = launch;
      const { release, why, notes = [] } = launch;
      decisions.push({
        atNs,
        kind: "launch",
        launchId,
        worker,
        why,
        steps: steps.map(({ cell, nodes }) => ({
          cell: cell.name,
          rows: nodes.map((
            { graph, index },
          ) => [graph.owner.id, index]),
        })),
        ...(tail && {
          tail: {
            cells: tail.cells.map(({ name }) => name),
            requests: tail.requests.map(({ id }) => id),
          },
        }),
        ...(paddedRows !== undefined && { paddedRows }),
        ...(paddedLength !== undefined && { paddedLength }),
        release,
        ...(notes.length > 0 && { notes }),
      });
    },
    waited(atNs, untilNs, why) {
      decisions.push({
        atNs,
        kind: "wait",
        untilNs,
        ...(why !== undefined && { why }),
      });
    },
  };
}
