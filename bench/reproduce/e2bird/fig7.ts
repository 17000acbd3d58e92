import { titanRtxInterference } from "../../../src/cost/published.ts";
import { coRunNs } from "../../../src/cost/shared_capacity.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import { convolutionTime, SHAPES } from "./convolution.ts";

const INFERENCES = 256;
const CONVOLUTIONS = 50;
const WORKERS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** What counts as flat, of the time of one worker. */
const FLAT = 1.1;

/** Host time to launch one kernel. Assumption: the tile model's least time of a kernel, one launch at a time. */
const LAUNCH_NS = 3000;

function totalMs(
  workers: number,
  interference?: (batches: number) => number,
): number {
  const { ns, demand } = convolutionTime(
    "im2col",
    SHAPES[0],
    INFERENCES / workers,
  );
  const ends = coRunNs(
    Array.from(
      { length: workers },
      () => ({ aloneNs: CONVOLUTIONS * ns, demand }),
    ),
    interference,
  );
  return Math.max(...ends) / 1e6;
}

const BY_DEVICE = "FakeNet: 256 inferences as N workers of batch 256 / N";

function run(): Promise<Outcome> {
  const equal = WORKERS.map((workers) => totalMs(workers));
  const interfering = WORKERS.map((workers) =>
    totalMs(workers, titanRtxInterference)
  );
  const launches = WORKERS.map((workers) =>
    workers * CONVOLUTIONS * LAUNCH_NS / 1e6
  );
  const factor = (ms: readonly number[], workers: number) =>
    ms[WORKERS.indexOf(workers)] / ms[0];
  const flat = WORKERS.filter((workers) => workers <= 64)
    .map((workers) => factor(equal, workers));
  const worse = [128, 256].map((workers) => factor(equal, workers));
  const text = (factors: readonly number[]) =>
    factors.map((each) => each.toFixed(2)).join(", ");
  return Promise.resolve({
    findings: [{
      claim: "EB-06",
      compared: [
        {
          name: "1 to 64 workers",
          as: "holds",
          published: "the same time",
          ours: flat.every((each) => each < FLAT && each > 1 / FLAT),
          seen: `${text(flat)} times that of one`,
        },
        {
          name: "128 and 256 workers",
          as: "holds",
          published: "longer",
          ours: worse.every((each) => each > FLAT),
          seen: `${text(worse)} times that of one`,
        },
      ],
      note:
        "The paper's own figures are of two minds: here 64 workers cost nothing, in Fig. 12 many workers of size 1 take " +
        "four times as long.",
      cause: {
        text:
          "a stream costs the simulated device nothing: with what streams cost each other by Fig. 12 the time grows, but " +
          "from 8 workers on; a host that launches one kernel at a time would not be the limit either",
        shownBy: BY_DEVICE,
      },
    }],
    charts: [{
      kind: "lines",
      title: BY_DEVICE,
      x: "workers",
      y: "time, ms",
      logX: true,
      logY: true,
      series: ([
        ["equal sharing", equal],
        ["interference (Fig. 12)", interfering],
        ["launches alone, 3 us each", launches],
      ] as const).map(([name, ms]) => ({
        name,
        points: ms.map((y, i) => ({ x: WORKERS[i], y })),
      })),
    }],
    tables: [],
  });
}

/** Fig. 7, left axis: one large worker or many small ones. */
export const FIG_7: Experiment = {
  id: "e2bird.fig7",
  title: "256 inferences in one worker or in many",
  claims: ["EB-06"],
  conditions:
    "The tile model's Titan RTX, its SMs shared in proportion to what each worker fills; 50 convolutions of 3 x 3 over " +
    "56 x 56 x 64 (assumption) per inference.",
  run,
};
