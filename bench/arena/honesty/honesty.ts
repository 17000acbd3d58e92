/**
 * The simulator's honesty: every policy at three loads, as it is predicted from a profile of this machine and as it is
 * over real tensors on this machine's workers, with the same arrivals.
 *
 * Run: deno task arena:measured [--model lstm,bert] [--policy NAMES] [--workers N] [--json]
 */
import { dirname } from "node:path";
import { sizeOption } from "../../../src/cli/bench_settings.ts";
import {
  checkWritable,
  makeFolder,
  writeText,
} from "../../../src/cli/files.ts";
import {
  integerOption,
  namesOption,
  numberOption,
  seedOption,
  taskSettings,
} from "../../../src/cli/options.ts";
import { machineProfile } from "../../../src/cli/planning/machine_profile.ts";
import { printBeside, stdoutColor } from "../../../src/cli/terminal.ts";
import { SIZE_CLASSES } from "../../../src/models/registry.ts";
import { POLICIES } from "../../../src/policy/registry.ts";
import { renderLegend, renderTable } from "../../../src/report/table.ts";
import { keptProfile } from "../../kept_profile.ts";
import { registryNames, WORKLOADS } from "../workloads.ts";
import { compare, type Comparison } from "./compare.ts";
import { comparisonTable, errorTable } from "./tables.ts";

const NAME = "arena:measured";
/** Of the arena's workloads those that are one model of the registry. */
const MODELS = WORKLOADS.filter((name) => registryNames(name).length === 1);

const HELP = `${NAME} [options]

Predicts latencies and goodput of every policy from a profile of this machine, at a quarter, three fifths and nine tenths
of the capacity, measures the same requests on this machine's workers, and prints both. What a profile does not cover is
refused: nothing is extrapolated.

  --model NAMES     ${MODELS.join(", ")}
                    (default: lstm)
  --policy NAMES    ${Object.keys(POLICIES).join(", ")}
  --workers N       worker threads (default 1)
  --size CLASS      how large models are: ${SIZE_CLASSES.join(", ")}
                    (default medium)
  --seconds S       of arrivals in a run (default 1)
  --runs N          of the same requests; what they differ by is no error of a prediction (default 2)
  --seed N          of the profile; requests that are measured are others (default 1)
  --profiles DIR    where profiles are, and are saved that are not there (default build/arena/machine)
  --out FILE        the same as JSON (default build/arena/measured.json)
  --json            prints it
`;

const settings = taskSettings({
  ...{ name: NAME, help: HELP },
  options: {
    model: { type: "string", default: "lstm" },
    policy: { type: "string" },
    workers: { type: "string" },
    size: { type: "string", multiple: true },
    runs: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string" },
    profiles: { type: "string", default: "build/arena/machine" },
    out: { type: "string", default: "build/arena/measured.json" },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  models: namesOption("model", values.model, MODELS),
  policies: namesOption("policy", values.policy, Object.keys(POLICIES)),
  workers: integerOption("workers", values.workers, 1, { min: 1, max: 64 }),
  size: sizeOption(values.size, "medium"),
  runs: integerOption("runs", values.runs, 2, { min: 1, max: 100 }),
  seconds: numberOption("seconds", values.seconds, 1, 600),
  seed: seedOption(values.seed),
  ...{ profiles: values.profiles, out: values.out, json: values.json },
}));

for (const folder of [settings.profiles, dirname(settings.out)]) {
  makeFolder(folder);
}
checkWritable(settings.out);
const comparisons: Comparison[] = [];
for (const model of settings.models) {
  const { size, workers, seed } = settings;
  const file = `${settings.profiles}/${model}-${size}-${workers}-${seed}.json`;
  await keptProfile(file, [
    ...[model, "--size", size, "--workers", `${workers}`, `--seed=${seed}`],
  ]);
  comparisons.push(
    ...await compare({ ...settings, model, profile: machineProfile(file) }),
  );
}
const text = JSON.stringify(comparisons);
writeText(settings.out, text);
const say = (text: string) => printBeside([settings.out], text);
if (settings.json) say(text);
else {
  const tables = [comparisonTable(comparisons), errorTable(comparisons)];
  for (const table of tables) {
    say(renderTable(table, { color: stdoutColor() }));
  }
  say(renderLegend(tables));
}
