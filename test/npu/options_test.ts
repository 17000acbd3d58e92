/** Machines and profiles are checked where they come in. */
import assert from "node:assert/strict";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import { conv } from "../../src/npu/layers.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { preset } from "../../src/npu/presets.ts";
import {
  type LatencyProfile,
  loadProfile,
  profileModel,
  saveProfile,
} from "../../src/npu/profile.ts";
import { assertRefuses, type Refusal } from "../option_refusals.ts";

Deno.test("createNpu() refuses a machine that cannot be", async () => {
  const machine = preset("lazybatching");
  await assertRefuses(machine, createNpu, [
    {
      with: { clock: 1 },
      name: "TypeError",
      message:
        /^A machine has no field "clock"; it takes name, source, array, /,
    },
    {
      with: { dram: { ...machine.dram, latency: 1 } },
      name: "TypeError",
      message:
        /^"dram" of a machine has no field "latency"; it takes channels, /,
    },
    {
      with: { array: undefined },
      name: "TypeError",
      message:
        '"array" of a machine takes an object with fields, got undefined',
    },
    {
      with: { array: { rows: 1 } },
      name: "RangeError",
      message: "array.cols must be an integer of at least 1, got undefined",
    },
    {
      with: { name: undefined },
      name: "TypeError",
      message: '"name" is a string, got undefined',
    },
    {
      with: { clockHz: NaN },
      name: "RangeError",
      message: "clockHz must be an integer of at least 1, got NaN",
    },
    {
      with: { vectorLanes: "128" },
      name: "RangeError",
      message: 'vectorLanes must be an integer of at least 1, got "128"',
    },
    {
      with: { mode: undefined },
      name: "RangeError",
      message: "mode must be one of causal, overlapped; got undefined",
    },
  ]);
});

Deno.test("a machine stays what it was made as", () => {
  const config = { ...preset("lazybatching"), array: { rows: 8, cols: 8 } };
  const npu = createNpu(config);
  config.clockHz = NaN;
  config.array.rows = 0;
  assert.equal(npu.config.clockHz, preset("lazybatching").clockHz);
  assert.equal(npu.config.array.rows, 8);
});

Deno.test("preset() names what it was asked for", () => {
  assert.throws(() => preset("tpu"), {
    name: "RangeError",
    message: /^unknown preset "tpu"; known: lazybatching, /,
  });
  assert.throws(() => preset(undefined as never), /unknown preset undefined/);
});

Deno.test("saveProfile() and loadProfile() refuse what is no profile", async () => {
  const profile: LatencyProfile = {
    machine: "m",
    model: "n",
    batchSizes: [1, 2],
    nodes: ["a"],
    latencyNs: [[1, 2]],
  };
  const refusals: Refusal[] = [
    [{ machine: undefined }, 'profile: "machine" and "model" must be strings'],
    [{ nodes: "a" }, /^profile: "batchSizes", "nodes" and .* must be arrays$/],
    [{ nodes: [5] }, 'profile: "nodes" are names, got 5'],
    [
      { batchSizes: [1, "2"] },
      'profile: batch size must be an integer of at least 1, got "2"',
    ],
    [
      { latencyNs: [[1, 0.5]] },
      'profile: node "a" needs 2 latencies in whole nanoseconds',
    ],
    [{ latencyNs: [] }, "profile: 1 nodes but 0 rows of latencies"],
  ].map(([bad, message]) =>
    ({ with: bad, name: "RangeError", message }) as Refusal
  );
  await assertRefuses(profile, saveProfile, refusals);
  const load = (value: unknown) => loadProfile(JSON.stringify(value));
  await assertRefuses(profile, load, refusals);
  assert.throws(
    () => saveProfile({ ...profile, latencyNs: [[1, NaN]] }),
    /node "a" needs 2 latencies in whole nanoseconds/,
  );
  assert.throws(() => loadProfile(undefined as never), {
    name: "RangeError",
    message: /^profile: not JSON/,
  });
});

Deno.test("profileModel() refuses what is no option", async () => {
  const npu = createNpu(preset("gemmini"));
  await assertRefuses(
    { model: "none", batchSizes: [1] },
    (options: never) => profileModel(npu, () => [], options),
    [
      {
        with: { batchsizes: [1, 2] },
        name: "TypeError",
        message:
          'profileModel() has no option "batchsizes"; it takes model, batchSizes',
      },
      {
        with: { model: undefined },
        name: "TypeError",
        message: '"model" is a string, got undefined',
      },
      {
        with: { batchSizes: 64 },
        name: "TypeError",
        message: '"batchSizes" is an array, got 64',
      },
      {
        with: { batchSizes: [0] },
        name: "RangeError",
        message: "batch size must be an integer of at least 1, got 0",
      },
    ],
  );
});

Deno.test("layer() refuses sizes that are none, and such that do not go together", () => {
  const npu = createNpu(preset("gemmini"));
  const sound = conv("c", {
    ...{ channelsIn: 8, channelsOut: 4, height: 6, width: 5, filter: 3 },
    activation: "relu",
  }, 2);
  npu.layer(sound);
  const [work] = sound.gemms;
  const { window } = work;
  const windowOf = (change: object) => ({
    gemms: [{ ...work, window: { ...window!, ...change } }],
  });
  const vectorOf = (change: object) => ({
    vector: [{ name: "v", elements: 1, passes: 1, ...change }],
  });
  const bad: [object, RegExp][] = [
    [
      vectorOf({ elements: NaN }),
      /^c: elements of the vector unit must be an integer of at least 0, got NaN/,
    ],
    [vectorOf({ elements: -1 }), /^c: elements .*, got -1/],
    [vectorOf({ passes: 0.5 }), /^c: passes of the vector unit .*, got 0\.5/],
    [{ extraReadWords: Infinity }, /^c: extraReadWords .*, got Infinity/],
    [{ extraWriteWords: undefined }, /^c: extraWriteWords .*, got undefined/],
    [{ gemms: undefined }, /^c: gemms must be an array, got undefined/],
    [{ gemms: [{ ...work, copies: 0 }] }, /^c: copies must be .*, got 0/],
    [
      { gemms: [{ ...work, copies: 1e13 }] },
      /^c: 10000000000000 copies of 24x4x72 have more than 2\^53/,
    ],
    [windowOf({ channels: 0 }), /^c: window's channels must be .* 1, got 0/],
    [windowOf({ height: NaN }), /^c: window's height .*, got NaN/],
    [windowOf({ channels: 7 }), /^c: k = 72 of its GEMM .* 7 channels/],
    [
      windowOf({ outputW: 4 }),
      /^c: 2 maps of 4x4 windows are not the 24 rows \(m\)/,
    ],
  ];
  for (const [change, message] of bad) {
    assert.throws(
      () => npu.layer({ ...sound, ...change } as LayerSpec),
      ({ message: got }: Error) => message.test(got),
      String(message),
    );
  }
});
