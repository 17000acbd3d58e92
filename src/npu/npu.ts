/**
 * The NPU as the schedulers and the command line see it: layers in, latencies out, cached.
 *
 * A layer starts with nothing on chip and ends with its results in DRAM, because a policy may
 * preempt after any node (LazyBatching, section VI-D: "the output activations are stored into
 * DRAM"). `network(layers, { keepOnChip: true })` instead keeps results on chip where they fit and the
 * network is done no later for it: their room may be worth more to tiles.
 */
import { NS_PER_S } from "../base/units.ts";
import { checkConfig, type NpuConfig, NUMBER_FORMATS } from "./config.ts";
import type { LayerSpec } from "./layer_spec.ts";
import { type LayerTime, layerTime } from "./memory/layer_time.ts";
import { fits, leastRoom, type OnChip } from "./memory/tiling.ts";

/** What layers one after another take. */
export interface NetworkTime {
  /** Each layer and its time. */
  layers: readonly { layer: LayerSpec; time: LayerTime }[];
  /** Of all layers. */
  cycles: number;
  /** Of all layers, in integer nanoseconds, rounded up. */
  latencyNs: number;
}

/**
 * A modelled systolic array: layers in, times out. A layer starts with nothing on chip and ends with its results in
 * DRAM, as a policy may preempt after any node (LazyBatching, section VI-D). Times are kept by shape.
 */
export interface Npu {
  /** The machine that it models. */
  readonly config: NpuConfig;
  /**
   * What one layer takes, under the tiling that is done soonest.
   * @param onChip what need not come from DRAM or go there; default: nothing
   * @throws RangeError when no tile of the layer fits the machine's memories, or a size is none
   */
  layer(layer: LayerSpec, onChip?: OnChip): LayerTime;
  /**
   * What layers one after another take.
   * @param options keepOnChip: results stay on chip for the next layer where they fit and nothing is slower for it;
   * default false. Assumption: who reads as many words as the layer before has written reads those, and nobody else does
   * @throws RangeError as `layer` does
   */
  network(
    layers: readonly LayerSpec[],
    options?: { keepOnChip?: boolean },
  ): NetworkTime;
  /** Integer nanoseconds (rounded up) of the layers one after another. */
  latencyNs(layers: readonly LayerSpec[]): number;
}

/** A way through layers, from its last one back. */
interface Way {
  readonly cycles: number;
  readonly before?: Way;
  readonly spec?: LayerSpec;
  readonly time?: LayerTime;
}

const FROM_DRAM: OnChip = { ifmap: false, ofmap: false };

/**
 * A model of a machine.
 * @throws RangeError or TypeError naming the field if the configuration is impossible
 *
 * @example What a layer of 1024 units takes for a batch of 64
 * ```ts
 * import assert from "node:assert/strict";
 * import { createNpu, preset } from "@shoal/core/npu";
 *
 * const npu = createNpu(preset("tpu-v1"));
 * const time = npu.layer({
 *   name: "dense",
 *   gemms: [{ gemm: { m: 64, n: 1024, k: 1024 }, copies: 1 }],
 *   vector: [{ name: "Relu", elements: 64 * 1024, passes: 1 }],
 *   extraReadWords: 0,
 *   extraWriteWords: 0,
 * });
 * assert.equal(time.bound, "memory"); // 1 MiB of weights at 34 GB/s
 * assert.equal(time.macs, 64 * 1024 * 1024);
 * ```
 */
export function createNpu(machine: NpuConfig): Npu {
  const config = checkConfig(machine);
  const times = new Map<string, LayerTime>();

  const layer = (spec: LayerSpec, onChip: OnChip = FROM_DRAM): LayerTime => {
    const { name: _name, ...shape } = spec;
    const key = JSON.stringify([shape, onChip]);
    let time = times.get(key);
    if (time === undefined) {
      time = layerTime(spec, config, onChip);
      times.set(key, time);
    }
    return time;
  };

  const network: Npu["network"] = (layers, { keepOnChip = false } = {}) => {
    /** The soonest ways through the layers so far: with results in DRAM, and on chip. */
    let apart: Way = { cycles: 0 };
    let kept: Way | undefined;
    layers.forEach((spec, i) => {
      const next = layers[i + 1];
      const through = (before: Way | undefined, onChip: OnChip) => {
        const isKept = onChip.ifmap || onChip.ofmap;
        if (!before || isKept && !hasRoom(spec, config, onChip)) return;
        const time = layer(spec, onChip);
        return { cycles: before.cycles + time.cycles, before, spec, time };
      };
      const to = (ofmap: boolean) =>
        sooner(
          through(kept, { ifmap: true, ofmap }),
          through(apart, { ifmap: false, ofmap }),
        );
      const stays = keepOnChip && next !== undefined &&
        mayStay(spec, next, config);
      [apart, kept] = [to(false)!, stays ? to(true) : undefined];
    });
    return {
      layers: stepsOf(apart),
      cycles: apart.cycles,
      latencyNs: cyclesToNs(apart.cycles, config.clockHz),
    };
  };

  return {
    config,
    layer,
    network,
    latencyNs: (layers) =>
      cyclesToNs(
        layers.reduce((sum, spec) => sum + layer(spec).cycles, 0),
        config.clockHz,
      ),
  };
}

/** Integer nanoseconds, rounded up: a batch is never done before its last cycle. */
export function cyclesToNs(cycles: number, clockHz: number): number {
  return Math.ceil(cycles * NS_PER_S / clockHz);
}

/** Of two ways to one end the sooner one; of equals the first, which moves less. */
function sooner(a: Way | undefined, b: Way | undefined): Way | undefined {
  return a && !(b && b.cycles < a.cycles) ? a : b;
}

function stepsOf(way: Way): { layer: LayerSpec; time: LayerTime }[] {
  const steps: { layer: LayerSpec; time: LayerTime }[] = [];
  for (let at: Way | undefined = way; at?.spec && at.time; at = at.before) {
    steps.push({ layer: at.spec, time: at.time });
  }
  return steps.reverse();
}

/** Whether the layer has tiles that fit beside what stays. */
function hasRoom(
  { gemms }: LayerSpec,
  config: NpuConfig,
  onChip: OnChip,
): boolean {
  return gemms.every((work) =>
    fits(leastRoom(work, { config, onChip }), config)
  );
}

/**
 * May this layer's results wait on chip for the next? Only from one plain GEMM to the next that
 * reads exactly them, and only if they leave half of the activation scratchpad free.
 */
function mayStay(
  layer: LayerSpec,
  next: LayerSpec,
  config: NpuConfig,
): boolean {
  if (layer.gemms.length !== 1 || next.gemms.length !== 1) return false;
  const [{ gemm, copies }] = layer.gemms;
  const words = copies * gemm.m * gemm.n;
  const { window, gemm: nextGemm, copies: nextCopies } = next.gemms[0];
  const reads = window === undefined
    ? nextCopies * nextGemm.m * nextGemm.k
    : nextCopies * window.batch * window.height * window.width *
      window.channels;
  const bytes = words * NUMBER_FORMATS[config.format].operandBytes;
  return words === reads && 2 * bytes <= config.activationBytes;
}
