/**
 * Servers of one ONNX file of a BERT beside each other: ours under `cellular` (the default of `shoal serve`), `auto` and
 * `graph`, and two as they are written for Node today: onnxruntime-node behind a batcher with a window, and
 * transformers.js, a text at a time. Each is a process of its own, one at a time, on the machine that the load comes
 * from, too. All answer what the first one answers before anything is measured.
 *
 *     deno task bench:server [--only NAME] [--part full,search] [--slo-ms 500] [--confidence 90] [--quick] [--json]
 *
 * - full: as many requests under way as there are connections; throughput, latency from sending, padding computed.
 * - search: the greatest rate of Poisson arrivals at which p99, from when requests are due, is within the target
 *   (MLPerf's early stopping says when that is shown, at a confidence that is told), and the latencies at that rate.
 *
 * What is left of it at ten times that rate: bench:overload.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import {
  integerOption,
  namesOption,
  numberOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import {
  formatNumber,
  formatShare,
  NO_FIGURE,
} from "../../src/report/format.ts";
import { renderTable, type Table } from "../../src/report/table.ts";
import {
  Client,
  type Counts,
  countsOf,
  type EndpointName,
  ENDPOINTS,
  type Full,
  textsOf,
} from "./measure.ts";
import { percentilesMs } from "./rate_search.ts";
import { MINI, modelFolder, TINY } from "./model_files.ts";
import {
  started,
  type Subject,
  type SubjectOptions,
  SUBJECTS,
} from "./subjects.ts";

const HELP = `bench:server [options]

  --only TEXT,TEXT  servers whose names have one of them
  --part A,B        full, search (default both)
  --endpoint A,B    embeddings, oip (default both)
  --connections N   of full and search (default 64)
  --requests N      of full (default 600)
  --slo-ms MS       target at p99 (default 500; 100 with --quick)
  --confidence N    per cent with which a trial has to show it (default 90: 230 requests; 50 with --quick: 69; MLPerf's 99: 459)
  --from N          requests a second that the search begins with (default: what the server does on all connections)
  --precision N     per cent between a rate that holds and one that does not (default 25)
  --threads N       that compute: our workers or, in a team, threads of one worker; the peers' intra-op threads
                    (default: as many as there are cores)
  --batch N         rows of a batch (default 32; transformers.js has none)
  --window-ms MS    of the peer's batcher (default 5)
  --tokenizer DIR   tokenizer.json and tokenizer_config.json (default: made for the texts that are sent)
  --seed N          (default 1)
  --quick           a small model, short texts and short trials, less than a minute
  --json            the figures as JSON
`;

const PARTS = ["full", "search"];
/** Of a text at most. */
const SENTENCES = 16;
const QUICK_SENTENCES = 4;
/** Answers that are compared. */
const COMPARED = 16;
/** Relative to the greatest value: sums are taken in other orders, through all layers. */
const TOLERANCE = 1e-4;

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
    confidence: { type: "string" },
    precision: { type: "string" },
    from: { type: "string" },
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
    subjects: SUBJECTS.filter(({ name }) =>
      (values.only ?? "").split(",").some((text) => name.includes(text))
    ),
    parts: namesOption("part", values.part, PARTS),
    endpoints: namesOption(
      "endpoint",
      values.endpoint,
      Object.keys(ENDPOINTS),
    ) as EndpointName[],
    connections: number("connections", 64, 10_000),
    requests: number("requests", quick ? 230 : 600, 1_000_000),
    sloMs: number("slo-ms", quick ? 100 : 500, 60_000),
    confidence: number("confidence", quick ? 50 : 90, 99) / 100,
    ...(values.from !== undefined && {
      fromPerS: numberOption("from", values.from, NaN, 1e6),
    }),
    precision: number("precision", quick ? 100 : 25, 100) / 100,
    threads: number("threads", availableParallelism(), 256),
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
  readonly full?: Full & {
    /** Of all tokens computed. */
    readonly paddingShare: number;
    /** Cores that the server's threads kept busy. */
    readonly cores: number;
    /** Those of them on which workers were in tasks; only ours say. */
    readonly coresComputing?: number;
  };
  /** The trial at the greatest rate that holds the target; null: none was found. */
  readonly search?: {
    readonly perS: number;
    /** The least rate that did not. */
    readonly lostPerS: number;
    readonly requests: number;
    /** Of them, not in time. */
    readonly over: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly paddingShare: number;
  } | null;
}

const { seed, connections, sloMs, quick, requests, confidence } = settings;
progress("writing the model");
const options: SubjectOptions = {
  models: modelFolder(quick ? TINY : MINI, seed, settings.tokenizer),
  ...{ threads: settings.threads, batchMax: settings.batchMax },
  ...{ windowMs: settings.windowMs, sloMs },
};
const texts = textsOf(quick ? QUICK_SENTENCES : SENTENCES);
const expected = new Map<EndpointName, readonly Float32Array[]>();
const rows: Row[] = [];
for (const subject of settings.subjects) {
  await subject.prepare?.();
  await using server = await started(subject, options);
  for (const endpoint of settings.endpoints) {
    rows.push(await measure(subject, endpoint, server.origin));
  }
}
if (settings.json) {
  print(JSON.stringify({
    ...{ command: process.argv.slice(2), sloMs, confidence, connections },
    ...{ threads: options.threads, batchMax: options.batchMax, rows },
  }));
} else {
  print(renderTable(tableOf(rows), { color: stdoutColor() }));
  if (settings.parts.includes("search")) {
    print(`rates at p99 with a confidence of ${formatShare(confidence)} %`);
  }
}

async function measure(
  { name }: Subject,
  endpoint: EndpointName,
  origin: string,
): Promise<Row> {
  const { parts } = settings;
  using client = Client.open(origin, endpoint, {
    ...{ connections, texts, seed, confidence },
  });
  compare(name, endpoint, await client.answers(COMPARED));
  // What is compiled and laid out on first use is not measured.
  const warm = await client.full(Math.ceil(requests / 4));
  await countsOf(origin);
  let row: Row = { server: name, endpoint };
  if (parts.includes("full")) {
    const startMs = performance.now();
    const full = await client.full(requests);
    const tookS = (performance.now() - startMs) / 1000;
    const counts = await countsOf(origin);
    row = {
      ...row,
      full: {
        ...full,
        paddingShare: paddingShare(counts),
        cores: counts.cpuS / tookS,
        ...(counts.computingS !== undefined &&
          { coresComputing: counts.computingS / tookS }),
      },
    };
    progress(
      `${name}, ${endpoint}: ${
        formatNumber(full.perS)
      }/s on ${connections} connections`,
    );
  }
  if (parts.includes("search")) {
    const perS = settings.fromPerS ?? (row.full ?? warm).perS;
    row = { ...row, search: await search(name, client, perS) };
  }
  return row;
}

/** @throws Error when a server's answers are not those of the first one that was asked */
function compare(
  name: string,
  endpoint: EndpointName,
  answers: readonly Float32Array[],
): void {
  const first = expected.get(endpoint);
  if (first === undefined) {
    expected.set(endpoint, answers);
    return;
  }
  const largest = Math.max(...first.flatMap((row) => [...row.map(Math.abs)]));
  answers.forEach((row, i) => {
    const isSame = row.length === first[i].length &&
      row.every((value, at) =>
        Math.abs(value - first[i][at]) <= TOLERANCE * largest
      );
    if (!isSame) {
      throw new Error(`${name}, ${endpoint}: answer ${i} is another one`);
    }
  });
}

/** The greatest rate that holds the target, looked for from what the server does with all connections in use. */
async function search(
  name: string,
  client: Client,
  fromPerS: number,
): Promise<Row["search"]> {
  const padding = new Map<number, number>();
  const { best, lostPerS } = await client.search({
    ...{ sloMs, fromPerS, precision: settings.precision },
    async onTrial(perS, holds, result) {
      const { requests, verdict } = result;
      padding.set(perS, paddingShare(await countsOf(client.origin)));
      progress(
        `${name}: ${formatNumber(perS)}/s ${
          holds ? "holds" : "does not hold"
        }, ${verdict!.over} of ${requests} not in time, p99 ${
          formatNumber(percentilesMs(result)[1])
        } ms`,
      );
    },
  });
  if (best === undefined) return null;
  const { ratePerS: perS, result } = best;
  const [p50Ms, p99Ms] = percentilesMs(result);
  return {
    ...{ perS, lostPerS, requests: result.requests, p50Ms, p99Ms },
    over: result.verdict!.over,
    paddingShare: padding.get(perS)!,
  };
}

function paddingShare({ tokens, padding }: Counts): number {
  return padding / (tokens + padding);
}

function tableOf(rows: readonly Row[]): Table {
  const told = (value: number | undefined) => ({
    text: value === undefined ? NO_FIGURE : formatNumber(value),
  });
  return {
    columns: [
      { title: "server", align: "left" },
      { title: "endpoint", align: "left" },
      { title: `req/s at p99 ${sloMs} ms` },
      { title: "not at" },
      { title: "p50 ms" },
      { title: "p99 ms" },
      { title: "padding %" },
      { title: `req/s, ${connections} conn.` },
      { title: "p50 ms" },
      { title: "p99 ms" },
      { title: "padding %" },
      { title: "cores" },
      { title: "computing" },
    ],
    keys: 2,
    rows: rows.map(({ server, endpoint, full, search }) => [
      ...[{ text: server }, { text: endpoint }],
      search === null ? { text: "none" } : told(search?.perS),
      told(search?.lostPerS),
      ...[told(search?.p50Ms), told(search?.p99Ms)],
      { text: formatShare(search?.paddingShare ?? null) },
      ...[told(full?.perS), told(full?.p50Ms), told(full?.p99Ms)],
      { text: formatShare(full?.paddingShare ?? null) },
      ...[told(full?.cores), told(full?.coresComputing)],
    ]),
  };
}
