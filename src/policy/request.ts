import type { CellGraph } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";

/** A request as a policy sees it. What it may still grow to is not part of it. */
export interface Request {
  /** Unique and ascending in order of arrival. */
  readonly id: number;
  readonly model: Model;
  readonly graph: CellGraph;
  readonly arrivalNs: number;
  /** Latest useful completion; Infinity without a deadline. */
  readonly deadlineNs: number;
  /** Belongs to the policy. */
  tag: unknown;
}
