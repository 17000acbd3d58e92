/** Kernels compare addresses with ends, and behind 4 GiB is address 0: no operand ends there. */
import assert from "node:assert/strict";
import { Arena } from "../../src/kernels/host/arena.ts";
import { checkCall } from "../../src/kernels/host/check_call.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import {
  createMemory,
  PAGE_BYTES,
  PAGES_MAX,
} from "../../src/kernels/module/memory.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { readBuild } from "./builds.ts";

const END = PAGES_MAX * PAGE_BYTES;
const WIDTH = 64;

/** A memory, or none where there is no room for so many addresses. */
function memoryOf(
  make: () => WebAssembly.Memory,
): WebAssembly.Memory | undefined {
  try {
    return make();
  } catch {
    console.log("skipped, no room for 4 GiB of addresses");
  }
}

Deno.test("rows at the end of the largest memory are computed", () => {
  const memory = memoryOf(() => createMemory({ bytes: END }));
  if (!memory) return;
  const kernels = instantiateKernels(readBuild("shoal.wasm"), { memory });
  const arena = new Arena(memory, kernels.shoal_static_end());
  const { table } = arena.rowsAt([END - 4 * WIDTH], WIDTH, "f32");
  const row = new Float32Array(memory.buffer, END - 4 * WIDTH, WIDTH);

  row.fill(-3);
  kernels.relu_f32(1, WIDTH, table, table);
  assert(row.every((x) => x === 0));
  kernels.softmax_rows_f32(1, WIDTH, table, table);
  assert(row.every((x) => x === 1 / WIDTH));
});

Deno.test("no operand is placed in the last page of 4 GiB, and none is accepted there", () => {
  const memory = memoryOf(() => new WebAssembly.Memory({ initial: 2 ** 16 }));
  if (!memory) return;
  const last = new Arena(memory, END - 128);
  last.reserve(128);
  assert.throws(() => last.reserve(1), /leave the last page alone/);

  const kernels = instantiateKernels(readBuild("shoal.wasm"), { memory });
  const arena = new Arena(memory, kernels.shoal_static_end());
  const relu = (address: number) => {
    const { table } = arena.rowsAt([address], WIDTH, "f32");
    checkCall("relu_f32", [1, WIDTH, table, table], { kernels, memory });
  };
  relu(END - 4 * WIDTH);
  assert.throws(
    () => relu(END - 4 * WIDTH + 4),
    /ends in the last page of 4 GiB, which kernels leave alone/,
  );
});

Deno.test("debug builds trap where an operand ends in the last page of 4 GiB", () => {
  const memory = memoryOf(() => new WebAssembly.Memory({ initial: 2 ** 16 }));
  if (!memory) return;
  const kernels = instantiateKernels(readBuild("shoal.debug.wasm"), { memory });
  const arena = new Arena(memory, kernels.shoal_static_end());
  const relu = (address: number) => {
    const { table } = arena.rowsAt([address], WIDTH, "f32");
    kernels.relu_f32(1, WIDTH, table, table);
  };
  relu(END - 4 * WIDTH);
  assert.throws(() => relu(2 ** 32 - 4 * WIDTH), /ends outside memory/);
});

Deno.test("scratch memory of 2 GiB and more is given whole, and refused where it ends outside memory", () => {
  const memory = memoryOf(() => createMemory({ bytes: END }));
  if (!memory) return;
  const kernels = instantiateKernels(readBuild("shoal.wasm"), { memory });
  const host = new KernelHost(kernels, memory);
  assert.equal(host.attentionScratch(2 ** 25).length, 2 ** 29);

  const arena = new Arena(memory, kernels.shoal_static_end());
  const lengths = arena.block(Int32Array.of(2 ** 26)).address;
  const few = arena.block(Int32Array.of(1)).address;
  const [row, out] = [1, 1].map((width) => arena.rows(1, width, "f32").table);
  const v = arena.reserve(4);
  const [keys, values] = [2 ** 30, 2 ** 31].map((at) =>
    arena.rowsAt([at], 2 ** 26, "f32").table
  );
  const scratch = END - 1024;
  assert.throws(
    () =>
      checkCall("attention_f32", [
        ...[1, 1, 1, 1, 2 ** 25, 1, 0, row, keys, values],
        ...[few, 0, out, scratch],
      ], { kernels, memory }),
    /attention_f32: scratch \(2147483648 bytes at \d+\) ends outside memory/,
  );
  assert.throws(
    () =>
      checkCall("additive_attention_f32", [
        ...[1, 1, 1, row, v, keys, values, lengths, out, scratch],
      ], { kernels, memory }),
    /additive_attention_f32: scratch \(268435456 bytes at \d+\) ends outside memory/,
  );
});
