/** Who may run: asked once for each request, by the host, before the engine sees it. */
import type { ServedModel } from "./served_model.ts";

/** A request as admission and observers know it. */
export interface HostRequest {
  /** Told to the client, and what logs and explanations call it; `label` in what engines' observers are told. */
  readonly id: string;
  /** What it asks for. */
  readonly served: ServedModel;
  /** What the engine is given. */
  readonly input: unknown;
  /** When it came, in nanoseconds of the engine's clock. */
  readonly arrivalNs: number;
  /** When it has to be done; Infinity: whenever. */
  readonly finishNs: number;
  /** 1 is the highest, 0 the default. */
  readonly priority: number;
  /** Name of the key that it came with, if there are keys. */
  readonly key?: string;
  /** Set when the client has left. */
  readonly signal?: AbortSignal;
}

/** Decides whether, and when, a request is given to the engine. */
export interface Admission {
  /**
   * Resolves when the request may run, with what is to be called when it has ended, however it did.
   * @throws OverloadedError, or the reason of the request's signal
   */
  admit(request: HostRequest): Promise<() => void> | (() => void);
}

/** Everybody may, at once: the engine's own queue is the only limit. */
export const UNLIMITED: Admission = { admit: () => () => {} };
