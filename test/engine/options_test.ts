/** Every option object of the engine's public surface is checked where it comes in. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { KernelTeam } from "../../src/engine/wall/kernel_team.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { probeScratch } from "../../src/engine/wall/scratch_probe.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { TensorExecutor } from "../../src/engine/wall/tensor_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import {
  driveVirtual,
  throughInStream,
} from "../../src/engine/virtual/virtual_driver.ts";
import { warmUp } from "../../src/engine/wall/warm_up.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { lstm } from "../../src/models/lstm.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { assertRefuses, type Refusal } from "../option_refusals.ts";
import { kernels } from "./harness.ts";

const models = [lstm({ hidden: 4, vocabulary: 5, head: "classifier" })];

const virtual = {
  timeline: new Timeline(),
  cost: constantCost(1),
  workers: 2,
  submitNs: () => 0,
  onCompleted: () => {},
};

const VIRTUAL_REFUSALS: readonly Refusal[] = [
  {
    with: { worker: 2 },
    name: "TypeError",
    message:
      /^(Sim|Paired)Executor has no option "worker"; it takes timeline, /,
  },
  {
    with: { workers: NaN },
    name: "RangeError",
    message: '"workers" is a positive integer, got NaN',
  },
  {
    with: { workers: "2" },
    name: "RangeError",
    message: '"workers" is a positive integer, got "2"',
  },
  {
    with: { timeline: undefined },
    name: "TypeError",
    message: '"timeline" is a Timeline, which has a method "at", got undefined',
  },
  {
    with: { cost: { latency: 1 } },
    name: "TypeError",
    message:
      '"cost" is a cost model, which has a method "latencyNs", got {"latency":1}',
  },
  {
    with: { cost: undefined },
    name: "TypeError",
    message: /^"cost" is a cost model, .* got undefined$/,
  },
  {
    with: { submitNs: 5 },
    name: "TypeError",
    message: '"submitNs" is a function, got 5',
  },
  {
    with: { onCompleted: undefined },
    name: "TypeError",
    message: '"onCompleted" is a function, got undefined',
  },
];

Deno.test("SimExecutor refuses options that are not", async () => {
  await assertRefuses(
    virtual,
    (options) => new SimExecutor(options),
    VIRTUAL_REFUSALS,
  );
});

Deno.test("PairedExecutor refuses options that are not", async () => {
  await assertRefuses(
    { ...virtual, models, kernels, slotBytes: 2 ** 20 },
    (options) => new PairedExecutor(options),
    [
      ...VIRTUAL_REFUSALS,
      {
        with: { models: undefined },
        name: "TypeError",
        message: '"models" are an array of models, got undefined',
      },
      {
        with: { kernels: undefined },
        name: "TypeError",
        message:
          '"kernels" is bytes of a kernel build, or a WebAssembly.Module of them, got undefined',
      },
      {
        with: { slotBytes: NaN },
        name: "RangeError",
        message: '"slotBytes" is an integer from 1 to 4294967296, got NaN',
      },
      {
        with: { taskBytes: 0.5 },
        name: "RangeError",
        message: '"taskBytes" is an integer from 1 to 4294967296, got 0.5',
      },
    ],
  );
});

Deno.test("EngineCore refuses options that are not", async () => {
  const executor = new SimExecutor(virtual);
  await assertRefuses(
    { models, executor, queueMax: Infinity },
    (options: object) =>
      new EngineCore({ policy: serial(), ...options } as never),
    [
      {
        with: { queuMax: 5 },
        name: "TypeError",
        message:
          'EngineCore has no option "queuMax"; it takes models, policy, executor, observer, queueMax, waitingBytes, hasTime, isRemote',
      },
      {
        with: { models: undefined },
        name: "TypeError",
        message: '"models" are an array of models, got undefined',
      },
      {
        with: { models: [{ name: "m" }] },
        name: "TypeError",
        message: /^models\[0\]: the "cells" of model "m" are /,
      },
      {
        with: { policy: serial },
        name: "TypeError",
        message:
          /^"policy" is what a policy's function returns, .* a function$/,
      },
      {
        with: { executor: undefined },
        name: "TypeError",
        message:
          '"executor" is an executor, which has a method "admit", got undefined',
      },
      {
        with: { executor: executorWith({ release: 5 }) },
        name: "TypeError",
        message:
          /^"executor" is an executor, which has a method "release", got /,
      },
      {
        with: { executor: executorWith({ workers: NaN }) },
        name: "RangeError",
        message: '"executor.workers" is a positive integer, got NaN',
      },
      {
        with: { observer: "log" },
        name: "TypeError",
        message: '"observer" is an object, got "log"',
      },
      {
        with: { queueMax: NaN },
        name: "RangeError",
        message: '"queueMax" is a positive integer or Infinity, got NaN',
      },
    ],
  );
  assert.throws(() => new EngineCore({ models, executor } as never), {
    name: "TypeError",
    message: /^"policy" is what a policy's function returns, .* undefined$/,
  });
});

/** An executor's members, some of them replaced. */
function executorWith(members: object): object {
  const member = () => {};
  return {
    workers: 1,
    admit: member,
    grew: member,
    push: member,
    settle: member,
    abandon: member,
    result: member,
    release: member,
    ...members,
  };
}

Deno.test("an executor reads each option once", () => {
  let reads = 0;
  const timeline = new Timeline();
  const executor = new SimExecutor({
    ...virtual,
    timeline,
    get cost() {
      return ++reads === 1 ? constantCost(1) : undefined as never;
    },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({ models, policy: serial(), executor });
  const input = { tokens: [1, 2] };
  driveVirtual(engine, timeline, [{ model: models[0], input, arrivalNs: 0 }]);
  assert.equal(timeline.nowNs, 3, "two steps and the head");
  assert.equal(reads, 1);
});

Deno.test("executors and engines on threads need what has no default", async () => {
  const onFatal = () => {};
  await assert.rejects(TensorExecutor.start({ models } as never), {
    message: '"onFatal" is a function, got undefined',
  });
  await assert.rejects(TensorExecutor.start({ onFatal } as never), {
    message: '"models" are an array of models, got undefined',
  });
  await assert.rejects(ServingEngine.create({} as never), {
    message: '"models" are an array of models, got undefined',
  });
});

Deno.test("KernelTeam refuses options that are not", async () => {
  const bytes = await readKernels("shoal.shared");
  const memory = new WebAssembly.Memory({
    initial: 64,
    maximum: 64,
    shared: true,
  });
  const end = instantiateKernels(bytes, { memory }).shoal_static_end();
  const plan: readonly Refusal[] = [
    {
      with: { thread: 2 },
      name: "TypeError",
      message:
        /^KernelTeam\.(start|bytes)\(\) has no option "thread"; it takes threads, /,
    },
    {
      with: { threads: NaN },
      name: "RangeError",
      message: '"threads" is an integer of at least 1, got NaN',
    },
    {
      with: { scratchBytes: "1" },
      name: "RangeError",
      message: '"scratchBytes" is an integer of at least 0, got "1"',
    },
  ];
  await assertRefuses({ threads: 3 }, KernelTeam.bytes, plan);
  await assertRefuses(
    {
      kernels: bytes,
      memory,
      address: Math.ceil(end / 64) * 64,
      threads: 1,
    },
    async (options) => await (await KernelTeam.start(options)).close(),
    [
      ...plan,
      {
        with: { kernels: undefined },
        name: "TypeError",
        message: '"kernels" is an ArrayBuffer or a view of one, got undefined',
      },
      {
        with: { memory: undefined },
        name: "TypeError",
        message: '"memory" is a WebAssembly.Memory, got undefined',
      },
      {
        with: { memory: new ArrayBuffer(64) },
        name: "TypeError",
        message: '"memory" is a WebAssembly.Memory, got [object ArrayBuffer]',
      },
      {
        with: { address: undefined },
        name: "RangeError",
        message:
          /64-byte aligned, from shoal_static_end\(\) = \d+ on; undefined of /,
      },
      {
        with: { spinLoads: "2" },
        name: "RangeError",
        message: '"spinLoads" is at least 0, got "2"',
      },
      {
        with: { kernelScratch: 64 },
        name: "TypeError",
        message: '"kernelScratch" is an object, got 64',
      },
      {
        with: { kernelScratch: { address: undefined, variants: 0 } },
        name: "RangeError",
        message:
          /of "kernelScratch" lie inside memory, 16-byte aligned, .*; undefined of /,
      },
      {
        with: { kernelScratch: { address: 16, variants: 0 } },
        name: "RangeError",
        message: /from shoal_static_end\(\) = \d+ on .*; 16 of \d+ does not do/,
      },
      {
        with: { kernelScratch: { address: 2 ** 30, variants: 0 } },
        name: "RangeError",
        message: /; 1073741824 of \d+ does not do/,
      },
      {
        with: { kernelScratch: { address: 2 ** 19 + 8, variants: 0 } },
        name: "RangeError",
        message: /; 524296 of \d+ does not do/,
      },
      {
        with: { kernelScratch: { address: 64, variants: 4 } },
        name: "RangeError",
        message: /variants of "kernelScratch" are 0 to 3, got 4/,
      },
      {
        with: { onFatal: true },
        name: "TypeError",
        message: '"onFatal" is a function, got true',
      },
    ],
  );
});

Deno.test("warmUp() refuses options that are not", async () => {
  const source = await readKernels("shoal");
  const shared = (value: unknown): Refusal => ({
    with: { shared: value },
    name: "TypeError",
    message: `"shared" is a boolean, got ${value}`,
  });
  await assertRefuses(
    { shared: false, kernels: ["relu_f32"], patienceMs: 0 },
    (options) => warmUp(source, options),
    [
      shared(undefined),
      shared(1),
      {
        with: { patience: 5 },
        name: "TypeError",
        message:
          'warmUp() has no option "patience"; it takes shared, memoryBytes, kernels, patienceMs',
      },
      {
        with: { patienceMs: NaN },
        name: "RangeError",
        message: '"patienceMs" is at least 0, got NaN',
      },
      {
        with: { memoryBytes: "16777216" },
        name: "RangeError",
        message:
          '"memoryBytes" is an integer of at least 16777216, got "16777216"',
      },
      {
        with: { kernels: "relu_f32" },
        name: "TypeError",
        message: '"kernels" are names of kernels, got "relu_f32"',
      },
      {
        with: { kernels: ["relu"] },
        name: "RangeError",
        message: /^"kernels" has "relu", which is none of .*relu_f32/,
      },
    ],
  );
  await assert.rejects(warmUp("shoal" as never, { shared: false }), {
    name: "TypeError",
    message: '"source" is an ArrayBuffer or a view of one, got "shoal"',
  });
});

Deno.test("probeScratch() refuses options that are not", async () => {
  await assertRefuses(
    { shared: false, variants: 0 },
    (options) => probeScratch(kernels, options),
    [
      {
        with: { share: true },
        name: "TypeError",
        message:
          'probeScratch() has no option "share"; it takes shared, variants, patienceMs',
      },
      {
        with: { shared: undefined },
        name: "TypeError",
        message: '"shared" is a boolean, got undefined',
      },
      {
        with: { variants: 4 },
        name: "RangeError",
        message: '"variants" is an integer from 0 to 3, got 4',
      },
      {
        with: { patienceMs: NaN },
        name: "RangeError",
        message: '"patienceMs" is at least 0, got NaN',
      },
    ],
  );
});

Deno.test("driveVirtual() and throughInStream() refuse arguments that are not", () => {
  const timeline = new Timeline();
  const executor = new SimExecutor({ ...virtual, timeline });
  const engine = new EngineCore({ models, policy: serial(), executor });
  const drive = driveVirtual as (...args: unknown[]) => void;
  drive(engine, timeline, []);
  for (
    const [args, message] of [
      [[undefined, timeline, []], /^"engine" is an EngineCore, .* "submit"/],
      [[engine, {}, []], /^"timeline" is a Timeline, .* "at", got {}$/],
      [[engine, timeline], /^"arrivals" are requests .* got undefined$/],
      [[engine, timeline, [], 5], /^"onRefused" is a function, got 5$/],
    ] as const
  ) assert.throws(() => drive(...args), { name: "TypeError", message });
  const stream = throughInStream as (...args: unknown[]) => unknown;
  assert.throws(() => stream([], NaN), {
    name: "RangeError",
    message: '"copyNs" is finite and at least 0, got NaN',
  });
  assert.throws(() => stream([]), {
    message: '"copyNs" is finite and at least 0, got undefined',
  });
  assert.throws(() => stream({}, 5), {
    name: "TypeError",
    message: '"arrivals" is an array, got {}',
  });
});
