/** Kernels on several threads: the same bits, whoever computes what, and nobody waits for the dead. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import {
  KernelTeam,
  type KernelTeamOptions,
} from "../../src/engine/wall/kernel_team.ts";
import {
  drawFloats,
  drawRows,
  drawSize,
  type KernelCase,
} from "./kernel_case.ts";
import {
  instantiateKernels,
  type KernelExports,
} from "../../src/kernels/module/module.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { place } from "./placement.ts";
import { KERNELS } from "./registry.ts";
import {
  MEETING,
  prepareTeam,
  teamBytes,
  type TeamPlace,
  ThreadMemory,
} from "../../src/kernels/team/block.ts";
import { KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import { TeamLeader, teamWays } from "../../src/kernels/team/leader.ts";
import { propertyRuns } from "../property_runs.ts";
import { withWatchedWorkers } from "../watched_workers.ts";
import { readBuild, release } from "./builds.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const PAGES = 256;
const PLANS = [1, 2, 3].map((threads) => ({
  threads,
  // Short tables, so that some batches are too long to be cut within rows.
  rowsMax: threads === 2 ? 32 : 256,
  scratchBytes: threads === 2 ? 4096 : 2 ** 18,
}));

interface TestTeam {
  team: KernelTeam;
  memory: WebAssembly.Memory;
  at: TeamPlace;
  /** First byte above the team's. */
  base: number;
}

function sharedMemory(maximum: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: PAGES, maximum, shared: true });
}

/** A team over a memory of its own that cuts whatever can be cut. */
async function startTeam(
  options: Partial<KernelTeamOptions> = {},
  build = "shoal.debug-shared.wasm",
): Promise<TestTeam> {
  const { memory = sharedMemory(PAGES) } = options;
  const kernels = readBuild(build);
  const plain = instantiateKernels(kernels, { memory });
  // Three threads have scratch memory, in which sums of a long K wait.
  const scratch = plain.shoal_static_end();
  const sumsBytes = options.threads === 3
    ? 3 * plain.shoal_scratch_bytes(0)
    : 0;
  const address = Math.ceil((scratch + sumsBytes) / 64) * 64;
  const team = await KernelTeam.start({
    kernels,
    memory,
    address,
    leastNs: 0,
    wakeNs: 0,
    ...(sumsBytes > 0 && {
      kernelScratch: { address: scratch, variants: 0 },
    }),
    ...options,
  });
  const {
    threads = 2,
    rowsMax = 1024,
    scratchBytes = 0,
  } = options;
  const plan = { threads, rowsMax, scratchBytes };
  return {
    team,
    memory,
    at: { ...plan, address },
    base: address + KernelTeam.bytes(plan),
  };
}

function bits(
  memory: WebAssembly.Memory,
  base: number,
  kernels: KernelExports,
  kernelCase: KernelCase,
): [string, Uint32Array][] {
  const placed = place(memory, kernelCase, { base });
  placed.run(kernels);
  placed.checkUntouched();
  return Object.keys(kernelCase.results)
    .filter((name) => kernelCase.results[name].type !== "address")
    .map((name) => [name, placed.bits(name)]);
}

for (const plan of PLANS) {
  Deno.test(`every kernel gives the same bits on ${plan.threads} thread(s)`, async () => {
    const { team, memory, base } = await startTeam(plan);
    try {
      for (const { name, cases } of KERNELS) {
        if (KERNEL_SPECS[name].cuts === "whole") continue;
        fc.assert(
          fc.property(seeds, (seed) => {
            const prng = new Prng(seed);
            const rows = prng.int(8) === 0 ? 121 + prng.int(5) : drawSize(prng);
            const kernelCase = cases({ prng, rows, exact: false });
            const alone = bits(
              release.memory,
              release.base,
              release.kernels,
              kernelCase,
            );
            const shared = bits(memory, base, team.kernels, kernelCase);
            assert.deepEqual(shared, alone, `${name}: ${kernelCase.label}`);
          }),
          { numRuns: propertyRuns(30) },
        );
      }
    } finally {
      await team.close();
    }
  });
}

/** A GEMM that is cut by columns and takes about a millisecond: long enough for others to come and help. */
const gemmCase: KernelCase = (() => {
  const [m, n, k] = [60, 1024, 256];
  const draw = { prng: new Prng(1), rows: m, exact: false };
  return {
    label: `${m}x${n}x${k}`,
    rows: m,
    inputs: { a: drawRows(draw, k) },
    blocks: {
      w: packGemm({ n, k, weight: drawFloats(draw, n * k), layout: "nk" }),
    },
    results: { c: { width: n, type: "f32" } },
    call: (kernels, at, rows) =>
      kernels.gemm_f32(rows, n, k, at.a, 0, 0, at.w, at.c, 0),
    expected: () => ({}),
    tolerance: 0,
    flops: 2 * m * n * k,
  };
})();
const gemmBits = bits(
  release.memory,
  release.base,
  release.kernels,
  gemmCase,
);

Deno.test("other threads do take part", async () => {
  const { team, memory, at, base } = await startTeam({ threads: 3 });
  try {
    // A thread that takes a part of columns leaves its tables behind.
    const tables = [1, 2].map((thread) => {
      const own = new ThreadMemory(team.kernels, memory, at, thread);
      own.reset();
      return own.take(1) >>> 2;
    });
    const words = new Int32Array(memory.buffer);
    const took = () => tables.every((own) => Atomics.load(words, own) !== 0);
    const placed = place(memory, gemmCase, { base });
    for (let calls = 0; !took(); calls++) {
      placed.run(team.kernels);
      assert(calls < 1e5, "both helpers have taken a part by now");
    }
    assert.deepEqual([["c", placed.bits("c")]], gemmBits);
  } finally {
    await team.close();
  }
});

Deno.test("a call that traps on any thread throws, and the next one is served", async () => {
  const { team, memory, base } = await startTeam({}, "shoal.shared.wasm");
  try {
    const outside: KernelCase = {
      ...gemmCase,
      call: (kernels, at, m) =>
        gemmCase.call(kernels, { ...at, a: memory.buffer.byteLength }, m),
    };
    const placed = place(memory, outside, { base });
    for (let i = 0; i < 50; i++) {
      assert.throws(() => placed.run(team.kernels), WebAssembly.RuntimeError);
    }
    assert.deepEqual(bits(memory, base, team.kernels, gemmCase), gemmBits);
  } finally {
    await team.close();
  }
});

/** A leader without threads, whose kernels' first call does something else as well. */
function leaderWith(first: (words: Int32Array, address: number) => void) {
  const memory = new WebAssembly.Memory({
    initial: PAGES,
    maximum: PAGES,
    shared: true,
  });
  const kernels = instantiateKernels(readBuild("shoal.shared.wasm"), {
    memory,
  });
  const plan = { threads: 2, rowsMax: 256, scratchBytes: 0 };
  const address = Math.ceil(kernels.shoal_static_end() / 64) * 64;
  const at: TeamPlace = { ...plan, address };
  prepareTeam(memory, at);
  const words = new Int32Array(memory.buffer);
  let calls = 0;
  const leader = new TeamLeader(
    {
      ...kernels,
      gemm_f32(...args) {
        if (calls++ === 0) first(words, address);
        kernels.gemm_f32(...args);
      },
    },
    memory,
    at,
    teamWays({ leastNs: 0, wakeNs: 0, patienceMs: 60 }),
  );
  return { leader, memory, base: address + teamBytes(plan) };
}

Deno.test("a leader gives up on a thread that took a part and died", () => {
  const { leader, memory, base } = leaderWith((words, address) =>
    Atomics.add(words, (address + MEETING.gate) >>> 2, 1)
  );
  const call = () => bits(memory, base, leader.kernels, gemmCase);
  const message = /took part of a call and did not come back within 60 ms/;
  assert.throws(call, message);
  assert.throws(call, message, "it does not wait a second time");
});

Deno.test("a leader tells what another thread could not do", () => {
  const { leader, memory, base } = leaderWith((words, address) => {
    const at = (offset: number) => (address + offset) >>> 2;
    Atomics.store(words, at(MEETING.failed), 1);
    words[at(MEETING.errorBytes)] = 9;
    new Uint8Array(words.buffer).set(
      new TextEncoder().encode("no memory"),
      address + MEETING.errorText,
    );
  });
  const call = () => bits(memory, base, leader.kernels, gemmCase);
  assert.throws(call, {
    name: "RuntimeError",
    message: "gemm_f32 failed on a thread of its team: no memory",
  });
  assert.deepEqual(call(), gemmBits);
});

Deno.test("a leader without helpers does everything itself", () => {
  const { leader, memory, base } = leaderWith(() => {});
  assert.deepEqual(bits(memory, base, leader.kernels, gemmCase), gemmBits);
  leader.close();
  assert.deepEqual(bits(memory, base, leader.kernels, gemmCase), gemmBits);
});

Deno.test("KernelTeam.close() ends all threads, and leaves kernels that work", async () => {
  await withWatchedWorkers(async (workers) => {
    const { team, memory, base } = await startTeam({ threads: 3 });
    assert.deepEqual(workers.map(({ ended }) => ended), [false, false]);
    bits(memory, base, team.kernels, gemmCase);
    await team.close();
    assert.deepEqual(workers.map(({ ended }) => ended), [true, true]);
    assert.deepEqual(bits(memory, base, team.kernels, gemmCase), gemmBits);
  });
});

Deno.test("calls over memory that has grown since a team was started have the same bits", async () => {
  const { team, memory } = await startTeam({
    threads: 3,
    memory: sharedMemory(2 * PAGES),
  });
  try {
    const base = memory.buffer.byteLength;
    memory.grow(PAGES);
    // Operands and tables where nobody's view of the memory reaches.
    assert.deepEqual(bits(memory, base, team.kernels, gemmCase), gemmBits);
  } finally {
    await team.close();
  }
});

Deno.test("KernelTeam.start() refuses what cannot be", async () => {
  const memory = new WebAssembly.Memory({
    initial: 4,
    maximum: 4,
    shared: true,
  });
  const kernels = readBuild("shoal.shared.wasm");
  const start = (options: Partial<KernelTeamOptions>) =>
    KernelTeam.start({ kernels, memory, address: 65536, ...options });
  for (
    const [options, message] of [
      [{ threads: 0 }, /"threads" is an integer of at least 1, got 0/],
      [{ rowsMax: 1.5 }, /"rowsMax" is an integer of at least 1, got 1.5/],
      [{ scratchBytes: -1 }, /"scratchBytes" is an integer of at least 0/],
      [{ leastNs: NaN }, /"leastNs" is at least 0, got NaN/],
      [
        { address: 65540 },
        /inside memory, 64-byte aligned, .*; 65540 of 262144/,
      ],
      [{ address: 262144 }, /inside memory, .*; 262144 of 262144 does not do/],
      // There a team would write over the constants of all instances.
      [{ address: 0 }, /from shoal_static_end\(\) = \d+ on; 0 of 262144 does/],
    ] as const
  ) await assert.rejects(start(options), { name: "RangeError", message });
  await assert.rejects(
    start({ memory: new WebAssembly.Memory({ initial: 4 }) }),
    /A team's memory is shared between threads; this is not/,
  );
});
