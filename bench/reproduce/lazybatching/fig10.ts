/** Fig. 10, Eq. 1 and Eq. 2: the BatchTable over time, and the slack that it is grown by. */
import { letters, staticChain } from "../../../test/policy/static_chain.ts";
import { batchAt } from "../../../test/policy/timeline.ts";
import { lazy } from "../../../src/policy/lazybatching/lazy.ts";
import type { LazyOptions } from "../../../src/policy/lazybatching/lazy_options.ts";
import type { Experiment } from "../experiment.ts";
import { drive, type Example, timelineChart } from "./worked.ts";

const MODEL = staticChain({ cells: letters(8) });

/** Assumption: a request to another network occupies the processor until 2, as Req1's T_wait is 2. */
const BEFORE = staticChain({ name: "before", cells: ["Z"] });
const WAIT = 2;

/** Assumption: Req2 arrives at 3.5 ("while Req1 executes B"), Req3 at 4.5 ("while Req2 executes A"). */
const REQUESTS = [
  { arrivalNs: 0, model: BEFORE },
  { arrivalNs: 0 },
  { arrivalNs: 3.5 },
  { arrivalNs: 4.5 },
];

const SLA = 30;
/** Nodes of one unit each. */
const ALONE = 8;

function run(options: LazyOptions): Example {
  return drive(
    lazy({ profile: () => 1, ...options }),
    [MODEL, BEFORE],
    REQUESTS,
    { latencyNs: (cell) => cell.name === "Z" ? WAIT : 1 },
  );
}

/** Requests are numbered from 1 and the first one only occupies the processor: Req n is n + 1. */
const number = (request: number) => request + 1;

/** When a request entered the table. */
function pushed({ notes }: Example, request: number): number {
  return notes.find(({ op, requests }) =>
    (op === "push" || op === "preempt") &&
    requests.includes(number(request) - 1)
  )?.at ?? NaN;
}

/** The slack that a decision was made with, of its note. */
export function slackOf({ notes }: Example, request: number): number {
  const note = notes.find(({ requests, op }) =>
    op !== "merge" && requests.includes(number(request) - 1)
  );
  return Number(/slack (?:would be )?(-?[\d.]+)/.exec(note?.why ?? "")?.[1]);
}

export const fig10: Experiment = {
  id: "lazybatching.fig10",
  title: "The BatchTable as sub-batches are pushed and merged, and their slack",
  claims: ["LB-08", "LB-09", "LB-10"],
  conditions:
    "LazyBatching on virtual time, eight nodes of one unit, SLA of 30. Assumption: another request occupies the " +
    "processor until 2; Req2 arrives at 3.5, Req3 at 4.5. Slack is read from the notes of the policy's decisions; " +
    'Eq. 2 to the letter is the option elapsedTime: "ignore"',
  run() {
    const agrees = run({ slaNs: Infinity });
    const literal = run({
      slaNs: SLA,
      emptyTable: "check",
      elapsedTime: "ignore",
    });
    const charged = run({ slaNs: SLA });
    const merges = agrees.notes.filter(({ op }) => op === "merge");
    const merged = (i: number, at: number, members: string, node: string) => ({
      name: `merge at ${at}`,
      as: "holds" as const,
      published: `Req${members} go on at ${node}`,
      ours: merges[i]?.at === at &&
        merges[i].why.endsWith(` ${node}`) &&
        `${batchAt(agrees, at)}` ===
          members.split(",").map((one) => number(Number(one))).join(),
      seen: `at ${merges[i]?.at}: ${merges[i]?.why}, requests ${
        (batchAt(agrees, at) ?? []).map((one) => one - 1)
      }`,
    });
    // Req2 is pushed when Req1 is in the table, Req3 when Req1 and Req2 are.
    const sums = [1, 2, 3].map((count) => SLA - (WAIT + count * ALONE));
    return Promise.resolve({
      findings: [
        {
          claim: "LB-08",
          compared: [
            ...[[1, 2], [2, 4], [3, 5]].map(([request, at]) => ({
              name: `Req${request} is pushed`,
              as: "equal" as const,
              published: at,
              ours: pushed(agrees, request),
            })),
            merged(0, 6, "2,3", "B"),
            merged(1, 7, "1,2,3", "C"),
          ],
        },
        {
          claim: "LB-09",
          compared: [{
            name: "slack of Req1",
            as: "equal" as const,
            published: 20,
            ours: slackOf(literal, 1),
          }],
        },
        {
          claim: "LB-10",
          compared: sums.map((published, i) => ({
            name: `slack with ${i + 1} in the table`,
            as: "equal" as const,
            published,
            ours: slackOf(literal, i + 1),
          })),
          note:
            "The rule to the letter. What passes is charged by default, so that time spent on requests that have " +
            "left is not forgotten: see the table, and the experiment on co-located models for what it is for.",
        },
      ],
      charts: [
        timelineChart(
          "LazyBatching, slack always agrees",
          agrees,
          (request) => request === 1 ? "before" : `Req${request - 1}`,
        ),
      ],
      tables: [{
        title: "Slack when a request is pushed",
        columns: [
          "",
          "at",
          "Eq. 2 to the letter",
          "with what has passed charged",
        ],
        rows: [1, 2, 3].map((request) => [
          `Req${request}`,
          pushed(literal, request),
          slackOf(literal, request),
          slackOf(charged, request),
        ]),
      }],
    });
  },
};
