/** The arena's devices: an NPU, a GPU with one stream and with several, and this machine as it was measured. */
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { NpuCost } from "../../src/cost/npu_cost.ts";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import { mean } from "../../src/base/statistics.ts";
import { type Extents, isUniform } from "../../src/graph/cache.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { SizeClass } from "../../src/models/registry.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { preset } from "../../src/npu/presets.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import type { Workload } from "./workloads.ts";

/** Measured times of a workload's cells on this machine. */
export type Measured = {
  readonly tablesNs: ProfileTable;
};

/** A device. */
export interface Device {
  readonly title: string;
  /** Of the models that are served on it. */
  readonly size: SizeClass;
  /** Batches at once. */
  readonly workers: number;
  /** Whether it takes the times that were measured here. */
  readonly isMeasured: boolean;
  cost(workload: Workload, measured: Measured | undefined): CostModel;
}

/** Costs of the networks' own cells. */
function of(workload: Workload, cost: CostModel): CostModel {
  return {
    latencyNs: (cell, rows, extents) =>
      cost.latencyNs(workload.cellOf(cell), rows, extents),
  };
}

function gpu(streams: number): Device {
  return {
    title: `${TITAN_RTX.name}, ${streams} stream${streams > 1 ? "s" : ""}`,
    size: "full",
    workers: streams,
    isMeasured: false,
    cost(workload): SharedCost {
      const cost = new GpuCost(TITAN_RTX);
      return {
        ...of(workload, cost),
        demand: (cell, rows, extents) =>
          cost.demand(workload.cellOf(cell), rows, extents),
      };
    },
  };
}

/** Assumption: a worker takes as long beside another as alone. */
function machine(workers: number): Device {
  return {
    title: `this machine, ${workers} worker${workers > 1 ? "s" : ""}`,
    size: "medium",
    workers,
    isMeasured: true,
    cost(workload, measured) {
      if (measured === undefined) {
        throw new Error("This machine was not measured for the workload");
      }
      const table = new TableCost(measured.tablesNs);
      return of(workload, {
        // Assumption: a row of tokens takes in proportion to them; profiles are of typical ones.
        latencyNs(cell: Cell, rows: number, extents?: Extents) {
          const ns = table.latencyNs(cell, rows);
          if (cell.tokensMax === undefined || extents === undefined) return ns;
          const each = isUniform(extents)
            ? extents.length
            : mean(extents.map(({ length }) => length));
          return Math.round(ns * each / workload.tokens);
        },
      });
    },
  };
}

/** Every device by name. */
export const DEVICES: Readonly<Record<string, Device>> = {
  npu: {
    title: "NPU of LazyBatching's Table I",
    size: "full",
    workers: 1,
    isMeasured: false,
    cost: (workload) =>
      of(workload, new NpuCost(createNpu(preset("lazybatching")))),
  },
  gpu: gpu(1),
  "gpu-4": gpu(4),
  cpu: machine(1),
  "cpu-2": machine(2),
};
