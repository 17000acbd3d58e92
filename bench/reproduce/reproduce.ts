/**
 * Every quantitative claim of the papers beside what comes out here: runs the experiments, judges what they
 * found, and draws it.
 *
 *     deno task reproduce [--only NAMES] [--quick] [--full] [--json] ...
 */
import os from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { makeFolder, writeText } from "../../src/cli/files.ts";
import {
  print,
  progress,
  runProgram,
  stdoutColor,
} from "../../src/cli/terminal.ts";
import { isoNow } from "../../src/engine/wall/clock.ts";
import { runtimeName } from "../../src/engine/wall/runtime.ts";
import { type Paper, PAPERS } from "./registry.ts";
import { reproduceHtml } from "./report/html.ts";
import { reproduceText } from "./report/text.ts";
import { judge, tallyOf } from "./run/judge.ts";
import type { ReproduceResult } from "./run/result.ts";
import { runExperiments } from "./run/run_experiments.ts";
import { reproduceSettings } from "./run/settings.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Exit code of a program that an interrupt ended. */
const INTERRUPTED = 130;

async function main(): Promise<number> {
  const { experiments, list, jobs, out, json, fresh, ...settings } =
    reproduceSettings(PAPERS);
  if (list) {
    print(listing(PAPERS, experiments));
    return 0;
  }
  const startedAt = isoNow();
  const startMs = performance.now();
  makeFolder(out);
  process.on("SIGINT", () => {
    progress("interrupted; what was computed is kept for the next run");
    process.exit(INTERRUPTED);
  });
  const ran = await runExperiments({
    ...settings,
    registry: new URL("./registry.ts", import.meta.url).href,
    root: ROOT,
    folder: "bench/reproduce",
    cache: `${out}/cache`,
    fresh,
    papers: PAPERS,
    experiments,
    jobs,
    progress,
  });
  const { papers, problems } = judge(PAPERS, ran);
  const cpu = process.cpuUsage();
  const result: ReproduceResult = {
    startedAt,
    command: `deno task reproduce ${process.argv.slice(2).join(" ")}`.trim(),
    machine: {
      cpu: os.cpus()[0]?.model ?? "unknown",
      cores: os.cpus().length,
      runtime: runtimeName(),
    },
    ...settings,
    seconds: (performance.now() - startMs) / 1000,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    tally: tallyOf(papers),
    papers,
    problems,
  };
  writeText(`${out}/reproduce.json`, JSON.stringify(result, undefined, 1));
  writeText(`${out}/report.html`, await reproduceHtml(result));
  progress(`report: ${out}/report.html, ${out}/reproduce.json`);
  if (json) print(JSON.stringify(result));
  else print(reproduceText(result, { color: stdoutColor() }));
  for (const problem of problems) progress(`problem: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

function listing(papers: readonly Paper[], chosen: readonly string[]): string {
  return papers.flatMap(({ experiments }) => experiments)
    .filter(({ id }) => chosen.includes(id))
    .map(({ id, title, claims }) =>
      `${id}: ${title}${claims.length > 0 ? ` (${claims.join(", ")})` : ""}`
    ).join("\n");
}

await runProgram("reproduce", main);
