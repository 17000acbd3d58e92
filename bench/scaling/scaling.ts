/**
 * What spreading requests over several servers does to their batches, on virtual time.
 *
 *     deno task bench:scaling [--requests N] [--seed N] [--json]
 *
 * A device is the paper's (one step of an LSTM on a V100: 185 us up to 64 rows, 784 us at 512), where batches pay as
 * they do on accelerators; on a device where they pay less, all differences are smaller.
 */
import {
  integerOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, stdoutColor } from "../../src/cli/terminal.ts";
import { msToNs, nsToMs } from "../../src/base/units.ts";
import { LSTM_STEP_V100 } from "../../src/cost/published.ts";
import { formatNumber, formatShare } from "../../src/report/format.ts";
import { renderTable, type Table } from "../../src/report/table.ts";
import {
  capacityPerS,
  deviceLimitPerS,
  simulateServers,
  type SpreadOptions,
} from "./servers.ts";

const HELP = `bench:scaling [--requests N] [--seed N] [--json]

What spreading requests over several servers does to their batches, on virtual time.
`;

const CORPUS = "europarl-v7.de-en";
const SERVERS = [1, 2, 4, 8];
const TARGET_MS = 100;

const { requests, seed, json } = taskSettings({
  name: "bench:scaling",
  help: HELP,
  options: {
    requests: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  requests: integerOption("requests", values.requests, 30_000, {
    min: 1000,
    max: 1_000_000,
  }),
  seed: seedOption(values.seed),
  json: values.json,
}));

const limitPerS = deviceLimitPerS(LSTM_STEP_V100, CORPUS, seed);
const common: Omit<SpreadOptions, "ratePerS" | "servers" | "route"> = {
  ...{ policy: "cellular", batchSizeMax: 512, models: 1, requests, seed },
  ...{ cost: LSTM_STEP_V100, corpus: CORPUS },
};

interface Row {
  readonly table: string;
  readonly policy: string;
  readonly servers: number;
  readonly models: number;
  readonly route: string;
  readonly ratePerS: number;
  readonly meanRows: number;
  readonly deviceMsPerRequest: number;
  readonly padding: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly capacityPerS?: number;
}

function measured(
  table: string,
  options: SpreadOptions,
  withCapacity = false,
): Row {
  const { metrics, deviceNsPerRequest } = simulateServers(options);
  const { policy, servers, models, route, ratePerS } = options;
  return {
    ...{ table, policy, servers, models, route, ratePerS },
    meanRows: metrics.batch.meanRows,
    deviceMsPerRequest: nsToMs(deviceNsPerRequest),
    padding: metrics.paddingShare,
    p50Ms: nsToMs(metrics.latency.p50Ns),
    p99Ms: nsToMs(metrics.latency.p99Ns),
    ...(withCapacity &&
      {
        capacityPerS: capacityPerS(
          options,
          msToNs(TARGET_MS),
          servers * limitPerS,
        ),
      }),
  };
}

const rows: Row[] = [];
// The same load on more servers: half of what one can do.
for (const servers of SERVERS) {
  rows.push(measured("one load, more servers", {
    ...{ ...common, servers, route: "least waiting" },
    ratePerS: limitPerS / 2,
  }));
}
// As much load for each server, whatever their number.
for (const route of ["random", "round robin", "least waiting", "by length"]) {
  for (const policy of ["cellular", "graph"]) {
    rows.push(measured("four servers, routes", {
      ...{ ...common, servers: 4, route, policy },
      ratePerS: 4 * 0.4 * limitPerS,
    }, true));
  }
}
// Several models.
for (const route of ["least waiting", "by model"]) {
  rows.push(measured("four servers, four models", {
    ...{ ...common, servers: 4, models: 4, route },
    ratePerS: 4 * 0.4 * limitPerS,
  }, true));
}

if (json) print(JSON.stringify({ seed, limitPerS, rows }));
else {
  const color = stdoutColor();
  for (const name of new Set(rows.map(({ table }) => table))) {
    print(
      `${name}\n${
        renderTable(tableOf(rows.filter(({ table }) => table === name)), {
          color,
        })
      }\n`,
    );
  }
}

function tableOf(rows: readonly Row[]): Table {
  return {
    columns: [
      { title: "route", align: "left" },
      { title: "policy", align: "left" },
      ...["servers", "models", "rate/s", "rows", "device ms", "padding %"].map(
        (title) => ({ title }),
      ),
      { title: "p50 ms" },
      { title: "p99 ms" },
      { title: `rate/s at p99 ${TARGET_MS}` },
    ],
    keys: 2,
    rows: rows.map((row) => [
      { text: row.route },
      { text: row.policy },
      { text: `${row.servers}` },
      { text: `${row.models}` },
      ...[row.ratePerS, row.meanRows, row.deviceMsPerRequest].map((value) => ({
        text: formatNumber(value),
      })),
      { text: formatShare(row.padding) },
      { text: formatNumber(row.p50Ms) },
      { text: formatNumber(row.p99Ms) },
      { text: formatNumber(row.capacityPerS ?? null) },
    ]),
  };
}
