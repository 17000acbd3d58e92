/**
 * The scheduler's own cost: what the engine and a policy spend on a batch when executing it costs
 * nothing. BatchMaker spent about 65 us a step on scheduling and gathering (Cellular Batching,
 * section 7.3: 250 us with, 185 us without); nothing is gathered here.
 *
 *     deno task bench:scheduler [POLICY] [--json]
 *
 * An engine serves one policy; naming one measures it as it runs there, before the call sites of the
 * engine have seen any other.
 */
import { Bench } from "tinybench";
import { oneName, taskSettings } from "../src/cli/options.ts";
import { EngineCore } from "../src/engine/core/engine.ts";
import type { Executor, Settlement } from "../src/engine/core/executor.ts";
import type { Result } from "../src/graph/result.ts";
import { lstm } from "../src/models/lstm.ts";
import type { Task } from "../src/policy/launch.ts";
import { POLICIES } from "../src/policy/registry.ts";

const HELP = `bench:scheduler [POLICY] [--json]

What the engine and a policy spend on a batch when executing it costs nothing.

  POLICY            only this one, as it runs alone: ${
  Object.keys(POLICIES).join(", ")
}
  --json            the figures as JSON
`;

const ROWS = 64;
const { json, chosen } = taskSettings({
  name: "bench:scheduler",
  help: HELP,
  positionalsMax: 1,
  options: { json: { type: "boolean", default: false } },
}, ({ values, positionals: [name] }) => ({
  ...values,
  chosen: name === undefined
    ? Object.keys(POLICIES).filter((policy) => policy !== "serial")
    : [oneName("POLICY", name, Object.keys(POLICIES))],
}));

/** Steps per request; the mean sentence length of Cellular Batching, section 7.1. */
const LENGTH = 24;

const model = lstm({ hidden: 1, vocabulary: 2 });
const input = { tokens: new Array(LENGTH).fill(1) };

/** Executes nothing: a task is done as soon as somebody asks. */
class ZeroCostExecutor implements Executor {
  readonly workers = 1;
  readonly tasks: Task[] = [];
  push(task: Task): void {
    this.tasks.push(task);
  }
  settle(): Settlement {
    return "done";
  }
  result(): Result {
    return {};
  }
  admit(): void {}
  grew(): void {}
  abandon(): void {}
  release(): void {}
}

interface Round {
  readonly engine: EngineCore;
  readonly executor: ZeroCostExecutor;
}

/** An engine with a full batch of requests, unfolded and waiting to be scheduled. */
function prepare(policy: string): Round {
  const executor = new ZeroCostExecutor();
  const engine = new EngineCore({
    models: [model],
    policy: POLICIES[policy].build(),
    executor,
  });
  for (let i = 0; i < ROWS; i++) engine.submit({ model, input, arrivalNs: 0 });
  return { engine, executor };
}

/** Schedules and completes until nothing is left. @returns batches launched */
function run({ engine, executor: { tasks } }: Round): number {
  let batches = 0;
  engine.pump(0);
  while (tasks.length > 0) {
    while (tasks.length > 0) {
      engine.completed(tasks.shift()!, 0, 0);
      batches++;
    }
    engine.pump(0);
  }
  return batches;
}

const results: Record<string, { usPerBatch: number; p99Us: number }> = {};
for (const policy of chosen) {
  let round = prepare(policy);
  const bench = new Bench({
    warmupIterations: 2000,
    iterations: 2000,
    time: 0,
    warmupTime: 0,
  });
  let batches = 0;
  bench.add(policy, () => void (batches = run(round)), {
    beforeEach: () => {
      round = prepare(policy);
    },
  });
  await bench.run();
  const { result } = bench.tasks[0];
  if (result.state !== "completed") {
    throw new Error(`${policy} did not complete`);
  }
  results[policy] = {
    usPerBatch: result.latency.p50 * 1000 / batches,
    p99Us: result.latency.p99 * 1000 / batches,
  };
}

if (json) {
  console.log(JSON.stringify({ rows: ROWS, length: LENGTH, results }));
} else {
  console.log(
    `scheduling cost per launched batch of ${ROWS} rows, zero-cost executor`,
  );
  for (const [policy, { usPerBatch, p99Us }] of Object.entries(results)) {
    console.log(
      `${policy.padEnd(10)} ${usPerBatch.toFixed(2)} us (median), ${
        p99Us.toFixed(2)
      } us (p99)`,
    );
  }
}
