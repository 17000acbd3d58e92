/**
 * Servers of one ONNX file of a BERT beside each other: ours with `cellular` and with `graph`, and one as it is written
 * for Node today (onnxruntime-node behind a batcher with a window). Each is a process of its own, one at a time, on the
 * machine that the load comes from, too.
 *
 *     deno task bench:server [--only NAME] [--part full,search] [--slo-ms 200] [--quick] [--json]
 *
 * - full: as many requests under way as there are connections; throughput, latency from sending, padding computed.
 * - search: the greatest rate of Poisson arrivals at which p99, from when requests are due, is within the target.
 *
 * What is left of it at ten times that rate: bench:overload.
 */
import process from "node:process";
import {
  integerOption,
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { requestsLeast } from "../../src/load/early_stopping.ts";
import { searchRate } from "../../src/load/search.ts";
import { SHARE } from "../../src/load/summarize.ts";
import {
  formatMs,
  formatNumber,
  formatShare,
  NO_FIGURE,
} from "../../src/report/format.ts";
import { renderTable, type Table } from "../../src/report/table.ts";
import {
  Client,
  countsOf,
  type EndpointName,
  ENDPOINTS,
  type Full,
} from "./measure.ts";
import { MINI, modelFolder, TINY } from "./model_files.ts";
import {
  started,
  type Subject,
  type SubjectOptions,
  SUBJECTS,
} from "./subjects.ts";

const HELP = `bench:server [options]

  --only TEXT       servers whose names have it
  --part A,B        full, search (default both)
  --endpoint A,B    embeddings, oip (default both)
  --connections N   of full and search (default 64)
  --requests N      of full (default 800)
  --slo-ms MS       target at p99 (default 500)
  --seconds S       of a trial, and longer where it takes that for enough requests (default 10)
  --threads N       that compute (default 2)
  --batch N         rows of a batch (default 32)
  --window-ms MS    of the peer's batcher (default 5)
  --tokenizer DIR   tokenizer.json and tokenizer_config.json (default: made for the texts that are sent)
  --seed N          (default 1)
  --quick           a small model and short trials
  --json            the figures as JSON
`;

const PARTS = ["full", "search"];
const QUICK_SECONDS = 2;

const settings = taskSettings({
  name: "bench:server",
  help: HELP,
  options: {
    only: { type: "string" },
    part: { type: "string" },
    endpoint: { type: "string" },
    connections: { type: "string" },
    requests: { type: "string" },
    "slo-ms": { type: "string" },
    seconds: { type: "string" },
    threads: { type: "string" },
    batch: { type: "string" },
    "window-ms": { type: "string" },
    tokenizer: { type: "string" },
    seed: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => {
  const { quick } = values;
  const number = (
    name: Exclude<keyof typeof values, "quick" | "json">,
    otherwise: number,
    max: number,
  ) => integerOption(name, values[name], otherwise, { min: 1, max });
  return {
    subjects: SUBJECTS.filter(({ name }) => name.includes(values.only ?? "")),
    parts: namesOption("part", values.part, PARTS),
    endpoints: namesOption(
      "endpoint",
      values.endpoint,
      Object.keys(ENDPOINTS),
    ) as EndpointName[],
    connections: number("connections", 64, 10_000),
    requests: number("requests", quick ? 200 : 800, 1_000_000),
    sloMs: number("slo-ms", 500, 60_000),
    seconds: number("seconds", quick ? QUICK_SECONDS : 10, 3600),
    threads: number("threads", 2, 256),
    batchMax: number("batch", 32, 4096),
    windowMs: number("window-ms", 5, 10_000),
    seed: seedOption(values.seed),
    tokenizer: values.tokenizer,
    ...{ quick, json: values.json },
  };
});

interface Row {
  readonly server: string;
  readonly endpoint: EndpointName;
  readonly full?: Full;
  /** Of all tokens computed. */
  readonly paddingShare?: number;
  /** Greatest rate that holds the target; 0: none was found. */
  readonly holdsPerS?: number;
}

const { seed, connections, sloMs, quick } = settings;
progress("writing the model");
const options: SubjectOptions = {
  models: modelFolder(quick ? TINY : MINI, seed, settings.tokenizer),
  threads: settings.threads,
  ...{ batchMax: settings.batchMax, windowMs: settings.windowMs },
};
const rows: Row[] = [];
for (const subject of settings.subjects) {
  await subject.prepare?.();
  for (const endpoint of settings.endpoints) {
    rows.push(await measure(subject, endpoint));
  }
}
if (settings.json) {
  print(JSON.stringify({ command: process.argv.slice(2), sloMs, rows }));
} else print(renderTable(tableOf(rows), { color: stdoutColor() }));

async function measure(
  subject: Subject,
  endpoint: EndpointName,
): Promise<Row> {
  const { parts, requests } = settings;
  const { name } = subject;
  const row: Row = { server: name, endpoint };
  await using server = await started(subject, options);
  const { origin } = server;
  using client = await Client.open(origin, endpoint, { connections, seed });
  // What is compiled and laid out on first use is not measured.
  const warm = await client.full(Math.ceil(requests / 4));
  await countsOf(origin);
  let holdsPerS: number | undefined;
  let full: Full | undefined;
  let paddingShare: number | undefined;
  if (parts.includes("full")) {
    full = await client.full(requests);
    const { tokens, padding } = await countsOf(origin);
    paddingShare = padding / (tokens + padding);
    progress(
      `${name}, ${endpoint}: ${
        formatNumber(full.perS)
      }/s on ${connections} connections`,
    );
  }
  if (parts.includes("search")) {
    holdsPerS = await search(name, client, 0.7 * (full ?? warm).perS);
  }
  return {
    ...row,
    ...(full && { full, paddingShare: paddingShare! }),
    ...(holdsPerS !== undefined && { holdsPerS }),
  };
}

/** The greatest rate that holds the target, within a tenth. */
async function search(
  name: string,
  client: Client,
  ratePerS: number,
): Promise<number> {
  const { best } = await searchRate({
    ...{ ratePerS, leastPerS: ratePerS / 16, mostPerS: 4 * ratePerS },
    precision: 0.1,
    trial: async (perS) => {
      const enoughS = 1.1 * requestsLeast(SHARE, 2) / perS;
      const result = await client.open(perS, {
        seconds: Math.max(settings.seconds, enoughS),
        warmUpS: 1,
        sloMs,
      });
      const { holds } = result.verdict!;
      progress(
        `${name}: ${formatNumber(perS)}/s ${
          holds ? "holds" : "does not hold"
        }, p99 ${formatMs(result.latency[2].ns)} ms`,
      );
      return { holds, result };
    },
  });
  return best?.ratePerS ?? 0;
}

function tableOf(rows: readonly Row[]): Table {
  const ms = (value: number | undefined) =>
    value === undefined ? NO_FIGURE : formatNumber(value);
  return {
    columns: [
      { title: "server", align: "left" },
      { title: "endpoint", align: "left" },
      { title: `req/s, ${connections} conn.` },
      { title: "p50 ms" },
      { title: "p99 ms" },
      { title: "padding %" },
      { title: `req/s, p99 ${sloMs} ms` },
    ],
    keys: 2,
    rows: rows.map(({ server, endpoint, full, ...rest }) => [
      { text: server },
      { text: endpoint },
      { text: ms(full?.perS) },
      { text: ms(full?.p50Ms) },
      { text: ms(full?.p99Ms) },
      { text: formatShare(rest.paddingShare ?? null) },
      { text: ms(rest.holdsPerS) },
    ]),
  };
}
