/** `shoal explain`: why a request waited, or why a batch was not full, in a simulated run. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { EngineCore } from "../engine/engine.ts";
import { SimExecutor } from "../engine/sim_executor.ts";
import { Timeline } from "../engine/timeline.ts";
import { driveVirtual } from "../engine/virtual_driver.ts";
import { DecisionLog } from "../report/decision_log.ts";
import { submissions } from "./measure.ts";
import { readConfig, type Simulation } from "./simulate_config.ts";
import { print, UsageError } from "./terminal.ts";

const HELP =
  `shoal explain --config FILE (--request ID | --batch ID) [--policy NAME]

Simulates the configuration of "shoal simulate" and prints why a request waited, or why a batch was not
full. Ids count from 0, requests in order of arrival, batches in order of launch. Without --policy the
first policy of the configuration decides.`;

export function explain(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      config: { type: "string" },
      request: { type: "string" },
      batch: { type: "string" },
      policy: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const { config, request, batch, policy } = values;
  if (values.help) {
    print(HELP);
    return Promise.resolve(0);
  }
  if (
    config === undefined || (request === undefined) === (batch === undefined)
  ) {
    throw new UsageError(
      `--config FILE and either --request ID or --batch ID are needed\n\n${HELP}`,
    );
  }
  const simulation = readConfig(readText(config), config);
  const log = simulate(simulation, policy);
  try {
    const lines = request !== undefined
      ? log.explainRequest(idOf("--request", request))
      : log.explainBatch(idOf("--batch", batch!));
    print(lines.join("\n"));
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
  return Promise.resolve(0);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as Error).message}`);
  }
}

function idOf(option: string, text: string): number {
  const id = Number(text);
  if (!Number.isInteger(id) || id < 0) {
    throw new UsageError(`${option} is an id from 0 on, got ${text}`);
  }
  return id;
}

function simulate(simulation: Simulation, policyName?: string): DecisionLog {
  const { policies, model, workers, cost, deadlineNs } = simulation;
  const chosen = policyName === undefined
    ? policies[0]!
    : policies.find(({ name }) => name === policyName);
  if (chosen === undefined) {
    throw new UsageError(
      `--policy is ${
        policies.map(({ name }) => name).join(" or ")
      }, got ${policyName}`,
    );
  }
  const log = new DecisionLog(chosen.name);
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost,
    workers,
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: chosen.build(),
    executor,
    observer: log,
  });
  const arrivals = submissions(model, simulation.arrivals);
  if (deadlineNs !== undefined) {
    for (const arrival of arrivals) {
      arrival.deadlineNs = arrival.arrivalNs + deadlineNs;
    }
  }
  driveVirtual(engine, timeline, arrivals);
  return log;
}
