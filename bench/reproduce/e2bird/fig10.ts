import { NS_PER_MS } from "../../../src/base/units.ts";
import type { TaskRecord } from "../../../src/policy/records.ts";
import { nEbird } from "../../../src/policy/e2bird/n_ebird.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { networkCost } from "./device.ts";
import { MODEL } from "./networks.ts";
import { N_EBIRD, STREAMS } from "./setup.ts";

/** What N-Ebird launches for requests that are all there at 0, in order of launch. */
export function launchedAtOnce(requests: number): TaskRecord[] {
  const tasks: TaskRecord[] = [];
  simulate({
    policy: nEbird(N_EBIRD),
    cost: networkCost("Res50", "equal"),
    workers: STREAMS,
    arrivals: Array.from(
      { length: requests },
      () => ({ model: MODEL, input: {}, arrivalNs: 0 }),
    ),
    observer: { task: (_task, record) => void tasks.push(record) },
  });
  return tasks.sort((a, b) => a.id - b.id);
}

const READY = 12;

function run(): Promise<Outcome> {
  const tasks = launchedAtOnce(READY);
  const first = (tasks[0]?.requests ?? []).map((id) => id + 1);
  const rest = (tasks[1]?.requests ?? []).map((id) => id + 1);
  const compose = Array.from({ length: 32 }, (_, i) => i + 1).filter((load) =>
    launchedAtOnce(load).filter(({ startNs }) => startNs === 0)
      .reduce((sum, { rows }) => sum + rows, 0) === load
  );
  const workers = [...N_EBIRD.workers].sort((a, b) => a - b);
  return Promise.resolve({
    findings: [
      {
        claim: "EB-09",
        compared: [
          ...[1, 1, 2, 4, 8, 16].map((published, i) => ({
            name: `worker ${i + 1}`,
            as: "equal" as const,
            published,
            ours: workers[i] ?? 0,
          })),
          {
            name: "sum",
            as: "equal",
            published: 32,
            ours: workers.reduce((sum, size) => sum + size, 0),
          },
          {
            name: "loads of 1 to 32 launched whole at once",
            as: "equal",
            published: 32,
            ours: compose.length,
          },
        ],
      },
      {
        claim: "EB-10",
        compared: [
          {
            name: "first batch",
            as: "equal",
            published: 8,
            ours: tasks[0]?.rows ?? 0,
          },
          {
            name: "second batch",
            as: "equal",
            published: 4,
            ours: tasks[1]?.rows ?? 0,
          },
          {
            name: "who is in which",
            as: "holds",
            published: "the first 8, then the other 4",
            ours: `${first}` === "1,2,3,4,5,6,7,8" &&
              `${rest}` === "9,10,11,12",
            seen: `${first}; ${rest}`,
          },
        ],
      },
    ],
    charts: [{
      kind: "timeline",
      title: "Fig. 10: 12 inputs are ready",
      unit: "ms",
      rows: tasks.map(({ rows, startNs, endNs, requests }) => ({
        name: `worker of ${rows}`,
        spans: [{
          from: startNs / NS_PER_MS,
          to: endNs / NS_PER_MS,
          label: requests.map((id) => id + 1).join(" "),
        }],
      })),
    }],
    tables: [],
  });
}

/** Fig. 10, and the workers that make it work. */
export const FIG_10: Experiment = {
  id: "e2bird.fig10",
  title: "N-Ebird's workers, and 12 inputs that are ready",
  claims: ["EB-09", "EB-10"],
  conditions:
    "N-Ebird on virtual time, all inputs in the pool at 0; batches with ResNet-50's latencies. Assumption: all workers " +
    "are idle, that of 16 is too large for 12.",
  run,
};
