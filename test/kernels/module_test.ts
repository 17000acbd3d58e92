import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readdirSync } from "node:fs";
import {
  ABI_VERSION,
  instantiateKernels,
} from "../../src/kernels/module/module.ts";
import { supports } from "../../src/kernels/module/features.ts";
import { builds, loadBuild, readBuild, release } from "./builds.ts";

Deno.test("release builds import a memory and nothing else, and allocate nothing", () => {
  const files = readdirSync(new URL("../../build/", import.meta.url))
    .filter((file) =>
      /^shoal(\.dot|\.relaxed|\.shared|\.dot-shared|\.relaxed-shared)?\.wasm$/
        .test(file)
    );
  assert.equal(files.length, 6);
  for (const file of files) {
    if (/relaxed|dot/.test(file) && !supports("relaxed-simd")) continue;
    const module = new WebAssembly.Module(readBuild(file));
    assert.deepEqual(
      WebAssembly.Module.imports(module).map(({ module, name }) =>
        `${module}.${name}`
      ),
      ["env.memory"],
      file,
    );
    const names = WebAssembly.Module.exports(module).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.startsWith("__")), [], file);
  }
});

// Nothing computed shows whether weights were touched (assembly/touch.ts): a compiler that finds their loads unused
// drops them. It may not while they end in a global that is read again, and this one drops globals that are not.
Deno.test("release builds keep what they touch ahead of use", () => {
  const [mutable, v128Const, end] = [1, [0xfd, 0x0c], 0x0b];
  const kept = Buffer.from(
    [0x7b, mutable, ...v128Const, ...new Array(16).fill(0), end],
  );
  for (const file of ["shoal.wasm", "shoal.dot.wasm", "shoal.relaxed.wasm"]) {
    assert(Buffer.from(readBuild(file)).includes(kept), file);
  }
});

Deno.test("every build states its ABI and the end of its static data", () => {
  for (const { kernels, name } of builds) {
    assert.equal(kernels.shoal_abi_version(), ABI_VERSION, name);
    const end = kernels.shoal_static_end();
    // From 192 on: pointers to weights may be moved back by as much (CHUNK_OFFSET).
    assert.ok(end >= 192 && end % 16 === 0 && end < 65536, name);
  }
});

Deno.test("instantiateKernels() refuses a memory of the other kind", () => {
  const plain = new WebAssembly.Memory({ initial: 1 });
  const shared = new WebAssembly.Memory({
    initial: 1,
    maximum: 1,
    shared: true,
  });
  assert.throws(
    () => instantiateKernels(readBuild("shoal.shared.wasm"), { memory: plain }),
    /65536 bytes, not shared.*shared memory needs a shared build/,
  );
  assert.throws(
    () => instantiateKernels(readBuild("shoal.wasm"), { memory: shared }),
    /65536 bytes, shared/,
  );
});

Deno.test("instantiateKernels() refuses bytes that are no module, and foreign modules", () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  assert.throws(
    () => instantiateKernels(new Uint8Array([1, 2, 3]), { memory }),
    WebAssembly.CompileError,
  );
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  assert.throws(
    () => instantiateKernels(empty, { memory }),
    /ABI version is undefined, expected/,
  );
});

Deno.test("supports() agrees with what this engine compiles", () => {
  assert.ok(supports("simd"));
  assert.ok(supports("threads"));
  assert.equal(
    supports("relaxed-simd"),
    WebAssembly.validate(readBuild("shoal.relaxed.wasm")),
  );
});

Deno.test("debug builds trap with a message on broken arguments", () => {
  const { kernels, memory, base } = loadBuild("shoal.debug.wasm");
  const end = memory.buffer.byteLength;
  const calls: [() => void, RegExp][] = [
    [
      () => kernels.relu_f32(1, 4, base + 2, base + 2),
      /row table is not 4-byte aligned/,
    ],
    [() => kernels.relu_f32(1, 4, 0, 0), /address lies in the static data/],
    [() => kernels.relu_f32(-1, 4, base, base), /row count is negative/],
    [() => kernels.relu_f32(0, 0, base, base), /dimension is too small/],
    [
      () => kernels.gemm_f32(0, 8, 1, base, 0, 0, base + 4, base, 0),
      /not 16-byte aligned/,
    ],
    [
      () => kernels.gemm_f32(0, 8, 1, base, 0, 0, base, base, 9),
      /unknown activation/,
    ],
    [
      () => kernels.gemm_f32(0, 8, 1, base, 0, 0, end - 32, base, 0),
      /ends outside memory/,
    ],
    [
      () => kernels.tree_internal_f32(0, 4, 9, base, base, base, base, base),
      /arity/,
    ],
  ];
  for (const [call, message] of calls) assert.throws(call, message);
});

Deno.test("gather_rows() names the first row whose id is out of range", () => {
  const { kernels, memory, base } = release;
  const words = new Int32Array(memory.buffer);
  const at = (word: number) => base + 4 * word;
  for (
    const [ids, count, expected] of [[[0, 2, 1], 3, -1], [[0, 3, 9], 3, 1], [
      [-1],
      3,
      0,
    ]] as const
  ) {
    ids.forEach((id, i) => {
      words[base / 4 + i] = id;
      words[base / 4 + 8 + i] = at(i);
    });
    assert.equal(
      kernels.gather_rows(ids.length, at(8), at(32), 8, count, at(16)),
      expected,
    );
  }
});

Deno.test("elementwise kernels may write over their input", () => {
  const { kernels, memory, base } = release;
  const words = new Uint32Array(memory.buffer);
  const row = base + 16;
  words[base / 4] = row;
  const view = new Float32Array(memory.buffer, row, 7);
  view.set([1, -2, 3, -4, 5, -6, 7]);
  kernels.relu_f32(1, 7, base, base);
  assert.deepEqual([...view], [1, 0, 3, 0, 5, 0, 7]);
  kernels.add_f32(1, 7, base, base, base);
  assert.deepEqual([...view], [2, 0, 6, 0, 10, 0, 14]);
});
