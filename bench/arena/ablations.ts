/**
 * What each ingredient of `auto` is worth: it is switched off alone, by a change of the source, and plays the arena's
 * cells against the whole.
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
import { type Ablation, ABLATIONS, FILES } from "./ingredients.ts";
import { Ground, type Point, valueOf } from "./match.ts";
import { measuredTimes } from "./measured.ts";
import { scenarioName } from "./scenario.ts";

const HELP = `ablations [options]

Switches each ingredient of auto off, alone, and compares with the whole: independent arrivals at 0.6 and 1.2 of
the capacity, with a tight target and without one.

  --device NAMES    default npu,gpu,gpu-4; cpu and cpu-2: this machine, measured first
  --requests N      of a run (default 300)
  --seed N          default 1
  --json            the figures as JSON
`;

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

/**
 * `auto` with a change, in a folder of its own.
 * @throws Error when there is nothing to change: the figures would be those of the whole
 */
async function changed(
  { file, from, to }: Ablation,
  index: number,
): Promise<PolicyEntry["build"]> {
  const folder = `build/ablations/${index}`;
  makeFolder(folder);
  for (const name of FILES) {
    const text = readFileSync(`${AUTO}${name}`, "utf8");
    if (name === file && !text.includes(from)) {
      throw new Error(`${name} has no ${from}`);
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
  const url = pathToFileURL(`${folder}/auto.ts`).href;
  return ((await import(url)) as { auto: PolicyEntry["build"] }).auto;
}

/** How far a policy is ahead of `auto` as it is: above 1 it does worse without the ingredient. */
const ratios = new Map<string, number[]>();
const worst = new Map<string, { ratio: number; where: string }>();
const entry = POLICIES.auto as { build: PolicyEntry["build"] };
const whole = entry.build;
const variants = await Promise.all(ABLATIONS.map(changed));
const point: Point = (_key, compute) => Promise.resolve(compute());
for (const device of settings.devices) {
  const { size, isMeasured } = DEVICES[device];
  for (const workload of settings.workloads) {
    const ground = new Ground(
      { device, workload },
      isMeasured
        ? await measuredTimes(workload, size, `${settings.out}/profiles`)
        : undefined,
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
