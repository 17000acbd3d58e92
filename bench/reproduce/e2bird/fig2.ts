import { Prng } from "../../../src/base/prng.ts";
import { mean } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import { BASELINES } from "../../../src/policy/baselines/search_window.ts";
import type { Compared } from "../claim.ts";
import type { Context, Experiment, Outcome } from "../experiment.ts";
import { TITAN } from "./device.ts";
import { seedsOf } from "./evaluation.ts";
import { REQUESTS_PER_RATE, WAIT_MS } from "./setup.ts";
import {
  capacityPerS,
  latenciesNs,
  phasesNs,
  type Place,
  type System,
} from "./systems.ts";

const PLACE: Place = { network: "Res152", device: TITAN };
/** Assumption: the figure's rates are not in the text; these are shares of the capacity. */
const SHARES = [0.1, 0.3, 0.5, 0.7, 0.9, 1.1];

const SYSTEMS: readonly System[] = [
  { server: "NO_Wait", waitMs: 0 },
  { server: "OPT_Wait", waitMs: WAIT_MS },
  { server: "Static", waitMs: WAIT_MS },
];

function settings(): Compared[] {
  const equal = (name: string, published: number, ours: number) =>
    ({ name, as: "equal", published, ours }) as const;
  const windowNs = WAIT_MS * NS_PER_MS;
  const [none, tuned, full] = [
    BASELINES.NO_Wait({}),
    BASELINES.OPT_Wait({ windowNs }),
    BASELINES.Static({ windowNs }),
  ];
  return [
    equal("NO_Wait, ms", 0, none.windowNs / NS_PER_MS),
    equal("OPT_Wait, ms", 30, tuned.windowNs / NS_PER_MS),
    equal("largest batch of NO_Wait", 32, none.batchSizeMax),
    equal("largest batch of OPT_Wait", 32, tuned.batchSizeMax),
    equal("batch of Static", 32, full.dummyRows ? full.batchSizeMax : 0),
    equal("requests until the rate rises", 150, REQUESTS_PER_RATE),
  ];
}

async function run(context: Context): Promise<Outcome> {
  const phases = SHARES.map((share) => ({
    ratePerS: share * capacityPerS(PLACE),
    requests: REQUESTS_PER_RATE,
  }));
  const seeds = seedsOf(context, 4);
  const byServer = await Promise.all(
    SYSTEMS.map((system) =>
      context.point(
        { what: "rising rate", system, ...PLACE, phases, seeds },
        () =>
          seeds.map((seed) =>
            Array.from(
              latenciesNs(system, PLACE, phasesNs(phases, new Prng(seed))),
              (ns) => ns / NS_PER_MS,
            )
          ),
      )
    ),
  );
  const meanMs = (server: number, phase: number) =>
    mean(
      byServer[server].map((all) =>
        mean(
          all.slice(
            phase * REQUESTS_PER_RATE,
            (phase + 1) * REQUESTS_PER_RATE,
          ),
        )
      ),
    );
  return {
    findings: [{
      claim: "EB-03",
      compared: settings(),
      note:
        "As in Fig. 2 NO_Wait is best at low load and Static worst. That NO_Wait becomes worse than OPT_Wait at high " +
        "load is not seen: while a batch is computed, as many wait as the next one takes.",
    }],
    charts: [{
      kind: "lines",
      title: "Res152: latency while the rate rises every 150 requests",
      x: "request, by arrival",
      y: "latency, ms",
      series: SYSTEMS.map(({ server }, i) => ({
        name: server,
        points: byServer[i][0].map((y, x) => ({ x: x + 1, y })),
      })),
    }],
    tables: [{
      title: "Mean latency by rate, ms",
      columns: ["rate, /s", ...SYSTEMS.map(({ server }) => server)],
      rows: phases.map(({ ratePerS }, phase) => [
        ratePerS.toFixed(0),
        ...SYSTEMS.map((_, server) => meanMs(server, phase).toFixed(1)),
      ]),
    }],
  };
}

/** Fig. 2: the policies of TensorFlow Serving. */
export const FIG_2: Experiment = {
  id: "e2bird.fig2",
  title: "TensorFlow Serving's policies while the rate rises",
  claims: ["EB-03"],
  conditions:
    "ResNet-152 on a simulated Titan RTX with the latencies of Table 1 and copies of 50 us. Assumption: rates of 10 to " +
    "110 % of what full batches could do.",
  run,
};
