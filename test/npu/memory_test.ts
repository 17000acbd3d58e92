import assert from "node:assert/strict";
import fc from "fast-check";
import { closedForm } from "../../src/npu/closed_form.ts";
import {
  checkConfig,
  type NpuConfig,
  NUMBER_FORMATS,
  parseConfigJson,
} from "../../src/npu/config.ts";
import type { Gemm } from "../../src/npu/dataflow.ts";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import { embedding, matmul, pool } from "../../src/npu/layers.ts";
import { lowerBound } from "../../src/npu/memory/bound.ts";
import { dramTiming } from "../../src/npu/memory/dram.ts";
import { NO_STALLS } from "./no_stalls.ts";
import {
  type LayerTime,
  layerTime,
  tiledTime,
} from "../../src/npu/memory/layer_time.ts";
import {
  type Program,
  runPipeline,
  type Step,
} from "../../src/npu/memory/pipeline.ts";
import { tileProgram } from "../../src/npu/memory/tile_program.ts";
import {
  cutOf,
  fits,
  ifmapWords,
  leastRoom,
  roomOf,
  type Tiling,
  tilings,
} from "../../src/npu/memory/tiling.ts";
import { preset, PRESETS } from "../../src/npu/presets.ts";
import { propertyRuns } from "../property_runs.ts";
import { layers, machines, slack, smallest } from "./machines.ts";

const KIB = 1024;
const NOTHING_ON_CHIP = { ifmap: false, ofmap: false };

Deno.test("a layer takes at least its busiest resource and at most all work in series", () => {
  fc.assert(
    fc.property(machines, layers, slack, (machine, layer, more) => {
      const config = smallest(machine, { layer, more });
      const time = layerTime(layer, config);
      const bytes = time.bytesRead + time.bytesWritten;
      const bytesPerCycle = config.dram.bytesPerSecond / config.clockHz;
      assert.ok(time.cycles >= time.arrayCycles);
      assert.ok(time.cycles >= time.vectorCycles);
      assert.ok(time.cycles >= time.dramCycles);
      assert.ok(time.dramCycles >= Math.floor(bytes / bytesPerCycle));
      const serial = aloneCycles(layer, { config, time }) + time.vectorCycles +
        time.dramCycles + time.requests * config.dram.latencyCycles;
      assert.ok(time.cycles <= serial, `${time.cycles} > ${serial}`);
      assert.equal(time.stallCycles, time.cycles - time.arrayCycles);
    }),
    { numRuns: propertyRuns(150) },
  );
});

/** Cycles of the layer's tiles, each alone on the array. */
function aloneCycles(
  layer: LayerSpec,
  { config, time }: { config: NpuConfig; time: LayerTime },
): number {
  const { array, dataflow, mode } = config;
  return layer.gemms.reduce((sum, work, i) => {
    const program = tileProgram(time.tilings[i], {
      work,
      config,
      dram: NO_STALLS,
      onChip: NOTHING_ON_CHIP,
      vectorTicks: 0,
    });
    return unrolled(program).reduce((cycles, { tile }) => {
      const { mapping, sr, sc, t } = tile!.grid;
      const gemm = {
        [mapping.rows]: sr,
        [mapping.cols]: sc,
        [mapping.time]: t,
      };
      const form = closedForm(gemm as unknown as Gemm, array, {
        dataflow,
        mode,
      });
      return cycles + tile!.copies * form.totalCycles;
    }, sum);
  }, 0);
}

Deno.test("a layer writes its results once, and reads every operand once where all of it fits", () => {
  fc.assert(
    fc.property(machines, layers, slack, (machine, layer, more) => {
      const operand = NUMBER_FORMATS[machine.format].operandBytes;
      const sum = (of: (work: LayerSpec["gemms"][number]) => number) =>
        layer.gemms.reduce((total, work) => total + of(work), 0) * operand;
      const written = sum(({ gemm, copies }) => copies * gemm.m * gemm.n) +
        layer.extraWriteWords * operand;
      const once = layer.extraReadWords * operand + sum((work) => {
        const { gemm: { m, n, k }, copies } = work;
        return copies * (k * n + ifmapWords(work, m, k));
      });
      const time = layerTime(layer, smallest(machine, { layer, more }));
      assert.equal(time.bytesWritten, written);
      assert.ok(time.bytesRead >= once);
      const big = layerTime(layer, {
        ...machine,
        activationBytes: 2 ** 30,
        weightBytes: 2 ** 30,
        accumulatorBytes: 2 ** 30,
        // A byte takes longer than all else together: nothing may be loaded twice.
        dram: {
          channels: 1,
          burstBytes: 1,
          latencyCycles: 0,
          bytesPerSecond: 1,
        },
      });
      assert.equal(big.bytesRead, once);
      assert.equal(big.bytesWritten, written);
    }),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("a layer is never slower with more bandwidth or a bigger scratchpad", () => {
  const bytesPerSecond = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 400_000 }).map((mb) => mb * 1_000_000),
  );
  fc.assert(
    fc.property(
      fc.tuple(machines, layers, slack, slack, bytesPerSecond),
      ([machine, layer, more, evenMore, faster]) => {
        const config = smallest(machine, { layer, more });
        const bigger: NpuConfig = {
          ...config,
          activationBytes: config.activationBytes + evenMore.activationBytes,
          weightBytes: config.weightBytes + evenMore.weightBytes,
          accumulatorBytes: config.accumulatorBytes + evenMore.accumulatorBytes,
          dram: {
            ...config.dram,
            bytesPerSecond: config.dram.bytesPerSecond + faster,
          },
        };
        const [less, full] = [config, bigger].map((one) =>
          layerTime(layer, one).cycles
        );
        assert.ok(full <= less, `${full} > ${less}`);
      },
    ),
    { numRuns: propertyRuns(150) },
  );
});

Deno.test("the smallest memories are the least a layer runs on, and one byte less is refused", () => {
  fc.assert(
    fc.property(machines, layers, (machine, layer) => {
      fc.pre(layer.gemms.length === 1 && layer.extraReadWords === 0);
      const more = { activationBytes: 0, weightBytes: 0, accumulatorBytes: 0 };
      const config = smallest(machine, { layer, more });
      layerTime(layer, config);
      const [work] = layer.gemms;
      const room = leastRoom(work, { config, onChip: NOTHING_ON_CHIP });
      for (
        const memory of [
          "activationBytes",
          "weightBytes",
          "accumulatorBytes",
        ] as const
      ) {
        if (room[memory] === 0) continue;
        const less = { ...config, [memory]: config[memory] - 1 };
        assert.throws(
          () => layerTime(layer, less),
          new RegExp(
            `^RangeError: ${layer.name}: its smallest tile does not fit on any; ` +
              `that needs at least ${room[memory]} ${memory} \\(it has ${
                room[memory] - 1
              }\\)$`,
          ),
        );
      }
    }),
    { numRuns: propertyRuns(50) },
  );
});

Deno.test("the DRAM port reaches 99 % of its peak when streaming", () => {
  const config = preset("lazybatching");
  const dram = dramTiming(config.dram, config.clockHz);
  assert.equal(dram.transferTicks(3600 * 512) / dram.ticksPerCycle, 7 * 512);
  // A batch-1 fully connected layer is its weights: 64 MiB of them, at a quarter of the bandwidth
  // the array could take them at.
  const slower = {
    ...config,
    dram: { ...config.dram, bytesPerSecond: 90_000_000_000 },
  };
  const weights = layerTime(
    matmul("fc", { inputs: 4096, outputs: 8192 }),
    slower,
  );
  assert.equal(weights.bound, "memory");
  const peakCycles = (weights.bytesRead + weights.bytesWritten) * 7 / 900;
  assert.ok(
    peakCycles / weights.cycles >= 0.99,
    `${peakCycles / weights.cycles}`,
  );
});

Deno.test("streams reach 99 % of the DRAM's peak on any machine whose pieces cover the latency", () => {
  const words = fc.integer({ min: 1 << 24, max: 1 << 26 });
  fc.assert(
    fc.property(machines, words, (machine, rows) => {
      const bytesPerCycle = machine.dram.bytesPerSecond / machine.clockHz;
      fc.pre(machine.dram.latencyCycles * bytesPerCycle <= 64 * KIB);
      const time = layerTime(embedding("rows", { width: 1, rows }), machine);
      const bytes = time.bytesRead + time.bytesWritten;
      const share = bytes / bytesPerCycle / time.cycles;
      assert.ok(share >= 0.99, `${share}`);
    }),
    { numRuns: propertyRuns(100) },
  );
});

/** A program with its loops written out. */
function unrolled(program: Program): Step[] {
  return program.flatMap((part) =>
    "body" in part
      ? Array.from({ length: part.rounds }, () => unrolled(part.body)).flat()
      : [part]
  );
}

/** A tiling of the layer's first GEMM that fits the machine. */
function someTiling(
  layer: LayerSpec,
  { config, pick }: { config: NpuConfig; pick: number },
): Tiling {
  const [work] = layer.gemms;
  const allowed = [...tilings(work, config.array)].filter((tiling) =>
    fits(roomOf(work, tiling, { config, onChip: NOTHING_ON_CHIP }), config)
  );
  return allowed[pick % allowed.length];
}

Deno.test("skipping through a loop's rounds gives what running them all gives, and bounds hold", () => {
  fc.assert(
    fc.property(machines, layers, slack, fc.nat(), (...args) => {
      const [machine, layer, more, pick] = args;
      fc.pre(layer.gemms.length > 0);
      const config = smallest(machine, { layer, more });
      const dram = dramTiming(config.dram, config.clockHz);
      const [work] = layer.gemms;
      const tiling = someTiling(layer, { config, pick });
      const context = {
        work,
        config,
        dram,
        onChip: NOTHING_ON_CHIP,
        vectorTicks: 1_000,
      };
      const program = tileProgram(tiling, context);
      const options = {
        dram,
        preloadTicks: 5,
        preloaded: "filter" as const,
      };
      const flat = unrolled(program);
      fc.pre(flat.length <= 5_000);
      assert.deepEqual(
        runPipeline(program, options),
        runPipeline(flat, options),
      );
      assert.ok(
        lowerBound(tiling, context) <= tiledTime(tiling, context).endTicks,
      );
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("tiles that are not on chip are loaded, and no others", () => {
  fc.assert(
    fc.property(machines, layers, slack, fc.nat(), (...args) => {
      const [machine, layer, more, pick] = args;
      fc.pre(layer.gemms.length > 0);
      const config = smallest(machine, { layer, more });
      const [work] = layer.gemms;
      const tiling = someTiling(layer, { config, pick });
      const result = tiledTime(tiling, {
        work,
        config,
        dram: dramTiming(config.dram, config.clockHz),
        onChip: NOTHING_ON_CHIP,
        vectorTicks: 0,
      });
      const words = wordsLoaded(tiling, work);
      const { operandBytes } = NUMBER_FORMATS[config.format];
      assert.equal(result.bytesRead, words * operandBytes);
    }),
    { numRuns: propertyRuns(200) },
  );
});

/** Walks the tiles one by one with the names of the tiles that are on chip. */
function wordsLoaded(
  tiling: Tiling,
  work: LayerSpec["gemms"][number],
): number {
  const sizes = (extent: number, size: number) => {
    const { full, rest } = cutOf(extent, size);
    return [...Array(full).fill(size), ...(rest > 0 ? [rest] : [])] as number[];
  };
  const { gemm } = work;
  const onChip = { ifmap: new Set<string>(), filter: new Set<string>() };
  let words = 0;
  const load = (operand: "ifmap" | "filter", name: string, count: number) => {
    if (onChip[operand].has(name)) return;
    if (!tiling[`${operand}Resident`]) onChip[operand].clear();
    onChip[operand].add(name);
    words += count;
  };
  const inner = tiling.outer === "m" ? "n" : "m";
  sizes(work.copies, tiling.copies).forEach((copies, c) =>
    sizes(gemm[tiling.outer], tiling[tiling.outer]).forEach((first, i) =>
      sizes(gemm[inner], tiling[inner]).forEach((second, j) =>
        sizes(gemm.k, tiling.k).forEach((k, x) => {
          const [m, n] = inner === "n" ? [first, second] : [second, first];
          const [atM, atN] = inner === "n" ? [i, j] : [j, i];
          load("ifmap", `${c} ${atM} ${x}`, copies * ifmapWords(work, m, k));
          load("filter", `${c} ${atN} ${x}`, copies * k * n);
        })
      )
    )
  );
  return words;
}

Deno.test("layerTime() names the layer and the memory if nothing fits", () => {
  const config = { ...preset("gemmini"), weightBytes: 16 };
  assert.throws(
    () => layerTime(matmul("fc1", { inputs: 64, outputs: 64 }), config),
    /fc1: its smallest tile does not fit on Gemmini default; that needs at least 512 weightBytes \(it has 16\)/,
  );
  const tiny = { ...preset("gemmini"), activationBytes: 512 };
  const layer = { channels: 16, height: 20, width: 20, filter: 2, stride: 2 };
  assert.throws(
    () => layerTime(pool("pool1", layer), tiny),
    /pool1: its stream needs at least \d+ activationBytes, Gemmini default has 512/,
  );
});

Deno.test("parseConfigJson() reads a part over a preset and refuses unknown keys", () => {
  const base = preset("lazybatching");
  const config = parseConfigJson('{"array":{"rows":64},"format":"int8"}', {
    file: "a.json",
    base,
  });
  assert.deepEqual(config.array, { rows: 64, cols: 128 });
  assert.equal(config.format, "int8");
  const bad = (text: string, message: RegExp) =>
    assert.throws(
      () => parseConfigJson(text, { file: "a.json", base }),
      message,
    );
  bad('{"arrray":{}}', /a\.json:1:2: unknown key "arrray"; known: name, /);
  bad('{"array":{"row":1}}', /a\.json:1:11: unknown key "array\.row"/);
  bad(
    '{"array":{"rows":0}}',
    /a\.json:1:11: array\.rows must be an integer of at least 1, got 0/,
  );
  bad('{\n"clockHz":"fast"}', /a\.json:2:1: key "clockHz" must be a number/);
  bad("{", /a\.json: not JSON/);
});

Deno.test("every preset is a valid configuration", () => {
  for (const name of Object.keys(PRESETS)) checkConfig(preset(name));
  assert.throws(
    () => preset("tpu-v9"),
    /unknown preset "tpu-v9"; known: lazybatching, /,
  );
});
