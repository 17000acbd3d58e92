/** A request on its way through a host. */
import type { ServedModel } from "./served_model.ts";

/** A request as admission and observers know it. */
export interface HostRequest {
  /** Told to the client, and what logs and explanations call it. Clients may choose it, one for many requests. */
  readonly id: string;
  /** As no other request of the host is called: `label` in what engines' observers are told. */
  readonly label: string;
  /** What it asks for. */
  readonly served: ServedModel;
  /** What the engine is given. */
  readonly input: unknown;
  /** When it came, in nanoseconds of the engine's clock. */
  readonly arrivalNs: number;
  /** When it has to be done; Infinity: whenever. */
  readonly finishNs: number;
  /** Milliseconds within which it is of use, where that is said; it is not ended for it. */
  readonly sloMs?: number;
  /** 1 is the highest, 0 the default. */
  readonly priority: number;
  /** Name of the key that it came with, if there are keys. */
  readonly key?: string;
  /** Set when the client has left. */
  readonly signal?: AbortSignal;
}
