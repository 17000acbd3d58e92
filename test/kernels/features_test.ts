import assert from "node:assert/strict";
import { TensorExecutor } from "../../src/engine/wall/tensor_executor.ts";
import {
  checkFeatures,
  chooseBuild,
  type EngineFeature,
  type EngineProbe,
  hasExactDots,
  supports,
} from "../../src/kernels/module/features.ts";
import { createMemory } from "../../src/kernels/module/memory.ts";
import { lstm } from "../../src/models/lstm.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { readBuild } from "./builds.ts";

/** Opcodes and sections by which a module can be told to use a feature. */
function uses(bytes: Uint8Array, feature: EngineFeature): boolean {
  const text = [...bytes].join(",");
  switch (feature) {
    // Large modules are ours, and all of them use SIMD.
    case "simd":
      return bytes.length > 100 || text.includes(",253,15");
    case "relaxed-simd":
      return text.includes(",253,133,2");
    case "threads":
      return text.endsWith("5,4,1,3,1,1");
  }
}

/** An engine that refuses every module with these features. */
function engineWithout(...missing: EngineFeature[]): EngineProbe {
  return {
    validate(source) {
      const bytes = new Uint8Array(source as Uint8Array<ArrayBuffer>);
      return !missing.some((feature) => uses(bytes, feature));
    },
    sharedMemory: !missing.includes("threads"),
  };
}

Deno.test("supports() asks the engine it is given", () => {
  for (const feature of ["simd", "relaxed-simd", "threads"] as const) {
    assert.equal(supports(feature, engineWithout(feature)), false);
    assert.equal(supports(feature, engineWithout()), true);
  }
});

Deno.test("threads need shared memory as well as the instructions", () => {
  const page = { ...engineWithout(), sharedMemory: false };
  assert.equal(supports("threads", page), false);
});

Deno.test("an engine without SIMD is refused, by name and with the way out", () => {
  const engine = engineWithout("simd", "relaxed-simd");
  const memory = new WebAssembly.Memory({ initial: 1 });
  const message = /no WebAssembly simd \(the kernels need it: use Chrome 91/;
  assert.throws(() => chooseBuild({}, engine), message);
  assert.throws(
    () => instantiateKernels(readBuild("shoal.wasm"), { memory, engine }),
    message,
  );
});

Deno.test("an engine without relaxed SIMD is told to take another build", () => {
  const engine = engineWithout("relaxed-simd");
  const memory = new WebAssembly.Memory({ initial: 1 });
  assert.throws(
    () =>
      instantiateKernels(readBuild("shoal.relaxed.wasm"), { memory, engine }),
    /no WebAssembly relaxed-simd: take a build that does not need it/,
  );
});

Deno.test("chooseBuild() falls back to one thread and to plain SIMD", () => {
  const everything = { threads: true, relaxed: true };
  const file = (...missing: EngineFeature[]) =>
    chooseBuild(everything, engineWithout(...missing)).file;
  assert.equal(file(), "shoal.relaxed-shared.wasm");
  assert.equal(file("threads"), "shoal.relaxed.wasm");
  assert.equal(file("relaxed-simd"), "shoal.shared.wasm");
  assert.equal(file("threads", "relaxed-simd"), "shoal.wasm");
  const plain = (...missing: EngineFeature[]) =>
    chooseBuild({ threads: true }, engineWithout(...missing));
  const bits = { shared: true, relaxed: false };
  assert.deepEqual(plain(), {
    build: "shoal.dot-shared",
    file: "shoal.dot-shared.wasm",
    ...bits,
  });
  assert.deepEqual(plain("relaxed-simd"), {
    build: "shoal.shared",
    file: "shoal.shared.wasm",
    ...bits,
  });
  assert.equal(chooseBuild({}, engineWithout()).file, "shoal.dot.wasm");
});

Deno.test("the dot builds are for engines whose dot products are exact, and tried only where there are any", () => {
  assert.equal(hasExactDots(engineWithout(), () => true), true);
  assert.equal(hasExactDots(engineWithout(), () => false), false);
  const never = () => assert.fail("nothing to try");
  assert.equal(hasExactDots(engineWithout("relaxed-simd"), never), false);
});

Deno.test("the chosen build runs over the memory it asks for", () => {
  for (const missing of [[], ["threads"]] as const) {
    const { file, shared } = chooseBuild(
      { threads: true },
      engineWithout(...missing),
    );
    const memory = createMemory({ bytes: 1 << 20, shared });
    const kernels = instantiateKernels(readBuild(file), { memory });
    assert.ok(kernels.shoal_static_end() > 0);
  }
});

Deno.test("an engine without threads shares no memory and starts no workers", async () => {
  const engine = engineWithout("threads");
  const message = /no WebAssembly threads \(run on one thread with a build/;
  assert.throws(() => checkFeatures(["simd", "threads"], engine), message);
  assert.throws(
    () => createMemory({ bytes: 1, shared: true }, engine),
    message,
  );
  assert.doesNotThrow(() => createMemory({ bytes: 1 }, engine));
  const model = lstm({ hidden: 4, vocabulary: 5, head: "classifier" });
  await assert.rejects(
    TensorExecutor.start({ models: [model], engine, onFatal() {} }),
    message,
  );
});

Deno.test("createMemory() holds what is asked for, up to 4 GiB less a page", () => {
  assert.equal(createMemory({ bytes: 65_537 }).buffer.byteLength, 131_072);
  assert.throws(
    () => createMemory({ bytes: 2 ** 32 - 65_535 }),
    /A memory of 4294901761 bytes is more than the 4 GiB that WebAssembly addresses, less a page/,
  );
  assert.throws(() => createMemory({ bytes: 0.5 }), /whole number of bytes/);
});
