import type { CellGraph } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";

/** A request as a policy sees it. What it may still grow to is not part of it. */
export interface Request {
  /** Unique and ascending in order of arrival. */
  readonly id: number;
  /** The model that it was submitted to. */
  readonly model: Model;
  /** Its unfolded graph, which may still grow; empty until it is unfolded. */
  readonly graph: CellGraph;
  /** When it was due to arrive; latency counts from here. */
  readonly arrivalNs: number;
  /** The request is refused unless it has started by then; Infinity without a deadline. */
  readonly deadlineNs: number;
  /** Belongs to the policy: whatever it needs to find again for a request. */
  tag: unknown;
}
