/** Options of the kernels' public surface are checked where they come in. */
import assert from "node:assert/strict";
import { chooseBuild } from "../../src/kernels/module/features.ts";
import { createMemory } from "../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { assertRefuses } from "../option_refusals.ts";
import { readBuild } from "./builds.ts";

Deno.test("createMemory() refuses options that are not", async () => {
  await assertRefuses({ bytes: 1, shared: false }, createMemory, [
    {
      with: { size: 1 },
      name: "TypeError",
      message: 'createMemory() has no option "size"; it takes bytes, shared',
    },
    {
      with: { bytes: undefined },
      name: "RangeError",
      message: "A memory has a whole number of bytes, got undefined",
    },
    {
      with: { bytes: NaN },
      name: "RangeError",
      message: "A memory has a whole number of bytes, got NaN",
    },
    {
      with: { bytes: "1" },
      name: "RangeError",
      message: 'A memory has a whole number of bytes, got "1"',
    },
    {
      with: { shared: 1 },
      name: "TypeError",
      message: '"shared" is a boolean, got 1',
    },
  ]);
});

Deno.test("instantiateKernels() refuses arguments that are not", async () => {
  const bytes = readBuild("shoal.wasm");
  const memory = new WebAssembly.Memory({ initial: 4 });
  const message = /^"memory" is a WebAssembly\.Memory, got /;
  await assertRefuses(
    { memory },
    (options) => instantiateKernels(bytes, options),
    [
      {
        with: { memroy: memory },
        name: "TypeError",
        message:
          'instantiateKernels() has no option "memroy"; it takes memory, engine',
      },
      { with: { memory: undefined }, name: "TypeError", message },
      { with: { memory: memory.buffer }, name: "TypeError", message },
      { with: { memory: NaN }, name: "TypeError", message },
      {
        with: { engine: {} },
        name: "TypeError",
        message:
          '"engine" is an EngineProbe, which has a method "validate", got {}',
      },
    ],
  );
  for (const source of [undefined, "shoal.wasm", 5, [0, 97], { bytes }]) {
    assert.throws(() => instantiateKernels(source as never, { memory }), {
      name: "TypeError",
      message: /^"source" is bytes of a kernel build, or a WebAssembly\.Module/,
    });
  }
});

Deno.test("chooseBuild() refuses options that are not", async () => {
  await assertRefuses({ threads: true }, chooseBuild, [
    {
      with: { thread: true },
      name: "TypeError",
      message:
        'chooseBuild() has no option "thread"; it takes threads, relaxed',
    },
    {
      with: { threads: 4 },
      name: "TypeError",
      message: '"threads" is a boolean, got 4',
    },
    {
      with: { relaxed: NaN },
      name: "TypeError",
      message: '"relaxed" is a boolean, got NaN',
    },
  ]);
});
