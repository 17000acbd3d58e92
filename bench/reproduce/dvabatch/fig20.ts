/** Fig. 20: the number of stages, found by eight tries as section 7.1 says. */
import type { ChartData, Experiment } from "../experiment.ts";
import { delayBatch, meanOf, pointOf } from "./evaluation.ts";
import { SERVING_CONDITIONS } from "./fig14.ts";
import { fewestBest } from "./fig19.ts";
import { dva, peakPerS, type Run, runsAt, SETUP } from "./serving.ts";

/** From two on: a model in one piece has no place to enter or leave a batch; it is ZeroBatch on several streams. */
export const TRIES: readonly number[] = [2, 3, 4, 5, 6, 8, 12, 20];
const QUICK_TRIES: readonly number[] = [2, 4, 20];
const TOO_MANY = 20;

const PUBLISHED: Readonly<Record<string, number>> = {
  "BERT base, RTE": 2,
  "LinkNet": 4,
  "ResNet-152": 4,
};

/**
 * What a stage of a batch takes on top in a variant, us: 0.29 ms of a query (section 8.8) over the stages that most
 * networks have here.
 */
const STAGE_US = 290 / 4;

const meanMs = ({ meanMs }: Run) => meanMs;
const TABLE = "Stages: mean latency at high load, ms, and peak";

export const fig20: Experiment = {
  id: "dvabatch.fig20",
  title: "Fig. 20: number of stages",
  claims: ["DV-19"],
  conditions: `${SERVING_CONDITIONS} Best is the lowest mean latency at high ` +
    "load, of equals (0.5 %) the fewest stages. Scheduling costs nothing here; a variant charges every stage of a batch " +
    `${STAGE_US} us.`,
  async run(context) {
    const tries = context.quick ? QUICK_TRIES : TRIES;
    const charts: ChartData[] = [];
    const rows: (string | number)[][] = [];
    const best: { name: string; stages: number; ratio: number }[] = [];
    for (const name of Object.keys(PUBLISHED)) {
      const { peakPerS: delayPeak } = await delayBatch(context, name);
      const rate = SETUP.loads.high * delayPeak;
      for (const stageUs of [0, STAGE_US]) {
        const runs: Run[][] = [];
        const peaks: number[] = [];
        for (const stages of tries) {
          const system = { ...dva(name, { stages }), stageUs };
          runs.push(await runsAt(context, system, name, rate));
          if (stageUs === 0) peaks.push(await peakPerS(context, system, name));
        }
        const latencies = runs.map((one) => meanOf(one, meanMs));
        const stages = fewestBest(tries, latencies);
        const most = latencies[tries.indexOf(TOO_MANY)];
        const what = stageUs === 0 ? "" : `, ${stageUs} us a stage`;
        if (stageUs === 0) {
          const ratio = most / Math.min(...latencies);
          best.push({ name, stages, ratio });
        }
        rows.push([
          `${name}${what}`,
          ...QUICK_TRIES.map((stages) => {
            const i = tries.indexOf(stages);
            const peak = stageUs === 0 ? `, ${peaks[i].toFixed(0)}/s` : "";
            return `${latencies[i].toFixed(1)}${peak}`;
          }),
          stages,
        ]);
        charts.push({
          kind: "lines",
          title: `${name} by stages: mean latency${what}`,
          x: "stages",
          y: "ms",
          series: [{
            name: "mean at high load",
            points: runs.map((one, i) => pointOf(tries[i], one, meanMs)),
          }],
        });
        if (stageUs > 0) continue;
        charts.push({
          kind: "lines",
          title: `${name} by stages: peak`,
          x: "stages",
          y: "requests/s",
          series: [{
            name: "peak",
            points: peaks.map((y, i) => ({ x: tries[i], y })),
          }],
        });
      }
    }
    return {
      findings: [{
        claim: "DV-19",
        compared: [
          ...best.map(({ name, stages }) => ({
            name: `best number of stages, ${name}`,
            as: "equal" as const,
            published: PUBLISHED[name],
            ours: stages,
          })),
          ...best.map(({ name, ratio }) => ({
            name: `${TOO_MANY} stages are too many, ${name}`,
            as: "holds" as const,
            published: "worse than the best",
            ours: ratio > 1.005,
            seen: `mean latency ${ratio.toFixed(2)} times the best's`,
          })),
        ],
        cause: {
          text:
            "More stages give more places to join a batch, and on virtual time they cost nothing. Charged with the overhead that " +
            "the paper measured, 20 are far too many for LinkNet and ResNet-152. BERT gains by more stages whatever they cost, " +
            "because the window of Policy I is the first stage's time.",
          shownBy: TABLE,
        },
      }],
      charts,
      tables: [{
        title: TABLE,
        columns: ["network", ...QUICK_TRIES.map(String), "best of all tries"],
        rows,
      }],
    };
  },
};
