/** Streams as tables. */
import { nsToMs } from "../../src/base/units.ts";
import type { Table } from "../../src/report/table.ts";
import type { ModelStreams } from "./measure.ts";
import { LINGER_SHARE, OVERHEAD_STREAMS } from "./overhead.ts";
import type { Trial } from "./trial.ts";

/** Streams carried, by model, policy and workers; peers below. */
export function carriedTable(models: readonly ModelStreams[]): Table {
  const rows: Table["rows"][number][] = [];
  for (const { model, periodMs, carried } of models) {
    if (rows.length > 0) rows.push(null);
    for (const { policy, workers, streams, confirmed, half } of carried) {
      const frameUs = (cores: number | undefined) =>
        half === undefined || cores === undefined
          ? "-"
          : (1000 * periodMs * cores / half.streams).toFixed(1);
      rows.push([
        model,
        policy,
        `${workers}`,
        `${streams}`,
        aCore(confirmed)?.toFixed(0) ?? "-",
        confirmed ? confirmed.p999Ms.toFixed(2) : "-",
        frameUs(half?.cores),
        frameUs(half?.mainCores),
        confirmed ? confirmed.disturbedSeconds.toFixed(0) : "-",
      ].map((text) => ({ text })));
    }
  }
  return {
    keys: 3,
    columns: [
      { title: "model", align: "left" },
      { title: "policy", align: "left" },
      {
        title: "workers",
        meaning: "threads that compute besides the engine's; 0: that one does",
      },
      {
        title: "streams",
        meaning:
          "carried in the longer trial: of their frames 99.9 % within a period",
      },
      {
        title: "a core",
        meaning:
          "streams by CPU time of all threads, generator and pushing included",
      },
      { title: "p99.9, ms", meaning: "latency of frames at that load" },
      {
        title: "CPU, us",
        meaning: "CPU time of a frame at half of that load, all threads",
      },
      {
        title: "main, us",
        meaning: "of the engine's thread, which makes and pushes the frames",
      },
      {
        title: "disturbed, s",
        meaning:
          "of that trial, which do not count: other processes had the machine",
      },
    ],
    rows,
  };
}

/** Streams by CPU time of all threads. */
function aCore(trial: Trial | undefined): number | undefined {
  return trial && trial.streams / trial.cores;
}

const WAYS = { each: "one each", one: "one for all", batch: "by hand" };

/** ONNX Runtime's frames and streams. */
export function peersTable(models: readonly ModelStreams[]): Table {
  return {
    keys: 3,
    columns: [
      { title: "model", align: "left" },
      { title: "peer", align: "left" },
      {
        title: "sessions",
        align: "left",
        meaning:
          "of each stream, or one for all, states handed in and out; by hand: frames of as many streams at once as rows",
      },
      { title: "rows" },
      {
        title: "frame, us",
        meaning:
          "best of three rounds; the models alone in one session, no transforms",
      },
      { title: "fit", meaning: "frames of that time that fit into a period" },
      {
        title: "streams",
        meaning:
          "carried with transforms and all in a short trial, 99 % of the frames within a period; one frame after the other in one thread",
      },
      { title: "a core", meaning: "of these, by CPU time of all threads" },
      { title: "p99.9, ms", meaning: "latency of frames at that load" },
      {
        title: "CPU, us",
        meaning:
          "CPU time of a frame at 0.6 of what fits, all threads; by hand, in batches and with nothing else; the median of five rounds in turns with ours",
      },
      {
        title: "ours, us",
        meaning:
          "of ours at 0.6 of what fits in batches of the largest size, under the first policy on the first number of workers",
      },
      {
        title: "over ours",
        meaning:
          "the median of the rounds' ratios; nothing where results differ, as in a batch whose rows share the scales of int8",
      },
    ],
    rows: models.flatMap(({ model, peers }) =>
      peers.map((way) => {
        const { peer, sessions, rows, frameMs, fit, carried, turns } = way;
        return [
          ...[model, peer, WAYS[sessions], `${rows}`],
          ...[
            (1000 * frameMs).toFixed(1),
            `${fit}`,
            `${carried?.streams ?? "-"}`,
          ],
          aCore(carried)?.toFixed(1) ?? "-",
          carried?.p999Ms.toFixed(2) ?? "-",
          turns?.us.toFixed(1) ?? "-",
          turns?.oursUs.toFixed(1) ?? "-",
          turns ? `${turns.ratio.toFixed(2)}x` : way.differs ?? "-",
        ].map((text) => ({ text }));
      })
    ),
  };
}

/** The engine's thread beside a worker. */
export function overheadTable(models: readonly ModelStreams[]): Table {
  const text = (us: number | undefined) => ({ text: us?.toFixed(1) ?? "-" });
  return {
    columns: [
      { title: "model", align: "left" },
      {
        title: "main, us",
        meaning:
          `microseconds of the engine's thread a frame: ${OVERHEAD_STREAMS} streams whose frames are pushed when they are due, one worker`,
      },
      {
        title: "load alone",
        meaning: "of that, the same load with nobody behind it",
      },
      { title: "engine", meaning: "the difference" },
      {
        title: "lingering",
        meaning:
          `the same where results may lie for ${LINGER_SHARE} of a period (lingerMs)`,
      },
      {
        title: "on results",
        meaning: "where each stream pushes when it has its result: no timers",
      },
    ],
    rows: models.map(({ model, overhead }) => {
      const { dueUs, aloneUs, lingerUs, onResultsUs } = overhead;
      const engineUs = (us: number | undefined) =>
        us === undefined || aloneUs === undefined ? undefined : us - aloneUs;
      const engines = [dueUs, lingerUs].map(engineUs);
      return [
        { text: model },
        ...[dueUs, aloneUs, ...engines, onResultsUs].map(text),
      ];
    }),
  };
}

/** What a batch takes, and a stream in memory. */
export function batchesTable(models: readonly ModelStreams[]): Table {
  const sizes = [
    ...new Set(
      models.flatMap(({ profile }) =>
        Object.values(profile).flatMap((curve) => curve.map(([rows]) => rows))
      ),
    ),
  ].sort((a, b) => a - b);
  return {
    columns: [
      { title: "model", align: "left" },
      ...sizes.map((rows, i) => ({
        title: `${rows}`,
        kind: "1, 2 ...",
        ...(i === 0 &&
          { meaning: "microseconds a frame in a batch of so many, all cells" }),
      })),
      {
        title: "heap, B",
        meaning: "bytes of the collector's heap that an open stream takes",
      },
      { title: "state, B", meaning: "bytes of its state" },
    ],
    rows: models.map(({ model, profile, heapBytes, stateBytes }) =>
      [
        model,
        ...sizes.map((rows) => {
          const ns = Object.values(profile).map((curve) =>
            curve.find(([size]) => size === rows)?.[1]
          );
          return ns.every((one) => one !== undefined)
            ? (1000 * nsToMs(ns.reduce((sum, one) => sum + one, 0)) / rows)
              .toFixed(1)
            : "-";
        }),
        heapBytes.toFixed(0),
        `${stateBytes}`,
      ].map((text) => ({ text }))
    ),
  };
}

/** Loads on virtual time. */
export function simulatedTable(models: readonly ModelStreams[]): Table {
  return {
    keys: 2,
    columns: [
      { title: "model", align: "left" },
      { title: "streams", meaning: "on virtual time, with jitter and stalls" },
      { title: "workers", meaning: "as many as they load to 0.7" },
      { title: "late, %", meaning: "frames later than a period" },
      { title: "p99.9, ms", meaning: "virtual latency" },
      { title: "rows", meaning: "of a batch, in the mean" },
      {
        title: "host, us",
        meaning: "time that simulating a frame took: engine and policy",
      },
      { title: "heap, B", meaning: "bytes of the heap a stream" },
    ],
    rows: models.flatMap(({ model, simulated }) =>
      simulated.map((load) =>
        [
          model,
          `${load.streams}`,
          `${load.workers}`,
          (100 * load.late).toFixed(2),
          load.p999Ms.toFixed(2),
          load.rowsMean.toFixed(1),
          load.hostUs.toFixed(1),
          load.heapBytes.toFixed(0),
        ].map((text) => ({ text }))
      )
    ),
  };
}

/** Minutes at eight tenths. */
export function soakTable(models: readonly ModelStreams[]): Table {
  const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  return {
    columns: [
      { title: "model", align: "left" },
      { title: "streams", meaning: "0.8 of those carried" },
      { title: "minutes" },
      { title: "late, %", meaning: "frames later than a period" },
      { title: "p99.9, ms", meaning: "latency of frames" },
      {
        title: "heap, MiB",
        meaning: "of the collector's heap, after a collection: first, last",
      },
      { title: "rss, MiB", meaning: "of the process: first, last" },
      { title: "others, %", meaning: "of the machine, by other processes" },
    ],
    rows: models.flatMap(({ model, soaked }) => {
      if (soaked === undefined) return [];
      const { trial, minutes, memory } = soaked;
      const [first, last] = [memory[0], memory[memory.length - 1]];
      return [[
        model,
        `${trial.streams}`,
        `${minutes}`,
        (100 * trial.late).toFixed(3),
        trial.p999Ms.toFixed(2),
        `${mebibytes(first.heap)}, ${mebibytes(last.heap)}`,
        `${mebibytes(first.rss)}, ${mebibytes(last.rss)}`,
        (100 * trial.others).toFixed(0),
      ].map((text) => ({ text }))];
    }),
  };
}
