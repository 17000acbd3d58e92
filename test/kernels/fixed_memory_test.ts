import assert from "node:assert/strict";
import fc from "fast-check";
import {
  fixMemory,
  shareMemory,
} from "../../src/kernels/module/fixed_memory.ts";
import { createMemory, PAGE_BYTES } from "../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { readBuild } from "./builds.ts";

const files = [["shoal.wasm", false], ["shoal.shared.wasm", true]] as const;

function links(
  bytes: Uint8Array<ArrayBuffer>,
  limits: WebAssembly.MemoryDescriptor,
): boolean {
  const memory = new WebAssembly.Memory(limits);
  try {
    new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      env: { memory },
    });
    return true;
  } catch (error) {
    assert.ok(error instanceof WebAssembly.LinkError);
    return false;
  }
}

Deno.test("fixMemory() makes a build for memories of exactly one size", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...files),
      fc.integer({ min: 2, max: 300 }),
      ([file, shared], pages) => {
        const fixed = fixMemory(readBuild(file), pages);
        const size = (initial: number, maximum: number) =>
          links(fixed, { initial, maximum, shared });
        assert.ok(size(pages, pages));
        assert.ok(!size(pages, pages + 1), "that memory may grow");
        assert.ok(!size(pages - 1, pages - 1), "that memory is too small");
        // A second time, too.
        const again = fixMemory(fixed, pages + 1);
        assert.deepEqual(again, fixMemory(readBuild(file), pages + 1));
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("fixMemory() leaves modules alone that import anything else", () => {
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  assert.equal(fixMemory(empty, 3), empty);
  // (module (import "a" "b" (global i32)))
  const other = new Uint8Array([
    ...empty,
    ...[2, 8, 1, 1, 97, 1, 98, 3, 0x7f, 0],
  ]);
  assert.ok(WebAssembly.validate(other));
  assert.equal(fixMemory(other, 3), other);
});

Deno.test("instantiateKernels() takes memories that may grow and such that may not, and gives the same bits", () => {
  for (const [file, shared] of files) {
    const results = [
      createMemory({ bytes: 3 * PAGE_BYTES, shared }),
      new WebAssembly.Memory({ initial: 3, maximum: 4, shared }),
    ].map((memory) => {
      const kernels = instantiateKernels(readBuild(file), { memory });
      const base = kernels.shoal_static_end();
      const row = base + 16;
      new Uint32Array(memory.buffer)[base / 4] = row;
      const view = new Float32Array(memory.buffer, row, 5);
      view.set([-2, -0.5, 0, 0.3, 7]);
      kernels.tanh_f32(1, 5, base, base);
      return [...view];
    });
    assert.deepEqual(results[0], results[1]);
  }
});

Deno.test("shareMemory() makes the builds that the compiler makes over shared memory", () => {
  for (const kind of ["", ".debug", ".dot", ".relaxed"]) {
    const name = kind === "" ? "shoal.shared" : `shoal${kind}-shared`;
    assert.deepEqual(
      shareMemory(readBuild(`shoal${kind}.wasm`)),
      readBuild(`${name}.wasm`),
      name,
    );
  }
});
