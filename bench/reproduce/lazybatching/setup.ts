/** Tables I and II and section V: what the evaluation is made with, beside what is simulated here. */
import { Prng } from "../../../src/base/prng.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Context, Experiment } from "../experiment.ts";
import { aloneNs, estimateNs } from "./alone.ts";
import { costOn, type Device, deviceTitle, TABLE_I } from "./devices.ts";
import {
  AS_MODELLED,
  judged,
  MAIN_NETWORKS,
  RATES,
  titleOf,
} from "./evaluation.ts";
import { SLA_MS } from "./policies.ts";
import type { Network } from "./network.ts";
import {
  networkOn,
  TABLE_II,
  TEST_SET,
  WORDS_MAX,
  workloadOf,
} from "./networks.ts";

const MIB = 2 ** 20;

function equal(name: string, published: number, ours: number) {
  return { name, as: "equal" as const, published, ours };
}

/** What may lie between the modelled NPU and the paper's: the format, the folds, and the sentence. */
const VARIED: readonly Device[] = [
  AS_MODELLED,
  { kind: "npu", format: "int8" },
  { kind: "npu", mode: "causal" },
];
const WORDS = [5, 10, 20, 30];

/** Time alone of a sentence whose translation is as long, ms. */
function sentenceMs(
  name: "gnmt" | "transformer",
  device: Device,
  words: number,
): number {
  const workload = workloadOf(name);
  const network: Network = {
    ...workload,
    lengths: "",
    cost: costOn(device, workload.cellOf),
    request: () => ({
      model: workload.model,
      input: { tokens: new Array<number>(words).fill(3), maxSteps: WORDS_MAX },
      arrivalNs: 0,
      stepsFixed: words,
    }),
  };
  return aloneNs(network, 1) / NS_PER_MS;
}

export const setup: Experiment = {
  id: "lazybatching.setup",
  title: "Device, networks and traffic of the evaluation",
  claims: ["LB-13", "LB-14", "LB-15"],
  conditions:
    `The configuration objects that every simulation here uses. Assumption: lengths of ${TEST_SET} stand for the ` +
    "WMT 2019 news test; bf16, weight-stationary, overlapped folds (docs/npu.md)",
  async run(context: Context) {
    const { seed } = context;
    const alone: number[] = [];
    const estimates: string[][] = [];
    for (const network of MAIN_NETWORKS) {
      for (const device of [AS_MODELLED, judged(network)]) {
        const [aloneMs, estimateMs]: number[] = await context.point(
          { paper: "lazybatching", alone: network, device, seed },
          () => {
            const served = networkOn(network, device, seed);
            return [aloneNs(served, seed), estimateNs(served, seed)]
              .map((ns) => ns / NS_PER_MS);
          },
        );
        if (device === AS_MODELLED) alone.push(aloneMs);
        estimates.push([
          titleOf(network, device),
          aloneMs.toFixed(2),
          estimateMs.toFixed(2),
          `${Math.floor(SLA_MS / estimateMs)}`,
        ]);
      }
    }
    const byWords: (string | number)[][] = [];
    for (const name of ["gnmt", "transformer"] as const) {
      for (const device of VARIED) {
        const row: number[] = await context.point(
          { paper: "lazybatching", sentence: name, device, words: WORDS },
          () => WORDS.map((words) => sentenceMs(name, device, words)),
        );
        byWords.push([
          workloadOf(name).title,
          deviceTitle(device),
          ...row.map((ms) => `${ms.toFixed(1)} ms`),
          `${TABLE_II[name]} ms`,
        ]);
      }
    }
    const sampled = longestOf(seed);
    const { array, dram } = TABLE_I;
    const inClass = (from: number, to: number) =>
      RATES.filter((rate) => rate > from && rate <= to);
    const title = "Time alone by format, folds and sentence";
    return {
      findings: [
        {
          claim: "LB-13",
          compared: [
            equal("rows of the array", 128, array.rows),
            equal("columns of the array", 128, array.cols),
            equal("MHz", 700, TABLE_I.clockHz / 1e6),
            equal("MB for activations", 8, TABLE_I.activationBytes / MIB),
            equal("MB for weights", 4, TABLE_I.weightBytes / MIB),
            equal("memory channels", 8, dram.channels),
            equal("memory latency, cycles", 100, dram.latencyCycles),
            equal("GB/s", 360, dram.bytesPerSecond / 1e9),
          ],
          note:
            "Format, dataflow, vector lanes and accumulators are not in the table: see the preset's assumptions.",
        },
        {
          claim: "LB-14",
          compared: MAIN_NETWORKS.map((network, i) => ({
            name: workloadOf(network).title,
            as: "size" as const,
            published: TABLE_II[network],
            ours: alone[i],
            unit: "ms",
          })),
          note:
            "As modelled. What claims on latency are judged by is the same device with all times scaled to Table " +
            "II's, as these are inputs of the evaluation.",
          cause: {
            text:
              "With one row to multiply, the array takes a weight per column and cycle: every step of GNMT loads all " +
              "weights of its layers, whatever their format. Table II's times are those of sentences of four or five " +
              "words here; the paper names neither the sentence nor the format.",
            shownBy: title,
          },
        },
        {
          claim: "LB-15",
          compared: [
            equal("most words of a sentence", 80, WORDS_MAX),
            {
              name: "longest sentence that was drawn",
              as: "holds",
              published: "at most 80 words",
              ours: sampled <= 80,
              seen: `${sampled} of 10,000`,
            },
            {
              name: "arrivals",
              as: "holds",
              published: "Poisson",
              ours: poisson({ ratePerS: 1 }).name.startsWith("poisson"),
              seen: poisson({ ratePerS: 1 }).name,
            },
            ...([["low", 0, 256], ["medium", 256, 500], [
              "heavy",
              500,
              Infinity,
            ]] as const)
              .map(([name, from, to]) => ({
                name: `${name} traffic, requests/s`,
                as: "holds" as const,
                published: to === Infinity ? `beyond ${from}` : `to ${to}`,
                ours: inClass(from, to).length > 0,
                seen: `simulated at ${inClass(from, to).join(", ")}`,
              })),
          ],
          note:
            `Sentences and their translations are pairs of ${TEST_SET}, not of the WMT 2019 test set, which is not ` +
            "embedded: see the experiment on lengths.",
        },
      ],
      charts: [],
      tables: [{
        title: "Time alone and Algorithm 1's estimate",
        columns: [
          "network, device",
          "alone, ms",
          "estimate, ms",
          `requests that Eq. 2 allows within ${SLA_MS} ms`,
        ],
        rows: estimates,
      }, {
        title,
        columns: [
          "network",
          "device",
          ...WORDS.map((words) => `${words} words`),
          "Table II",
        ],
        rows: byWords,
      }],
    };
  },
};

/** The longer side of the longest of 10,000 sentence pairs. */
function longestOf(seed: number): number {
  const { request } = workloadOf("gnmt");
  const prng = new Prng(seed).fork("longest");
  let longest = 0;
  for (let i = 0; i < 10_000; i++) {
    const { input, stepsFixed = 0 } = request(prng);
    const { tokens } = input as { tokens: readonly number[] };
    longest = Math.max(longest, tokens.length, stepsFixed);
  }
  return longest;
}
