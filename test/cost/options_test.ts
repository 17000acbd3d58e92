/** What costs and profiles are made of is checked where it comes in. */
import assert from "node:assert/strict";
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import { profileCells } from "../../src/cost/profile_cells.ts";
import { sharedTable } from "../../src/cost/published.ts";
import { coRunNs, SharedCapacity } from "../../src/cost/shared_capacity.ts";
import { constantCost, TableCost } from "../../src/cost/table_cost.ts";
import { assertRefuses, type Refusal } from "../option_refusals.ts";

Deno.test("GpuCost refuses a device that cannot be", async () => {
  const take = (gpu: never) => new GpuCost(gpu);
  await assertRefuses(TITAN_RTX, take, [
    {
      with: { flops: 1 },
      name: "TypeError",
      message: /^GpuCost has no option "flops"; it takes name, source, sms, /,
    },
    {
      with: { name: 5 },
      name: "TypeError",
      message: '"name" is a string, got 5',
    },
  ]);
  for (const [name, value] of Object.entries(TITAN_RTX)) {
    if (typeof value !== "number") continue;
    const whole = name === "sms" || name === "tile";
    const what = whole ? "a positive integer" : "finite and positive";
    await assertRefuses(
      TITAN_RTX,
      take,
      [NaN, Infinity, 0, -1, "1", undefined].map((bad): Refusal => ({
        with: { [name]: bad },
        name: "RangeError",
        message: `"${name}" is ${what}, got ${
          typeof bad === "string" ? '"1"' : bad
        }`,
      })),
    );
  }
  assert.throws(() => new GpuCost(TITAN_RTX, [] as never), {
    name: "TypeError",
    message: '"layersOf" is a function, got []',
  });
});

Deno.test("profileCells() refuses options that are not", async () => {
  const cost = constantCost(1);
  await assertRefuses(
    { machine: "m", model: "n", batchSizes: [1, 2], tokens: 3 },
    (options) => profileCells(cost, [], options),
    [
      {
        with: { batches: [1] },
        name: "TypeError",
        message:
          'profileCells() has no option "batches"; it takes machine, model, batchSizes, tokens',
      },
      {
        with: { machine: undefined },
        name: "TypeError",
        message: '"machine" is a string, got undefined',
      },
      {
        with: { model: 5 },
        name: "TypeError",
        message: '"model" is a string, got 5',
      },
      {
        with: { batchSizes: 64 },
        name: "TypeError",
        message: '"batchSizes" is an array, got 64',
      },
      {
        with: { batchSizes: [1, NaN] },
        name: "RangeError",
        message: "batch size must be an integer of at least 1, got NaN",
      },
      {
        with: { batchSizes: [] },
        name: "RangeError",
        message: "batchSizes must not be empty",
      },
      {
        with: { tokens: "3" },
        name: "RangeError",
        message: 'tokens must be an integer of at least 1, got "3"',
      },
    ],
  );
  const options = { machine: "m", model: "n" };
  assert.throws(() => profileCells({} as never, [], options), {
    name: "TypeError",
    message: '"cost" is a cost model, which has a method "latencyNs", got {}',
  });
  assert.throws(() => profileCells(cost, undefined as never, options), {
    name: "TypeError",
    message: '"cells" is an array, got undefined',
  });
});

Deno.test("sharedTable() refuses points and options that are not", async () => {
  const points = [[1, 10]] as const;
  await assertRefuses(
    { htodNs: 1, dtohNs: 2, interference: () => 1 },
    (options) => sharedTable(points, options),
    [
      {
        with: { htod: 1 },
        name: "TypeError",
        message:
          'sharedTable() has no option "htod"; it takes interference, htodNs, dtohNs',
      },
      {
        with: { htodNs: NaN },
        name: "RangeError",
        message: '"htodNs" is finite and at least 0, got NaN',
      },
      {
        with: { dtohNs: "2" },
        name: "RangeError",
        message: '"dtohNs" is finite and at least 0, got "2"',
      },
      {
        with: { interference: 1.5 },
        name: "TypeError",
        message: '"interference" is a function, got 1.5',
      },
    ],
  );
  assert.throws(() => sharedTable(undefined as never), {
    name: "RangeError",
    message: "The table of the network is empty",
  });
  assert.throws(() => sharedTable([[1, 5], [2, Infinity]]), {
    name: "RangeError",
    message: "The table of the network has the value Infinity",
  });
  assert.throws(() => sharedTable([[1, NaN]]), {
    name: "RangeError",
    message: "The table of the network has the value NaN",
  });
});

Deno.test("what is no time, share or factor of jobs on one device is refused", () => {
  const job = { aloneNs: 100, demand: 1 };
  for (const bad of [NaN, 0, -1, Infinity, undefined]) {
    assert.throws(() => coRunNs([job, job], () => bad as number), {
      name: "RangeError",
      message: `"interference(1)" is finite and positive, got ${bad}`,
    });
  }
  for (
    const [key, what, more] of [
      ["aloneNs", "finite and at least 0", []],
      ["demand", "a share of the device, from 0 to 1", [1.01, 50]],
    ] as const
  ) {
    for (const bad of [NaN, -1, Infinity, ...more]) {
      assert.throws(() => coRunNs([job, { ...job, [key]: bad }]), {
        name: "RangeError",
        message: `"${key}" is ${what}, got ${bad}`,
      });
    }
  }
});

Deno.test("a device that nothing runs on has no interference", () => {
  const device = new SharedCapacity<string>((jobs) => {
    assert(jobs > 0);
    return jobs;
  });
  device.start("a", 10, 1, 5);
  assert.deepEqual(device.next(), { job: "a", atNs: 15 });
  device.finish("a", 15);
  assert.equal(device.next(), undefined);
});

Deno.test("constantCost() and TableCost refuse what are no times", () => {
  for (const bad of [NaN, Infinity, -1, undefined]) {
    assert.throws(() => constantCost(bad as number), {
      name: "RangeError",
      message: `"latencyNs" is finite and at least 0, got ${bad}`,
    });
  }
  for (const bad of [undefined, null, 5]) {
    assert.throws(() => new TableCost(bad as never), {
      name: "TypeError",
      message: `"tables" is an object, got ${bad}`,
    });
  }
});
