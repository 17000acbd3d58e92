import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { warmUp } from "../../src/engine/wall/warm_up.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";

Deno.test("warmUp() practises with the kernels it is given, on a memory of its own", async () => {
  for (const build of ["shoal", "shoal.shared"] as const) {
    const source = await readKernels(build);
    const shared = build === "shoal.shared";
    const memory = new WebAssembly.Memory({
      initial: 4,
      maximum: 4,
      shared,
    });
    instantiateKernels(source, { memory });
    const before = new Uint8Array(memory.buffer).slice();
    await warmUp(source, { shared, kernels: ["relu_f32", "gather_rows"] });
    // The second time there is nothing left to do.
    await warmUp(source, { shared, kernels: ["relu_f32"] });
    assert.deepEqual(new Uint8Array(memory.buffer).slice(), before);
  }
});

Deno.test("warmUp() refuses what is no build of the kernels", async () => {
  await assert.rejects(
    warmUp(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]), { shared: false }),
    /ABI version is undefined/,
  );
});

Deno.test("warmUp() refuses a memory that is too small to practise in", async () => {
  const source = await readKernels("shoal");
  for (const memoryBytes of [65_536, 2 ** 24 + 0.5, NaN]) {
    await assert.rejects(
      warmUp(source, { shared: false, memoryBytes }),
      /"memoryBytes" is an integer of at least 16777216, got/,
    );
  }
});

Deno.test("warmUp() asks for no timer in a page that nobody sees, whose timers come a second late", async () => {
  const source = await readKernels("shoal");
  const { setTimeout } = globalThis;
  let timers = 0;
  const counting = (callback: () => void, ms: number) => {
    timers++;
    return setTimeout(callback, ms);
  };
  // Sizes of their own: code of other tests is warm already.
  const practise = (pages: number) =>
    warmUp(source, {
      shared: false,
      kernels: ["relu_f32", "tanh_f32"],
      memoryBytes: 2 ** 24 + pages * 2 ** 16,
    });
  Object.assign(globalThis, { setTimeout: counting });
  try {
    await practise(1);
    assert(timers > 0, "this test counts nothing");
    timers = 0;
    Object.assign(globalThis, { document: { visibilityState: "hidden" } });
    await practise(2);
    assert.equal(timers, 0);
  } finally {
    Object.assign(globalThis, { setTimeout });
    Reflect.deleteProperty(globalThis, "document");
  }
});
