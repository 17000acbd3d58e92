import type { CellGraph } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";

/**
 * A request as a policy sees it. What it may still grow to is not part of it.
 * @typeParam Tag what the policy keeps with a request
 * @typeParam NodeTag what it keeps with every node
 */
export interface Request<Tag = unknown, NodeTag = unknown> {
  /** Unique and ascending in order of arrival. */
  readonly id: number;
  /** What its caller calls it; for records, not for decisions. */
  readonly label?: string | undefined;
  /** The model that it was submitted to. */
  readonly model: Model;
  /** Its unfolded graph, which may still grow; empty until it is unfolded, and may be when it has ended. */
  readonly graph: CellGraph<Request<Tag, NodeTag>, NodeTag>;
  /** When it was due to arrive; latency counts from here. */
  readonly arrivalNs: number;
  /** The request is refused unless it has started by then; Infinity without a deadline. */
  readonly deadlineNs: number;
  /** The request is given up unless it has departed by then; Infinity without such a deadline. */
  readonly finishNs: number;
  /** Belongs to the policy: whatever it needs to find again for a request. */
  tag: Tag;
}

/** A node of such a request. */
export type NodeOf<R extends Request> = R["graph"]["nodes"][number];
