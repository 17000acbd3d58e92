/** Random machines and layers for properties of the event level. */
import fc from "fast-check";
import type { NpuConfig } from "../../src/npu/config.ts";
import { DATAFLOWS } from "../../src/npu/dataflow.ts";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import {
  attention,
  conv,
  embedding,
  gruStep,
  lstmStep,
  matmul,
  pool,
} from "../../src/npu/layers.ts";
import { leastRoom } from "../../src/npu/memory/tiling.ts";

const KIB = 1024;
const side = fc.integer({ min: 1, max: 32 });
const size = fc.integer({ min: 1, max: 300 });

export const machines: fc.Arbitrary<NpuConfig> = fc.record({
  name: fc.constant("any"),
  source: fc.constant("test"),
  array: fc.record({ rows: side, cols: side }),
  dataflow: fc.constantFrom(...DATAFLOWS),
  mode: fc.constantFrom("causal" as const, "overlapped" as const),
  clockHz: fc.constantFrom(200_000_000, 700_000_000, 1_000_000_000),
  format: fc.constantFrom("int8" as const, "bf16" as const, "f32" as const),
  activationBytes: fc.constant(512 * KIB),
  weightBytes: fc.constant(512 * KIB),
  accumulatorBytes: fc.constant(512 * KIB),
  vectorLanes: fc.integer({ min: 1, max: 64 }),
  dram: fc.record({
    channels: fc.integer({ min: 1, max: 8 }),
    latencyCycles: fc.integer({ min: 0, max: 200 }),
    bytesPerSecond: fc.integer({ min: 100, max: 400_000 }).map((mb) =>
      mb * 1_000_000
    ),
    burstBytes: fc.constantFrom(16, 32, 64),
  }),
});

export const layers: fc.Arbitrary<LayerSpec> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      rows: size,
      inputs: size,
      outputs: size,
      activation: fc.constantFrom(
        "none" as const,
        "relu" as const,
        "gelu" as const,
      ),
    }).map((options) => matmul("fc", options)),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      channels: fc.constantFrom(1, 3, 16, 24),
      channelsOut: fc.constantFrom(8, 24, 48),
      side: fc.integer({ min: 5, max: 30 }),
      filter: fc.constantFrom(1, 3, 5),
      stride: fc.constantFrom(1, 2, 6),
      batch: fc.integer({ min: 1, max: 3 }),
      depthwise: fc.boolean(),
      residual: fc.boolean(),
    }).map(({ channels, channelsOut, side, filter, batch, ...options }) =>
      conv("conv", {
        channelsIn: channels,
        channelsOut: options.depthwise ? channels : channelsOut,
        height: side,
        width: side,
        filter,
        stride: options.stride,
        padding: (filter - 1) / 2,
        groups: options.depthwise ? channels : 1,
        activation: "relu",
        residual: options.residual,
      }, batch)
    ),
  },
  fc.record({
    heads: fc.integer({ min: 1, max: 4 }),
    headWidth: fc.constantFrom(8, 24, 64),
    queries: fc.integer({ min: 1, max: 60 }),
    keys: fc.integer({ min: 1, max: 60 }),
  }).map((options) => attention("attention", options, 2)),
  fc.record({ inputs: size, hidden: fc.integer({ min: 1, max: 80 }) })
    .map((options) => lstmStep("lstm", options, 5)),
  fc.record({ inputs: size, hidden: fc.integer({ min: 1, max: 80 }) })
    .map((options) => gruStep("gru", options, 5)),
  fc.record({ width: size, rows: size }).map((options) =>
    embedding("rows", options)
  ),
  fc.record({
    channels: fc.constantFrom(1, 16, 64),
    height: fc.integer({ min: 3, max: 60 }),
    width: fc.integer({ min: 3, max: 60 }),
  }).map((options) => pool("pool", { ...options, filter: 3, stride: 2 })),
);

/** How far the on-chip memories go beyond the least that the layer needs; 0 is most frequent. */
export const slack: fc.Arbitrary<Memories> = fc.record({
  activationBytes: extra(),
  weightBytes: extra(),
  accumulatorBytes: extra(),
});

function extra(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 300 }),
    fc.integer({ min: 0, max: 400 * KIB }),
  );
}

export interface Memories {
  activationBytes: number;
  weightBytes: number;
  accumulatorBytes: number;
}

/** Bytes within which every stream of the vector unit finds a piece. */
const STREAM_BYTES = 4 * (256 + 8 * 64);

/** The machine with the smallest memories on which the layer runs, and `more` on top. */
export function smallest(
  machine: NpuConfig,
  { layer, more }: { layer: LayerSpec; more: Memories },
): NpuConfig {
  const onChip = { ifmap: false, ofmap: false };
  const rooms = layer.gemms.map((work) =>
    leastRoom(work, { config: machine, onChip })
  );
  const stream = layer.extraReadWords + layer.extraWriteWords > 0
    ? STREAM_BYTES
    : 1;
  const least = (memory: keyof Memories) =>
    Math.max(1, ...rooms.map((room) => room[memory]));
  return {
    ...machine,
    activationBytes: Math.max(least("activationBytes"), stream) +
      more.activationBytes,
    weightBytes: least("weightBytes") + more.weightBytes,
    accumulatorBytes: least("accumulatorBytes") + more.accumulatorBytes,
  };
}
