import type { Model } from "../../graph/model.ts";
import type { ActiveRequest } from "./active_request.ts";
import { QueueFullError } from "./errors.ts";
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
 * not start yet, and may have to be refused at its deadline, waits outside. So does everybody behind a request that
 * found no room.
 */
export class Admission {
  readonly #doors: ReadonlyMap<Model, Door>;
  readonly #inOrder: readonly Door[];
  readonly #hasTime: () => boolean;
  readonly #waitingBytes: number;
  /** Of what waits. */
  #bytes = 0;
  /** Whose turn it is. */
  #turn = 0;
  #isHeld = false;
  /** Requests, no frames, that have room. */
  #inside = 0;
  /** It waits, unfolded, and is the next to come in, however small others are: there would never be room for it. */
  #roomless: ActiveRequest | undefined;
  /** Whether there may be some by now. */
  #hasRoom = true;

  /**
   * @param mostOf unfolded requests of a model of which nothing has begun, at most
   * @param hasTime asked between two that waited
   * @param waitingBytes see EngineOptions
   */
  constructor(
    models: readonly Model[],
    mostOf: (model: Model) => number,
    hasTime: () => boolean,
    waitingBytes = Infinity,
  ) {
    this.#doors = new Map(models.map((model) => [
      model,
      { most: mostOf(model), unbegun: 0, waiting: new WaitingList() },
    ]));
    this.#inOrder = [...this.#doors.values()];
    this.#hasTime = hasTime;
    this.#waitingBytes = waitingBytes;
  }

  /** Whether the engine has the model. */
  knows(model: Model): boolean {
    return this.#doors.has(model);
  }

  /**
   * A request that is not to wait for room comes in.
   * @throws QueueFullError when another one waits for some
   */
  checkRoom(): void {
    if (this.#roomless === undefined) return;
    throw new QueueFullError(
      "Slot memory is full, and others wait for room; retry when some have ended or give the engine more slotBytes",
    );
  }

  /** Whether another request of the model may be unfolded at once. */
  isOpen(model: Model): boolean {
    return this.#roomless === undefined && isOpen(this.#door(model));
  }

  /**
   * There was no room for an unfolded request.
   * @returns whether it is to wait for some: only then there are others that will give theirs back
   */
  findsNoRoom(request: ActiveRequest): boolean {
    if (this.#inside === 0) return false;
    this.#roomless ??= request;
    this.#hasRoom = false;
    return true;
  }

  /**
   * The request waits; see ActiveRequest.waiting.
   * @throws QueueFullError when others that wait have brought too much
   */
  wait(request: ActiveRequest): void {
    const { bytes } = request.waiting!;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#waitingBytes) {
      throw new QueueFullError(
        `Requests that wait hold ${this.#bytes} bytes of input, one of ${bytes} more is beyond waitingBytes, ` +
          `${this.#waitingBytes}; retry later or raise it`,
      );
    }
    this.#bytes += bytes;
    this.#door(request.model).waiting.push(request);
  }

  /** A request that waited is unfolded, or departs. */
  leave(request: ActiveRequest): void {
    this.#door(request.model).waiting.delete(request);
    this.#bytes -= request.waiting!.bytes;
    request.waiting = undefined;
    if (request === this.#roomless) this.#roomless = undefined;
  }

  /** A request was unfolded and has room. A frame was not, and takes nobody's place. */
  entered({ model, session }: ActiveRequest): void {
    if (session) return;
    this.#door(model).unbegun++;
    this.#inside++;
  }

  /** A request has given its room back. */
  left(): void {
    this.#inside--;
    this.#hasRoom = true;
  }

  /** An unfolded request has begun, or departs without. */
  began({ model, session }: ActiveRequest): void {
    if (!session) this.#door(model).unbegun--;
  }

  /**
   * A request that may come in now; it stays until it leaves. Undefined when there is none, or no time. Models take
   * turns: where there is time for few, one of which many wait would keep the others out.
   */
  next(nowNs: number): ActiveRequest | undefined {
    this.#isHeld = false;
    if (this.#roomless) return this.#hasRoom ? this.#roomless : undefined;
    const doors = this.#inOrder;
    for (let i = 0; i < doors.length; i++) {
      const at = (this.#turn + i) % doors.length;
      const door = doors[at];
      const request = isOpen(door) ? door.waiting.next(nowNs) : undefined;
      if (request === undefined) continue;
      this.#isHeld = !this.#hasTime();
      if (this.#isHeld) return undefined;
      this.#turn = (at + 1) % doors.length;
      return request;
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
