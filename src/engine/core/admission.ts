import type { Model } from "../../graph/model.ts";
import type { ActiveRequest } from "./active_request.ts";
import { WaitingList } from "./waiting_list.ts";

/** Requests of one model on their way in. */
interface Door {
  /** Unfolded requests of which nothing has begun, at most. */
  readonly most: number;
  unbegun: number;
  readonly waiting: WaitingList;
}

/**
 * Which requests are unfolded when. Unfolding and planning cost more than refusing: what a policy could
 * not start yet, and may have to be refused at its deadline, waits outside.
 */
export class Admission {
  readonly #doors: ReadonlyMap<Model, Door>;
  readonly #hasTime: () => boolean;
  #isHeld = false;

  /**
   * @param mostOf unfolded requests of a model of which nothing has begun, at most
   * @param hasTime asked between two that waited
   */
  constructor(
    models: readonly Model[],
    mostOf: (model: Model) => number,
    hasTime: () => boolean,
  ) {
    this.#doors = new Map(models.map((model) => [
      model,
      { most: mostOf(model), unbegun: 0, waiting: new WaitingList() },
    ]));
    this.#hasTime = hasTime;
  }

  /** Whether the engine has the model. */
  knows(model: Model): boolean {
    return this.#doors.has(model);
  }

  /** Whether another request of the model may be unfolded at once. */
  isOpen(model: Model): boolean {
    return isOpen(this.#door(model));
  }

  /** The request waits; see ActiveRequest.waiting. */
  wait(request: ActiveRequest): void {
    this.#door(request.model).waiting.push(request);
  }

  /** A request that waited is unfolded, or departs. */
  leave(request: ActiveRequest): void {
    this.#door(request.model).waiting.delete(request);
    request.waiting = undefined;
  }

  /** A request was unfolded. */
  entered({ model }: ActiveRequest): void {
    this.#door(model).unbegun++;
  }

  /** An unfolded request has begun, or departs without. */
  began({ model }: ActiveRequest): void {
    this.#door(model).unbegun--;
  }

  /** A request that may come in now; it stays until it leaves. Undefined when there is none, or no time. */
  next(nowNs: number): ActiveRequest | undefined {
    this.#isHeld = false;
    for (const door of this.#doors.values()) {
      const request = isOpen(door) ? door.waiting.next(nowNs) : undefined;
      if (request === undefined) continue;
      if (this.#hasTime()) return request;
      this.#isHeld = true;
      return undefined;
    }
    return undefined;
  }

  /** Whether it was only for want of time that nobody came in. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  #door(model: Model): Door {
    return this.#doors.get(model)!;
  }
}

function isOpen({ unbegun, most }: Door): boolean {
  return unbegun < most;
}
