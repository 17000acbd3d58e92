import assert from "node:assert/strict";
import { Arena } from "../../src/kernels/host/arena.ts";
import { checkedKernels } from "../../src/kernels/host/checked_kernels.ts";
import { practiceCall } from "../../src/kernels/host/practice_call.ts";
import { KERNEL_NAMES } from "../../src/kernels/spec/registry.ts";
import { loadBuild } from "./builds.ts";

const { kernels, memory, base } = loadBuild("shoal.debug.wasm");
const checked = checkedKernels(kernels, memory);

for (const name of KERNEL_NAMES) {
  Deno.test(`${name} can be practised with any batch and choice`, () => {
    const kernel = checked[name] as (...args: number[]) => void;
    // What lies in memory from before is of no meaning.
    new Uint8Array(memory.buffer, base).fill(0xff);
    for (let choice = 0; choice < 8; choice++) {
      for (const rows of [0, 1, 2, 5, 20]) {
        const arena = new Arena(memory, base);
        const args = practiceCall(name, { kernels, arena, rows, choice });
        assert.doesNotThrow(() => kernel(...args));
      }
    }
  });
}
