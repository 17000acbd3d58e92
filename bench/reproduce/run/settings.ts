/** What `deno task reproduce` is asked to do. */
import { ROUNDS_MAX, threadsMax } from "../../../src/cli/limits.ts";
import {
  integerOption,
  seedOption,
  taskSettings,
} from "../../../src/cli/options.ts";
import { parallelism } from "../../../src/engine/wall/runtime.ts";
import type { Paper } from "../registry.ts";
import { chosenExperiments } from "./selection.ts";

const RUNS = 3;

const HELP = `reproduce [options]

Runs the experiments that answer the papers' claims, and puts what was published beside what comes out here:
a tally and a table on stdout, charts and tables in an HTML report. Results are cached by configuration and
code, so a run that was interrupted goes on where it was.

  --only NAMES      comma-separated: an experiment (lazybatching.fig12), a paper (lazybatching) or
                    the experiment that answers a claim (LB-17); default all
  --list            what there is, without running it
  --quick           fewer points and runs
  --full            the papers' sizes on this machine's workers, however long they take
  --seed N          seed of requests and arrivals (default 1)
  --runs N          runs per point (default ${RUNS}; 1 with --quick)
  --jobs N          experiments at once (default: the cores)
  --fresh           compute everything again
  --out DIR         where the report, reproduce.json and the cache go (default shoal-bench/reproduce)
  --json            the whole result as JSON on stdout`;

export interface ReproduceSettings {
  /** Ids of the experiments to run, in the registry's order. */
  readonly experiments: readonly string[];
  readonly list: boolean;
  readonly quick: boolean;
  readonly full: boolean;
  readonly seed: number;
  readonly runs: number;
  readonly jobs: number;
  readonly fresh: boolean;
  readonly out: string;
  readonly json: boolean;
}

/** The program's own arguments; what is wrong with them, help and version end the process. */
export function reproduceSettings(
  papers: readonly Paper[],
): ReproduceSettings {
  return taskSettings({
    name: "reproduce",
    help: HELP,
    options: {
      only: { type: "string" },
      list: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      seed: { type: "string" },
      runs: { type: "string" },
      jobs: { type: "string" },
      fresh: { type: "boolean", default: false },
      out: { type: "string", default: "shoal-bench/reproduce" },
      json: { type: "boolean", default: false },
    },
  }, ({ values: { only, seed, runs, jobs, ...values } }) => ({
    ...values,
    experiments: chosenExperiments(papers, only).map(({ id }) => id),
    seed: seedOption(seed),
    runs: integerOption("runs", runs, values.quick ? 1 : RUNS, {
      min: 1,
      max: ROUNDS_MAX,
    }),
    jobs: integerOption("jobs", jobs, parallelism(), {
      min: 1,
      max: threadsMax(),
    }),
  }));
}
