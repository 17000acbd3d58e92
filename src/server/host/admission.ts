/** Who may run: asked once for each request, by the host, before the engine sees it. */
import type { HostObserver } from "./host_observer.ts";
import type { HostRequest } from "./host_request.ts";
import type { ServedModel } from "./served_model.ts";

/** Decides whether, and when, a request is given to the engine; it hears of what becomes of requests, to learn from. */
export interface Admission extends HostObserver {
  /**
   * Resolves when the request may run, with what is to be called, once, when it has ended, however it did; what that
   * throws is reported and changes nothing.
   * @throws OverloadedError, or the reason of the request's signal
   */
  admit(request: HostRequest): Promise<() => void> | (() => void);
  /**
   * The engine had no room for an admitted request: whether it is to be admitted once more, when it has been released.
   * One that is admitted again at once waits until another request has ended, or for some time. Default: it is not, and
   * fails.
   */
  again?(request: HostRequest): boolean;
  /**
   * Whether a key may use a model: asked before anything is opened or ended for a request that is not admitted yet, and of
   * what is never admitted. Default: it may.
   * @throws ForbiddenError
   */
  checkKey?(key: string, served: ServedModel): void;
  /**
   * Why any request of this priority would be refused now, whatever it brings: asked before its body is read. Default:
   * there is no reason.
   */
  refusal?(priority?: number): Error | undefined;
}

/** Everybody may, at once: the engine's own queue is the only limit. */
export const UNLIMITED: Admission = { admit: () => () => {} };
