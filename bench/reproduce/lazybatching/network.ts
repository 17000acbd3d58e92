/** What is served: a model, its requests, and what its nodes cost. */
import type { Prng } from "../../../src/base/prng.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import type { VirtualArrival } from "../../../src/engine/virtual/virtual_driver.ts";
import type { Cell } from "../../../src/graph/cell.ts";
import type { Model } from "../../../src/graph/model.ts";

/** What arrives: a model and its requests. */
export interface Workload {
  readonly title: string;
  /** Where lengths come from; empty for fixed inputs. */
  readonly lengths: string;
  readonly model: Model;
  /** The network's cell that a cell of the model stands for. */
  cellOf(cell: Cell): Cell;
  /** Steps that a decoder is expected to take. */
  readonly decTimesteps: number;
  /** One request, arriving at 0. */
  request(prng: Prng): VirtualArrival;
}

/** A workload on a device. */
export interface Network extends Workload {
  /** Latencies of its nodes, which is also the profile that policies get. */
  readonly cost: CostModel;
}
