/**
 * Every policy on one floor: policies, devices, workloads, loads, arrivals and targets against each other, on virtual
 * time.
 *
 * Run: deno task arena [--quick] [--device npu] [--workload lstm,bert] [--policy NAMES] [--json]
 */
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { makeFolder, writeText } from "../../src/cli/files.ts";
import { taskSettings } from "../../src/cli/options.ts";
import { print, progress, stdoutColor } from "../../src/cli/terminal.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { renderLegend, renderTable } from "../../src/report/table.ts";
import { ARRIVALS } from "./arrivals.ts";
import { DEVICES } from "./devices.ts";
import { arenaMarkdown } from "./markdown.ts";
import { measuredTimes } from "./measured.ts";
import type { Cell, Order } from "./messages.ts";
import { arenaPages, logFile, logText } from "./page.ts";
import { play } from "./play.ts";
import { LOADS, scenarioName, spread, TARGETS } from "./scenario.ts";
import { arenaSettings } from "./settings.ts";
import { overallTable } from "./tables.ts";
import { WORKLOADS } from "./workloads.ts";

const HELP = `arena [options]

Runs every policy in every scenario on virtual time, each with the best of its settings, found on other seeds than those
it is judged on. With a target the figure is the share of requests within it, without one the mean latency. What was
computed is kept, so that a run that was interrupted goes on.

  --device NAMES    ${Object.keys(DEVICES).join(", ")} (default: all;
                    cpu: this machine, measured first)
  --workload NAMES  ${WORKLOADS.join(", ")}
  --policy NAMES    ${Object.keys(POLICIES).join(", ")}
  --arrivals NAMES  ${Object.keys(ARRIVALS).join(", ")}
  --load NUMBERS    ${LOADS.join(", ")}: shares of the capacity
  --target NAMES    ${
  Object.entries(TARGETS).map(([name, times]) =>
    Number.isFinite(times) ? `${name} (${times} times alone)` : name
  ).join(", ")
}
  --requests N      of a run (default 500)
  --runs N          seeds to be judged on (default 3)
  --seed N          default 1
  --minutes N       no scenario is begun after so long; what is done by then, spread over all of them, is reported
  --jobs N          threads (default: one for each core)
  --out DIR         cache and report (default build/arena)
  --quick           fewer of everything, under five minutes
  --json            results as JSON
`;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const { json, ...settings } = taskSettings({
  name: "arena",
  help: HELP,
  options: {
    device: { type: "string" },
    workload: { type: "string" },
    policy: { type: "string" },
    arrivals: { type: "string" },
    load: { type: "string" },
    target: { type: "string" },
    requests: { type: "string" },
    runs: { type: "string" },
    seed: { type: "string" },
    minutes: { type: "string" },
    jobs: { type: "string" },
    out: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
}, ({ values }) => ({ json: values.json, ...arenaSettings(values) }));

const { policies, targets, out, jobs } = settings;
const { requests, runs, seed } = settings;
makeFolder(out);
const untilMs = Date.now() + settings.minutes * 60_000;
const orders: Order[] = [];
for (const scenarios of spread(settings)) {
  const { device, workload } = scenarios[0];
  const { size, isMeasured } = DEVICES[device];
  orders.push({
    device,
    workload,
    measured: isMeasured
      ? await measuredTimes(workload, size, `${out}/profiles`)
      : undefined,
    policies,
    scenarios,
    targets,
    options: { requests, runs, seed },
    untilMs,
    cache: `${out}/cache`,
    root: ROOT,
  });
}
const total = orders.reduce(
  (sum, { scenarios, targets }) => sum + scenarios.length * targets.length,
  0,
);
const cells: Cell[] = [];
const startMs = performance.now();
const problems = await play(orders, {
  jobs,
  onCell(cell, logs, computed) {
    cells.push(cell);
    const log = join(out, logFile(cell));
    makeFolder(dirname(log));
    writeText(log, logText(cell, logs));
    const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
    progress(
      `[${cells.length}/${total}, ${seconds} s] ${
        scenarioName(cell.scenario)
      }, ${cell.target}: ${computed} runs computed`,
    );
  },
  onUnserved({ device, workload }, why) {
    progress(`nobody can serve ${workload} on ${device}: ${why}`);
  },
});
const seconds = (performance.now() - startMs) / 1000;
const pages = await arenaPages({ cells, requests, runs, seed, seconds });
for (const [name, page] of Object.entries(pages)) {
  writeText(`${out}/${name}`, page);
}
writeText(`${out}/arena.md`, arenaMarkdown(cells));
writeText(`${out}/arena.json`, JSON.stringify(cells));
progress(`report: ${out}/arena.html, ${out}/arena.md, ${out}/arena.json`);
if (json) {
  print(JSON.stringify({ requests, runs, seed, seconds, cells, problems }));
} else if (cells.length > 0) {
  const table = overallTable(cells);
  print(renderTable(table, { color: stdoutColor() }));
  print(renderLegend([table]));
}
for (const problem of problems) progress(`problem: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
