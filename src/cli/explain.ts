/** `shoal explain`: why a request waited, or why a batch was not full, in a simulated run. */
import { describe } from "../base/describe.ts";
import { EngineCore } from "../engine/core/engine.ts";
import { SimExecutor } from "../engine/virtual/sim_executor.ts";
import { Timeline } from "../engine/virtual/timeline.ts";
import { driveVirtual } from "../engine/virtual/virtual_driver.ts";
import { DecisionLog } from "../report/decision_log.ts";
import { submissions } from "./measure.ts";
import { readConfig, type Simulation } from "./simulate_config.ts";
import { readText } from "./files.ts";
import { integerOf, readOptions, see } from "./options.ts";
import { print, UsageError } from "./terminal.ts";

const HELP =
  `shoal explain --config FILE (--request ID | --batch ID) [--policy NAME]

Simulates the configuration of "shoal simulate" and prints why a request waited, or why a batch was not
full. Ids count from 0, requests in order of arrival, batches in order of launch. Without --policy the
first policy of the configuration decides.`;

export async function explain(args: string[]): Promise<number> {
  const given = readOptions({
    name: "shoal explain",
    help: HELP,
    options: {
      config: { type: "string" },
      request: { type: "string" },
      batch: { type: "string" },
      policy: { type: "string" },
    },
  }, args);
  if (given === undefined) return 0;
  const { config, request, batch, policy } = given.values;
  if (
    config === undefined || (request === undefined) === (batch === undefined)
  ) {
    throw new UsageError(
      `--config FILE and either --request ID or --batch ID are needed${
        see("shoal explain")
      }`,
    );
  }
  const id = request !== undefined
    ? idOf("--request", request)
    : idOf("--batch", batch!);
  const simulation = await readConfig(readText(config), config);
  const log = simulate(simulation, policy);
  try {
    const lines = request !== undefined
      ? log.explainRequest(id)
      : log.explainBatch(id);
    print(lines.join("\n"));
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
  return 0;
}

function idOf(option: string, text: string): number {
  return integerOf(option, text, { max: Number.MAX_SAFE_INTEGER });
}

function simulate(simulation: Simulation, policyName?: string): DecisionLog {
  const { policies, model, workers, cost, deadlineNs } = simulation;
  const chosen = policyName === undefined
    ? policies[0]
    : policies.find(({ name }) => name === policyName);
  if (chosen === undefined) {
    throw new UsageError(
      `--policy is ${policies.map(({ name }) => name).join(" or ")}, got ${
        describe(policyName)
      }`,
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
