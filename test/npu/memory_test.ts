import assert from "node:assert/strict";
import fc from "fast-check";
import { closedForm } from "../../src/npu/closed_form.ts";
import {
  checkConfig,
  type NpuConfig,
  parseConfigJson,
} from "../../src/npu/config.ts";
import { DATAFLOWS } from "../../src/npu/dataflow.ts";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import { dramTiming, NO_STALLS } from "../../src/npu/memory/dram.ts";
import { layerTime } from "../../src/npu/memory/layer_time.ts";
import { lowerBound } from "../../src/npu/memory/bound.ts";
import { type Program, runPipeline } from "../../src/npu/memory/pipeline.ts";
import { tiledTime } from "../../src/npu/memory/layer_time.ts";
import { tileProgram } from "../../src/npu/memory/tile_program.ts";
import { fits, roomOf, tilings } from "../../src/npu/memory/tiling.ts";
import { conv, embedding, matmul } from "../../src/npu/layers.ts";
import { preset } from "../../src/npu/presets.ts";
import { propertyRuns } from "../property_runs.ts";

const KIB = 1024;

const configs: fc.Arbitrary<NpuConfig> = fc.record({
  name: fc.constant("any"),
  source: fc.constant("test"),
  array: fc.record({
    rows: fc.integer({ min: 1, max: 32 }),
    cols: fc.integer({ min: 1, max: 32 }),
  }),
  dataflow: fc.constantFrom(...DATAFLOWS),
  mode: fc.constantFrom("causal" as const, "overlapped" as const),
  clockHz: fc.constantFrom(200_000_000, 700_000_000, 1_000_000_000),
  format: fc.constantFrom("int8" as const, "bf16" as const, "f32" as const),
  activationBytes: fc.integer({ min: 32, max: 512 }).map((kib) => kib * KIB),
  weightBytes: fc.integer({ min: 32, max: 512 }).map((kib) => kib * KIB),
  accumulatorBytes: fc.integer({ min: 32, max: 512 }).map((kib) => kib * KIB),
  vectorLanes: fc.integer({ min: 1, max: 64 }),
  dram: fc.record({
    channels: fc.integer({ min: 1, max: 8 }),
    latencyCycles: fc.integer({ min: 0, max: 200 }),
    bytesPerSecond: fc.integer({ min: 1, max: 400 }).map((gb) =>
      gb * 1_000_000_000
    ),
    burstBytes: fc.constantFrom(16, 32, 64),
  }),
});

const layers: fc.Arbitrary<LayerSpec> = fc.oneof(
  fc.record({
    rows: fc.integer({ min: 1, max: 300 }),
    inputs: fc.integer({ min: 1, max: 300 }),
    outputs: fc.integer({ min: 1, max: 300 }),
    activation: fc.constantFrom(
      "none" as const,
      "relu" as const,
      "gelu" as const,
    ),
  }).map((options) => matmul("fc", options)),
  fc.record({
    channels: fc.constantFrom(1, 3, 16, 24),
    channelsOut: fc.constantFrom(8, 24, 48),
    side: fc.integer({ min: 5, max: 30 }),
    filter: fc.constantFrom(1, 3, 5),
    stride: fc.constantFrom(1, 2),
    batch: fc.integer({ min: 1, max: 3 }),
    depthwise: fc.boolean(),
  }).map(({ channels, channelsOut, side, filter, stride, batch, depthwise }) =>
    conv("conv", {
      channelsIn: channels,
      channelsOut: depthwise ? channels : channelsOut,
      height: side,
      width: side,
      filter,
      stride,
      padding: (filter - 1) / 2,
      groups: depthwise ? channels : 1,
      activation: "relu",
    }, batch)
  ),
);

Deno.test("a layer takes at least its busiest resource and at most all work in series", () => {
  fc.assert(
    fc.property(configs, layers, (config, layer) => {
      const time = layerTime(layer, config);
      const bytes = time.bytesRead + time.bytesWritten;
      const bytesPerCycle = config.dram.bytesPerSecond / config.clockHz;
      assert.ok(time.cycles >= time.arrayCycles);
      assert.ok(time.cycles >= time.vectorCycles);
      assert.ok(time.cycles >= time.dramCycles);
      assert.ok(time.dramCycles >= Math.floor(bytes / bytesPerCycle));
      const serial = time.arrayCycles + time.vectorCycles + time.dramCycles +
        time.requests * config.dram.latencyCycles;
      assert.ok(time.cycles <= serial, `${time.cycles} > ${serial}`);
      assert.equal(time.stallCycles, time.cycles - time.arrayCycles);
    }),
    { numRuns: propertyRuns(150) },
  );
});

Deno.test("a layer moves every operand at least once, and just once where all of it fits", () => {
  fc.assert(
    fc.property(configs, layers, (config, layer) => {
      const operand = { int8: 1, bf16: 2, f32: 4 }[config.format];
      const [{ gemm, copies, window }] = layer.gemms;
      const ifmap = window === undefined ? gemm.m * gemm.k : undefined;
      const filter = copies * gemm.k * gemm.n;
      const ofmap = copies * gemm.m * gemm.n;
      const time = layerTime(layer, config);
      assert.equal(time.bytesWritten, ofmap * operand);
      assert.ok(time.bytesRead >= (filter + (ifmap ?? 0)) * operand);
      const big = layerTime(layer, {
        ...config,
        activationBytes: 2 ** 30,
        weightBytes: 2 ** 30,
        accumulatorBytes: 2 ** 30,
        dram: { ...config.dram, bytesPerSecond: 1_000_000 },
      });
      // On a slow memory the soonest tiling is one that loads nothing twice.
      if (ifmap !== undefined) {
        assert.equal(big.bytesRead, (filter + ifmap) * operand);
      }
    }),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("a layer is never slower with more bandwidth or a bigger scratchpad", () => {
  const more = fc.record({
    bandwidth: fc.constantFrom(1, 2, 3),
    activation: fc.integer({ min: 0, max: 256 }),
    weight: fc.integer({ min: 0, max: 256 }),
    accumulator: fc.integer({ min: 0, max: 256 }),
  });
  fc.assert(
    fc.property(configs, layers, more, (config, layer, extra) => {
      const bigger: NpuConfig = {
        ...config,
        activationBytes: config.activationBytes + extra.activation * KIB,
        weightBytes: config.weightBytes + extra.weight * KIB,
        accumulatorBytes: config.accumulatorBytes + extra.accumulator * KIB,
        dram: {
          ...config.dram,
          bytesPerSecond: config.dram.bytesPerSecond * extra.bandwidth,
        },
      };
      assert.ok(
        layerTime(layer, bigger).cycles <= layerTime(layer, config).cycles,
      );
    }),
    { numRuns: propertyRuns(150) },
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
  // Rows of a table copied at full bandwidth.
  const rows = layerTime(
    embedding("rows", { width: 1024, rows: 32_768 }),
    config,
  );
  const rowCycles = (rows.bytesRead + rows.bytesWritten) * 7 / 3600;
  assert.ok(rowCycles / rows.cycles >= 0.99, `${rowCycles / rows.cycles}`);
});

Deno.test("event level equals the closed form when memory never stalls", () => {
  const cases = fc.record({
    gemm: fc.record({
      m: fc.integer({ min: 1, max: 60 }),
      n: fc.integer({ min: 1, max: 60 }),
      k: fc.integer({ min: 1, max: 60 }),
    }),
    config: configs,
    /** Whole array extents per tile along rows and columns; time is not cut. */
    rowTiles: fc.integer({ min: 1, max: 3 }),
    colTiles: fc.integer({ min: 1, max: 3 }),
    outer: fc.constantFrom("m" as const, "n" as const),
  });
  fc.assert(
    fc.property(cases, ({ gemm, config, rowTiles, colTiles, outer }) => {
      const { dataflow, mode, array } = config;
      const [rowAxis, colAxis] = dataflow === "os"
        ? ["m", "n"] as const
        : dataflow === "ws"
        ? ["k", "n"] as const
        : ["k", "m"] as const;
      const tiling = {
        copies: 1,
        ...gemm,
        [rowAxis]: Math.min(gemm[rowAxis], rowTiles * array.rows),
        [colAxis]: Math.min(gemm[colAxis], colTiles * array.cols),
        outer,
        ifmapResident: false,
        filterResident: false,
      };
      const result = tiledTime(tiling, {
        work: { gemm, copies: 1 },
        config,
        dram: NO_STALLS,
        onChip: { ifmap: false, ofmap: false },
        vectorTicks: 0,
      });
      assert.equal(
        result.endTicks,
        closedForm(gemm, array, { dataflow, mode }).totalCycles,
      );
    }),
    { numRuns: propertyRuns(2_000) },
  );
});

/** A program with its loops written out. */
function unrolled(program: Program): Program {
  return program.flatMap((part) =>
    "body" in part
      ? Array.from({ length: part.rounds }, () => unrolled(part.body)).flat()
      : [part]
  );
}

Deno.test("skipping through a loop's rounds gives what running them all gives, and bounds hold", () => {
  fc.assert(
    fc.property(configs, layers, fc.nat(), (config, layer, pick) => {
      const dram = dramTiming(config.dram, config.clockHz);
      const onChip = { ifmap: false, ofmap: false };
      const [work] = layer.gemms;
      const allowed = [...tilings(work, config.array)].filter((tiling) =>
        fits(roomOf(work, tiling, { config, onChip }), config)
      );
      const tiling = allowed[pick % allowed.length];
      const context = { work, config, dram, onChip, vectorTicks: 1_000 };
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

Deno.test("layerTime() names the layer if nothing fits", () => {
  const config = { ...preset("gemmini"), weightBytes: 16 };
  assert.throws(
    () => layerTime(matmul("fc1", { inputs: 64, outputs: 64 }), config),
    /fc1: no tiling fits on chip \(the smallest needs \d+ bytes\)/,
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
  bad('{"arrray":{}}', /a\.json:1: unknown key "arrray"; known: name, /);
  bad('{"array":{"row":1}}', /a\.json:1: unknown key "array\.row"/);
  bad(
    '{"array":{"rows":0}}',
    /a\.json:1: array\.rows must be an integer of at least 1, got 0/,
  );
  bad('{\n"clockHz":"fast"}', /a\.json:2: key "clockHz" must be a number/);
  bad("{", /a\.json: not JSON/);
});

Deno.test("every preset is a valid configuration", () => {
  for (
    const name of [
      "lazybatching",
      "tpu-v1",
      "tpu-v2",
      "eyeriss-like",
      "gemmini",
    ]
  ) {
    checkConfig(preset(name));
  }
  assert.throws(
    () => preset("tpu-v9"),
    /unknown preset "tpu-v9"; known: lazybatching, /,
  );
});
