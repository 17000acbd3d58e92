/**
 * Do the tests see what they are for? Every mutant, a small change that breaks a rule, is tried in a copy of
 * the project, and a test that its list names has to fail: `deno task mutants`.
 */
import os from "node:os";
import process from "node:process";
import { stop } from "esbuild";
import { Prng } from "../../src/base/prng.ts";
import {
  integerOption,
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { EXIT, print, progress } from "../../src/cli/terminal.ts";
import { Memory, mutantKey, testKey } from "./memory.ts";
import type { MutantTest } from "./mutant.ts";
import { allMutants, type ListedMutant } from "./registry.ts";
import { jsonOf, tableOf, type Tried } from "./report.ts";
import { type Baseline, Trial, type Verdict } from "./trial.ts";

const HELP = `mutants [--only IDS] [--sample N] [--jobs N] [--list] [--json]

Tries small changes of the project, each of which a test must see; exit code 1 when one stays unseen.
What was killed is remembered in build/mutants until a source that matters changes.

  --only IDS        mutants and areas, separated by commas
  --sample N        only N of them, drawn at random, none that needs the kernels compiled
  --seed S          of the sample, default 1
  --jobs N          copies of the project to try them in, default one for each core
  --fresh           remember nothing
  --list            say what there is, try nothing
  --json            results as JSON
`;

const JOBS_MAX = 64;

const all = await allMutants();

const settings = taskSettings({
  name: "mutants",
  help: HELP,
  options: {
    only: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string" },
    jobs: { type: "string" },
    fresh: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => {
  const { only, sample, seed, jobs } = values;
  const names = all.flatMap(({ id, area }) => [id, area]);
  const chosen = new Set(namesOption("only", only, names));
  const range = { min: 1, max: all.length };
  return {
    ...values,
    chosen: all.filter(({ id, area }) => chosen.has(id) || chosen.has(area)),
    sample: sample === undefined
      ? undefined
      : integerOption("sample", sample, 1, range),
    seed: seedOption(seed),
    jobs: integerOption("jobs", jobs, os.availableParallelism(), {
      min: 1,
      max: JOBS_MAX,
    }),
  };
});

/** Some of them, in their order. */
function drawn(
  mutants: readonly ListedMutant[],
  count: number,
  seed: number,
): readonly ListedMutant[] {
  const prng = new Prng(seed);
  const left = mutants.filter(({ file, builds }) =>
    !file.startsWith("assembly/") && builds === undefined
  );
  const some = new Set<ListedMutant>();
  while (some.size < count && left.length > 0) {
    some.add(left.splice(prng.int(left.length), 1)[0]);
  }
  return mutants.filter((mutant) => some.has(mutant));
}

/** Tries them in as many copies of the project as there are jobs. */
async function tryAll(
  mutants: readonly ListedMutant[],
  { jobs, fresh }: { jobs: number; fresh: boolean },
): Promise<readonly Tried[]> {
  const verdicts = new Memory<Verdict | Baseline>(fresh);
  const results = new Map<ListedMutant, Tried>();
  const waiting: ListedMutant[] = [];
  const report = (mutant: ListedMutant, tried: Tried) => {
    results.set(mutant, tried);
    const by = tried.by === undefined ? "" : `: ${tried.by}`;
    const time = tried.remembered ? "before" : `${tried.seconds.toFixed(1)} s`;
    progress(
      `mutants ${results.size}/${mutants.length}: ${mutant.id} ${tried.outcome}, ${time}${by}`,
    );
  };
  for (const mutant of mutants) {
    const known = verdicts.get(mutantKey(mutant)) as Verdict | undefined;
    if (known === undefined) waiting.push(mutant);
    else report(mutant, { mutant, ...known, remembered: true });
  }
  const underWay = new Map<string, Promise<Baseline>>();
  const baselineOf = (test: MutantTest, trial: Trial): Promise<Baseline> => {
    const key = testKey(test);
    let baseline = underWay.get(key);
    if (baseline === undefined) {
      const known = verdicts.get(key);
      baseline = known ? Promise.resolve(known) : trial.baseline(test);
      baseline.then((found) => {
        if (!known && found.fault === undefined) verdicts.set(key, found);
      });
      underWay.set(key, baseline);
    }
    return baseline;
  };
  const trials: Trial[] = [];
  const clean = () => trials.splice(0).forEach((trial) => trial.remove());
  const interrupted = () => {
    clean();
    process.exit(EXIT.failure);
  };
  process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
  const work = async () => {
    const trial = new Trial();
    trials.push(trial);
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const verdict = await trial.run(next, baselineOf);
      const isKilled = ["killed", "timeout"].includes(verdict.outcome);
      if (isKilled) verdicts.set(mutantKey(next), verdict);
      report(next, { mutant: next, ...verdict, remembered: false });
    }
  };
  try {
    await Promise.all(
      Array.from({ length: Math.min(jobs, waiting.length) }, work),
    );
  } finally {
    clean();
    await stop();
  }
  return mutants.map((mutant) => results.get(mutant)!);
}

const { sample, seed } = settings;
const mutants = sample === undefined
  ? settings.chosen
  : drawn(settings.chosen, sample, seed);
if (settings.list) {
  print(
    settings.json
      ? JSON.stringify(mutants, null, 2)
      : mutants.map(({ id, file, why }) => `${id}  ${file}\n    ${why}`)
        .join("\n"),
  );
} else {
  if (sample !== undefined) progress(`mutants: a sample of seed ${seed}`);
  const tried = await tryAll(mutants, settings);
  print(
    settings.json ? JSON.stringify(jsonOf(tried), null, 2) : tableOf(tried),
  );
  const isSeen = ({ outcome }: Tried) =>
    outcome === "killed" || outcome === "timeout";
  process.exitCode = tried.every(isSeen) ? EXIT.success : EXIT.failure;
}
