/** Arrivals of a simulation have times, in order; texts, as lines of a trace are made of, are no times. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveVirtual,
  type VirtualArrival,
} from "../../src/engine/virtual/virtual_driver.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { staticChain } from "../policy/static_chain.ts";

type Times = Partial<
  Pick<VirtualArrival, "arrivalNs" | "enterNs" | "cancelAtNs">
>;

const model = staticChain({ cells: ["A"] });

/** When each request departs. */
function endsNs(...times: { [Time in keyof Times]: unknown }[]): number[] {
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(10),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: serial(),
    executor,
  });
  const ends: number[] = [];
  driveVirtual(
    engine,
    timeline,
    times.map((given) => ({
      model,
      input: {},
      onEnd: () => void ends.push(timeline.nowNs),
      ...given,
    } as VirtualArrival)),
  );
  return ends;
}

Deno.test("an arrival's times are numbers, and every message names the one that is none", () => {
  assert.deepEqual(
    endsNs({ arrivalNs: 7 }, { arrivalNs: 7, enterNs: 20 }),
    [17, 30],
  );
  const refused = (times: Parameters<typeof endsNs>[0], message: RegExp) =>
    assert.throws(() => endsNs(times), { name: "RangeError", message });
  refused({ arrivalNs: "7" }, /"arrivalNs" is finite and at least 0, got "7"/);
  refused({}, /"arrivalNs" is .*got undefined/);
  refused({ arrivalNs: -3 }, /"arrivalNs" is .*got -3/);
  refused({ arrivalNs: 7, enterNs: "9" }, /"enterNs" is .*got "9"/);
  refused(
    { arrivalNs: 7, enterNs: 3 },
    /"enterNs" is not before "arrivalNs", 7, got 3/,
  );
  refused(
    { arrivalNs: 7, cancelAtNs: NaN },
    /"cancelAtNs" is a time in nanoseconds, got NaN/,
  );
});

Deno.test("arrivals that are not sorted are said to be that", () => {
  assert.throws(
    () => endsNs({ arrivalNs: 10 }, { arrivalNs: 5 }),
    /in order of time, got one at 5 ns behind one at 10 ns; sort them/,
  );
});

Deno.test("nothing happens at a text", () => {
  const at = (atNs: unknown) => new Timeline().at(atNs as number, 1, () => {});
  assert.throws(() => at("7"), /Event at "7" ns: a time is a number/);
  assert.throws(() => at(NaN), /Event at NaN ns/);
});
