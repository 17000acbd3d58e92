import assert from "node:assert/strict";
import fc from "fast-check";
import { NpuCost } from "../../src/cost/npu_cost.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import {
  attention,
  conv,
  gruStep,
  lstmStep,
  matmul,
  pool,
} from "../../src/npu/layers.ts";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import { propertyRuns } from "../property_runs.ts";
import { machines, slack, smallest } from "./machines.ts";
import { macsOf } from "./macs_of.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import { createNpu, cyclesToNs } from "../../src/npu/npu.ts";
import { preset, PRESETS } from "../../src/npu/presets.ts";
import { DATAFLOWS } from "../../src/npu/dataflow.ts";
import {
  loadProfile,
  profileModel,
  saveProfile,
  totalNs,
} from "../../src/npu/profile.ts";
import { tensor } from "../../src/tensor/tensor.ts";

const npu = createNpu(preset("lazybatching"));

Deno.test("resnet50() has 53 convolutions, a classifier and 4.1 or 3.9 billion MACs", () => {
  const layers = resnet50();
  assert.equal(
    layers.filter(({ gemms }) => gemms[0]?.window !== undefined).length,
    53,
  );
  assert.equal(layers.length, 56);
  const macs = (variant: "v1" | "v1.5") =>
    resnet50(1, variant).reduce((sum, layer) => sum + macsOf(layer), 0);
  assert.equal(macs("v1.5"), 4_089_184_256);
  assert.equal(macs("v1"), 3_857_973_248);
});

Deno.test("every preset runs ResNet-50 in every format and dataflow", () => {
  for (const name of Object.keys(PRESETS)) {
    for (const format of ["int8", "bf16"] as const) {
      for (const dataflow of DATAFLOWS) {
        const { latencyNs } = createNpu({ ...preset(name), format, dataflow })
          .network(resnet50());
        assert.ok(latencyNs > 0 && Number.isSafeInteger(latencyNs));
      }
    }
  }
});

Deno.test("conv() turns stride, padding, dilation and groups into GEMMs", () => {
  const base = {
    channelsIn: 8,
    channelsOut: 16,
    height: 20,
    width: 20,
    filter: 3,
  };
  const gemms = (options: object) => {
    const [{ gemm, copies }] = conv("c", { ...base, ...options }, 2).gemms;
    return { ...gemm, copies };
  };
  assert.deepEqual(gemms({}), { m: 2 * 18 * 18, n: 16, k: 72, copies: 1 });
  assert.deepEqual(gemms({ padding: 1, stride: 2 }), {
    m: 2 * 100,
    n: 16,
    k: 72,
    copies: 1,
  });
  assert.deepEqual(gemms({ dilation: 2 }), {
    m: 2 * 16 * 16,
    n: 16,
    k: 72,
    copies: 1,
  });
  assert.deepEqual(gemms({ groups: 8 }), {
    m: 2 * 18 * 18,
    n: 2,
    k: 9,
    copies: 8,
  });
  assert.throws(
    () => gemms({ groups: 3 }),
    /c: channels 8 in and 16 out must be multiples of 3/,
  );
  assert.throws(
    () => gemms({ filter: 21 }),
    /filter 21x21 is larger than its input 20x20/,
  );
});

Deno.test("attention, LSTM and GRU steps multiply what they should", () => {
  const heads = attention("a", {
    heads: 8,
    headWidth: 64,
    queries: 10,
    keys: 12,
  }, 3);
  assert.equal(macsOf(heads), 3 * 8 * 2 * 10 * 12 * 64);
  assert.equal(
    macsOf(lstmStep("l", { inputs: 100, hidden: 50 }, 4)),
    4 * 200 * 150,
  );
  assert.equal(
    macsOf(gruStep("g", { inputs: 100, hidden: 50 }, 4)),
    4 * 150 * 150,
  );
});

Deno.test("vector work is not free", () => {
  const plain = npu.layer(matmul("fc", { rows: 64, inputs: 64, outputs: 512 }));
  const gelu = npu.layer(
    matmul("fc", { rows: 64, inputs: 64, outputs: 512, activation: "gelu" }),
  );
  assert.ok(gelu.cycles > plain.cycles);
  const pooled = npu.layer(
    pool("p", {
      channels: 64,
      height: 112,
      width: 112,
      filter: 3,
      stride: 2,
      padding: 1,
    }),
  );
  assert.equal(pooled.bound, "vector");
});

Deno.test("network() keeps results on chip where they fit", () => {
  const layers = [1, 2, 3].map((i) =>
    matmul(`fc${i}`, { rows: 256, inputs: 1024, outputs: 1024 })
  );
  const apart = npu.network(layers);
  const kept = npu.network(layers, { keepOnChip: true });
  assert.ok(kept.cycles < apart.cycles);
  const written = (network: typeof kept) =>
    network.layers.map(({ time }) => time.bytesWritten);
  assert.deepEqual(written(kept), [0, 0, 256 * 1024 * 2]);
});

Deno.test("network() is never slower with results kept on chip, and refuses no layer for them", () => {
  const size = fc.integer({ min: 1, max: 400 });
  const chains = fc.record({
    m: size,
    sizes: fc.array(size, { minLength: 3, maxLength: 5 }),
    filterIsActivation: fc.boolean(),
  });
  fc.assert(
    fc.property(machines, chains, slack, (machine, chain, more) => {
      const { m, sizes, filterIsActivation } = chain;
      const layers = sizes.slice(1).map((n, i): LayerSpec => ({
        name: `product${i}`,
        gemms: [{
          gemm: { m, n, k: sizes[i] },
          copies: 1,
          filterIsActivation,
        }],
        vector: [],
        extraReadWords: 0,
        extraWriteWords: 0,
      }));
      const [config] = layers
        .map((layer) => smallest(machine, { layer, more }))
        .sort((a, b) => b.activationBytes - a.activationBytes);
      const npu = createNpu({
        ...config,
        weightBytes: machine.weightBytes,
        accumulatorBytes: machine.accumulatorBytes,
      });
      const kept = npu.network(layers, { keepOnChip: true });
      assert(kept.cycles <= npu.network(layers).cycles);
      assert.deepEqual(kept.layers.map(({ layer }) => layer), layers);
      const sum = kept.layers.reduce((sum, { time }) => sum + time.cycles, 0);
      assert.equal(kept.cycles, sum);
    }),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("network() takes no room from a layer whose two operands are activations", () => {
  const product = (name: string): LayerSpec => ({
    name,
    gemms: [{
      gemm: { m: 256, n: 256, k: 256 },
      copies: 1,
      filterIsActivation: true,
    }],
    vector: [],
    extraReadWords: 0,
    extraWriteWords: 0,
  });
  // Each result is half of the activation scratchpad.
  const layers = ["a", "b", "c"].map(product);
  const gemmini = createNpu(preset("gemmini"));
  const kept = gemmini.network(layers, { keepOnChip: true });
  assert(kept.cycles < gemmini.network(layers).cycles);
});

Deno.test("cyclesToNs() rounds up to whole nanoseconds", () => {
  assert.equal(cyclesToNs(7, 700_000_000), 10);
  assert.equal(cyclesToNs(1, 700_000_000), 2);
});

Deno.test("NpuCost prices a cell's operators and grows with the batch", () => {
  const ones = (...shape: number[]) =>
    tensor(shape, new Float32Array(shape.reduce((a, b) => a * b)).fill(0.5));
  const cell = defineCell({
    name: "mlp",
    inputs: { x: f32(64) },
    body: (op, { x }) => ({
      y: op.Relu(op.Gemm(x, ones(256, 64))),
    }),
  });
  assert.deepEqual(
    cellLayers(cell, 3).map(({ gemms }) => gemms.map(({ gemm }) => gemm)),
    [
      [{ m: 3, n: 256, k: 64 }],
      [],
    ],
  );
  const cost = new NpuCost(npu);
  const latencies = [1, 16, 64, 256, 1024].map((rows) =>
    cost.latencyNs(cell, rows)
  );
  assert.deepEqual(latencies, latencies.toSorted((a, b) => a - b));
  assert.ok(Number.isInteger(latencies[0]));
  assert.throws(
    () => cost.latencyNs(cell, 0),
    /batch \(rows\) must be an integer of at least 1/,
  );
});

Deno.test("a profile is the latencies, saved and loaded", () => {
  const layersOf = (
    batch: number,
  ) => [matmul("fc", { inputs: 64, outputs: 64 }, batch)];
  const profile = profileModel(npu, layersOf, {
    model: "mlp",
    batchSizes: [1, 2, 4],
  });
  assert.deepEqual(loadProfile(saveProfile(profile)), profile);
  // As some editors and shells save text.
  assert.deepEqual(loadProfile(`\uFEFF${saveProfile(profile)}`), profile);
  assert.equal(totalNs(profile, 2), npu.latencyNs(layersOf(2)));
  assert.throws(
    () => totalNs(profile, 3),
    /batch size 3 is not in the profile \(1, 2, 4\)/,
  );
  const broken = { ...profile, latencyNs: [[1, 2]] };
  const message = /node "fc" needs 3 latencies in whole nanoseconds/;
  assert.throws(() => loadProfile(JSON.stringify(broken)), message);
  assert.throws(() => saveProfile(broken), message);
  assert.throws(
    () => loadProfile("null"),
    /"machine" and "model" must be strings/,
  );
});

Deno.test("ResNet-50 on LazyBatching's machine: published 1.1 ms lies between the accountings", () => {
  const latencyMs = (mode: "causal" | "overlapped") =>
    createNpu({ ...preset("lazybatching"), mode }).latencyNs(resnet50()) / 1e6;
  assert.ok(latencyMs("overlapped") < 1.1);
  assert.ok(latencyMs("causal") > 1.1);
});

Deno.test("ResNet-50's throughput saturates earlier with overlapped weights than without", () => {
  /** Images per second at a batch size, as a share of those at 64. */
  const share = (mode: "causal" | "overlapped", batch: number) => {
    const machine = createNpu({ ...preset("lazybatching"), mode });
    const rate = (size: number) => size / machine.latencyNs(resnet50(size));
    return rate(batch) / rate(64);
  };
  assert.ok(share("overlapped", 4) > 0.9);
  assert.ok(share("causal", 4) < 0.8);
  assert.ok(share("causal", 16) > 0.9);
});
