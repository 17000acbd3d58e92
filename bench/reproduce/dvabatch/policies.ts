/** Section 7.2: the rules of Policies I to III, read off timelines. */
import {
  dvabatch,
  type DvaBatchOptions,
} from "../../../src/policy/dvabatch/dvabatch.ts";
import type { TaskRecord } from "../../../src/policy/records.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import type { Experiment } from "../experiment.ts";
import { layerModel } from "../layer_model.ts";
import { simulate } from "../simulation.ts";
import { SETUP } from "./serving.ts";

const { batchSizeMax } = SETUP;
const model = layerModel("four operators", ["A", "B", "C", "D"]);

function tasksOf(
  options: DvaBatchOptions,
  latencyNs: (cell: { name: string }, rows: number) => number,
  arrivalsNs: readonly number[],
): TaskRecord[] {
  const tasks: TaskRecord[] = [];
  simulate({
    policy: dvabatch({ batchSizeMax, profile: latencyNs, ...options }),
    cost: { latencyNs },
    workers: 4,
    arrivals: arrivalsNs.map((arrivalNs) => ({ model, input: {}, arrivalNs })),
    observer: { task: (_task, record) => void tasks.push(record) },
  });
  return tasks;
}

export interface Split {
  readonly factor: number;
  /** Of T_remain(64) over T_remain(32). */
  readonly ratio: number;
  readonly sizes: readonly number[];
  /** Every part began when the one before had left. */
  readonly inTurn: boolean;
}

/**
 * 64 queries at once; A takes 1 whatever the batch. The others take 100 up to 32 rows and `factor` times as much beyond.
 */
export function splitAt(factor: number): Split {
  const restNs = (rows: number) => rows > 32 ? 100 * factor : 100;
  const tasks = tasksOf(
    { policy: "II" },
    ({ name }, rows) => name === "A" ? 1 : restNs(rows),
    new Array<number>(batchSizeMax).fill(0),
  );
  const parts = tasks.filter(({ cell }) => cell === "B")
    .sort((a, b) => a.startNs - b.startNs);
  const ends = tasks.filter(({ cell }) => cell === "D").map((t) => t.endNs);
  return {
    factor,
    ratio: restNs(64) / restNs(32),
    sizes: parts.map(({ rows }) => rows),
    inTurn: parts.every(({ startNs }, i) => i === 0 || startNs >= ends[i - 1]),
  };
}

/** The start of a lone query's first run under Policy I, and the first stage's time at bs_max. */
export function windowOfPolicyI(): { waitedNs: number; firstStageNs: number } {
  const latencyNs = ({ name }: { name: string }, rows: number) =>
    name === "A" ? 100 + 3 * rows : 300;
  const [first] = tasksOf({ policy: "I" }, latencyNs, [1000]);
  return {
    waitedNs: first.startNs - 1000,
    firstStageNs: latencyNs({ name: "A" }, batchSizeMax),
  };
}

const QUERIES = 600;

/** Most queries that were in batches at once under Policy I, of many more that come. */
export function mostInFlight(): number {
  const sentence = lstm({ hidden: 1, vocabulary: 2, weights: shapesOnly() });
  let most = 0;
  const inFlight = new Set<number>();
  const lengths = Array.from({ length: QUERIES }, (_, i) => 1 + i * 7 % 40);
  simulate({
    policy: dvabatch({ policy: "I", stages: 1, windowNs: 5, batchSizeMax }),
    cost: { latencyNs: (_cell, rows) => 10 + rows },
    workers: 4,
    arrivals: lengths.map((length) => ({
      model: sentence,
      input: { tokens: new Array<number>(length).fill(1) },
      arrivalNs: 0,
    })),
    observer: {
      decided(_atNs, { notes = [] }) {
        for (const { requests } of notes) {
          for (const id of requests) inFlight.add(id);
        }
        most = Math.max(most, inFlight.size);
      },
      request: (_request, { id }) => void inFlight.delete(id),
    },
  });
  return most;
}

/** Whether a query that comes so long after a batch has begun still stretches it. */
export function stretchesAfter(ns: number, compWaitNs: number): boolean {
  return tasksOf({ policy: "III", compWaitNs }, () => 100, [0, ns])
    .some(({ rows }) => rows === 2);
}

const COMP_WAIT_NS = 150;

export const policies: Experiment = {
  id: "dvabatch.policies",
  title: "Section 7.2: what Policies I to III do",
  claims: ["DV-09", "DV-10"],
  conditions:
    "Policies driven on virtual time over four operators with times of our own, four executors, two buffer pairs, " +
    `bs_max ${batchSizeMax}; what they did is read off the tasks.`,
  run() {
    const splits = [1.5, 1.99, 2, 3].map(splitAt);
    const { waitedNs, firstStageNs } = windowOfPolicyI();
    const most = mostInFlight();
    const waits = [COMP_WAIT_NS - 1, COMP_WAIT_NS, COMP_WAIT_NS + 1];
    const stretched = waits.map((ns) => stretchesAfter(ns, COMP_WAIT_NS));
    const halved = splits.filter(({ sizes }) => sizes.length > 1);
    return Promise.resolve({
      findings: [{
        claim: "DV-09",
        compared: [{
          name: "split exactly when T_remain(64) >= 2 T_remain(32)",
          as: "holds",
          published: "so",
          ours: splits.every(({ ratio, sizes }) =>
            sizes.join() === (ratio >= 2 ? "32,32" : "64")
          ),
          seen: splits.map(({ ratio, sizes }) =>
            `${ratio}: ${sizes.join(" and ")}`
          )
            .join("; "),
        }, {
          name: "the halves run one after the other",
          as: "holds",
          published: "in the serial manner",
          ours: halved.length > 0 && halved.every(({ inTurn }) => inTurn),
          seen:
            `${halved.length} splits with two pairs and four executors, in turn: ${
              halved.map(({ inTurn }) => inTurn)
            }`,
        }],
      }, {
        claim: "DV-10",
        compared: [{
          name: "Policy I's window over the first stage's time at bs_max",
          as: "equal",
          published: 1,
          ours: waitedNs / firstStageNs,
        }, {
          name: "most queries in flight under Policy I",
          as: "holds",
          published: `never more than bs_max, ${batchSizeMax}`,
          ours: most <= batchSizeMax,
          seen: `${most} of ${QUERIES} that come at once`,
        }, {
          name: "stretched until T_comp_wait and not later",
          as: "holds",
          published: "no stretch once a batch is processed for T_comp_wait",
          ours: stretched.join() === "true,true,false",
          seen: waits.map((ns, i) =>
            `${ns} of ${COMP_WAIT_NS}: ${stretched[i] ? "yes" : "no"}`
          ).join(", "),
        }],
        note:
          "The boundary itself is read as still allowed; the paper does not say.",
      }],
      charts: [],
      tables: [{
        title: "Policy II: 64 queries by T_remain(64) / T_remain(32)",
        columns: ["ratio", "sizes behind the first stage", "in turn"],
        rows: splits.map(({ ratio, sizes, inTurn }) => [
          ratio,
          sizes.join(" and "),
          sizes.length > 1 ? `${inTurn}` : "-",
        ]),
      }],
    });
  },
};
