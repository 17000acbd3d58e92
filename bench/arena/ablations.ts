/**
 * What each ingredient of `auto` is worth: it is switched off alone, by a change of the source, and plays the arena's
 * cells against the whole. A change that is not found is an error, so that the list follows the code.
 *
 * Run: deno task ablations [--device NAMES] [--seed N] [--json]
 */
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { makeFolder, writeText } from "../../src/cli/files.ts";
import {
  integerOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { print, progress } from "../../src/cli/terminal.ts";
import { mean } from "../../src/base/statistics.ts";
import { POLICIES, type PolicyEntry } from "../../src/policy/registry.ts";
import { arenaSettings } from "./settings.ts";
import { DEVICES } from "./devices.ts";
import { Ground, type Point, valueOf } from "./match.ts";
import { scenarioName } from "./scenario.ts";

const HELP = `ablations [options]

Switches each ingredient of auto off, alone, and compares with the whole: independent arrivals at 0.6 and 1.2 of
the capacity, with a tight target and without one.

  --device NAMES    default npu,gpu,gpu-4
  --requests N      of a run (default 300)
  --seed N          default 1
  --json            the figures as JSON
`;

const STATE = "model_state.ts";
const POLICY = "auto.ts";

/** Ingredients: what they are, and the change that takes each out. */
const ABLATIONS: readonly {
  readonly without: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}[] = [
  {
    without: "sizes by the curve: everybody goes",
    file: STATE,
    from: "sorted.slice(0, rows), why",
    to: "sorted.slice(0, this.batchSizeMax), why",
  },
  {
    without: "those who will come, in a size",
    file: STATE,
    from: "Math.max(size - ns / gapNs, NET * size)",
    to: "size",
  },
  {
    without: "an end to an overload",
    file: STATE,
    from: "const NET = 0.1;",
    to: "const NET = 1e-9;",
  },
  {
    without: "the shortest first: by arrival",
    file: STATE,
    from: "return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;",
    to: "return a.id - b.id || agedNs;",
  },
  {
    without: "ageing",
    file: STATE,
    from: "const AGING = 0.05;",
    to: "const AGING = 0;",
  },
  {
    without: "steps learned: 32",
    file: STATE,
    from: "if (steps > 0) this.#steps.observe(",
    to: "if (steps < 0) this.#steps.observe(",
  },
  {
    without: "steps by what a request brings: their mean",
    file: STATE,
    from: "this.#steps.observe([1, request.tag.brought], steps);",
    to: "this.#steps.observe([1, 0], steps);",
  },
  {
    without: "going together where what is left is a guess",
    file: STATE,
    from: "const GUESSED = 1.5;",
    to: "const GUESSED = 0;",
  },
  {
    without: "going together where workers slow each other down",
    file: STATE,
    from: "return this.#goesTogether(batch) ? undefined : batch;",
    to: "return batch;",
  },
  {
    without: "setting aside who is late already",
    file: STATE,
    from: "now.nowNs + tag.leftNs > tag.dueNs",
    to: "now.nowNs + tag.leftNs > Infinity",
  },
  {
    without: "groups that are in time together: everybody goes",
    file: STATE,
    from: "isLost ? FREE * this.#times(rows) : own",
    to: "isLost ? FREE * this.#times(rows) : Infinity",
  },
  {
    without: "later, denser groups",
    file: STATE,
    from: "from < saved; from = 2 * from + 1",
    to: "from < 0; from++",
  },
  {
    without: "riding along of who is late",
    file: STATE,
    from: "const FREE = 1.01;",
    to: "const FREE = 0;",
  },
  {
    without: "a limit to batches of who is late",
    file: STATE,
    from: "isLost && size > 1 && ns > this.#slackNs / 2",
    to: "false",
  },
  {
    without: "a node that is left of what may grow",
    file: STATE,
    from: '!closed && cell.phase === "decoder" ? ns : 0',
    to: "0",
  },
  {
    without: "a share for each model",
    file: STATE,
    from: "const isOwed = this.#owedNs > OTHERS * takesNs;",
    to: "const isOwed = false;",
  },
];

const AUTO = fileURLToPath(new URL("../../src/policy/auto/", import.meta.url));
const QUICK = { arrivals: "poisson", load: "0.6,1.2", target: "tight,none" };

const { json, requests, ...settings } = taskSettings({
  name: "ablations",
  help: HELP,
  options: {
    device: { type: "string", default: "npu,gpu,gpu-4" },
    workload: { type: "string" },
    requests: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  ...arenaSettings({
    ...QUICK,
    device: values.device,
    workload: values.workload,
  }),
  json: values.json,
  seed: seedOption(values.seed),
  requests: integerOption("requests", values.requests, 300, {
    min: 20,
    max: 1e5,
  }),
}));

/** `auto` with a change, in a folder of its own. */
async function changed(
  { file, from, to }: (typeof ABLATIONS)[number],
  index: number,
): Promise<PolicyEntry["build"]> {
  const folder = `build/ablations/${index}`;
  makeFolder(folder);
  for (const name of [POLICY, STATE]) {
    const text = readFileSync(`${AUTO}${name}`, "utf8");
    if (name === file && text.split(from).length !== 2) {
      throw new Error(`"${from}" is not in ${name} exactly once`);
    }
    const source = name === file ? text.replace(from, () => to) : text;
    const above = pathToFileURL(`${AUTO}..`).href;
    const further = pathToFileURL(`${AUTO}../..`).href;
    writeText(
      `${folder}/${name}`,
      source.replaceAll(`from "../../`, `from "${further}/`)
        .replaceAll(`from "../`, `from "${above}/`),
    );
  }
  const url = pathToFileURL(`${folder}/${POLICY}`).href;
  return ((await import(url)) as { auto: PolicyEntry["build"] }).auto;
}

/** How far a policy is ahead of `auto` as it is: above 1 it does worse without the ingredient. */
const ratios = new Map<string, number[]>();
const worst = new Map<string, { ratio: number; where: string }>();
const entry = POLICIES.auto as { build: PolicyEntry["build"] };
const whole = entry.build;
const variants = await Promise.all(ABLATIONS.map(changed));
const point: Point = (_key, compute) => Promise.resolve(compute());
for (
  const device of settings.devices.filter((name) => !DEVICES[name].isMeasured)
) {
  for (const workload of settings.workloads) {
    const ground = new Ground(
      { device, workload },
      undefined,
      { requests, runs: 1, seed: settings.seed },
      point,
      () => "",
    );
    const facts = await ground.facts();
    // They are asked for once for each match.
    ground.facts = () => Promise.resolve(facts);
    for (const arrivals of settings.arrivals) {
      for (const load of settings.loads) {
        for (const target of settings.targets) {
          const scenario = { device, workload, arrivals, load };
          const valueWith = async (build: PolicyEntry["build"]) => {
            entry.build = build;
            const { scores } = await ground.match("auto", scenario, target);
            // Where nobody is in time, as if one nearly were.
            return Math.max(
              Math.abs(valueOf(scores[0], target)),
              0.5 / requests,
            );
          };
          const asItIs = await valueWith(whole);
          for (const [i, { without }] of ABLATIONS.entries()) {
            const value = await valueWith(variants[i]);
            const ratio = target === "none" ? value / asItIs : asItIs / value;
            const list = ratios.get(without) ?? [];
            ratios.set(without, list);
            list.push(ratio);
            if (ratio > (worst.get(without)?.ratio ?? 0)) {
              worst.set(without, {
                ratio,
                where: `${scenarioName(scenario)}, ${target}`,
              });
            }
          }
        }
      }
    }
    progress(`${workload} on ${device}`);
  }
}
entry.build = whole;
const rows = [...ratios].map(([without, list]) => ({
  without,
  cells: list.length,
  worse: list.filter((ratio) => ratio > 1.02).length,
  better: list.filter((ratio) => ratio < 0.98).length,
  factor: Math.exp(mean(list.map(Math.log))),
  ...worst.get(without)!,
}));
if (json) print(JSON.stringify(rows));
else {
  print(
    "| Without | Cells | Worse by 2 % | Better by 2 % | Mean factor | At worst |",
  );
  print(
    "| :------ | ----: | -----------: | ------------: | ----------: | -------- |",
  );
  for (const { without, cells, worse, better, factor, ratio, where } of rows) {
    print(
      `| ${without} | ${cells} | ${worse} | ${better} | ${
        factor.toFixed(3)
      } | ${ratio.toFixed(2)} (${where}) |`,
    );
  }
}
