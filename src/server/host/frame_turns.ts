/**
 * Turns of a session's frames on their way to its engine. Admission may let a later one in first, for its priority or
 * because the engine had no room for the one before, and a stream has room for so many: so it is asked for one frame at a
 * time, and for the next one when the engine has that one.
 */
import { Fifo } from "../../base/fifo.ts";
import { NS_PER_MS } from "../../base/units.ts";
import { DeadlineError } from "../../engine/core/errors.ts";
import { wallNs } from "../../engine/wall/clock.ts";
import { withinMs } from "../../engine/wall/patience.ts";
import { watchSignal } from "../../engine/wall/watch_signal.ts";
import type { HostRequest } from "./host_request.ts";

/** Of one session. */
export class FrameTurns {
  /** Of frames that the engine has not taken, in the order of the calls. */
  readonly #line = new Fifo<FrameTurn>();
  #taken = 0;
  /** Told when no frame is under way any more. */
  #onIdle: (() => void) | undefined;

  /** @param takenMax frames that the engine takes at once */
  constructor(readonly takenMax: number) {}

  /** Whether all frames that have come have ended. */
  get isIdle(): boolean {
    return this.#taken === 0 && this.#line.size === 0;
  }

  /** Resolves when those that are under way have ended, and there are some; nobody else waits for it. */
  idle(): Promise<void> {
    return new Promise((resolve) => this.#onIdle = resolve);
  }

  /** A frame comes. */
  join(): FrameTurn {
    const turn = new FrameTurn(this);
    this.#line.push(turn);
    this.#next();
    return turn;
  }

  /** The engine has the frame whose turn it was. */
  taken(): void {
    this.#line.shift();
    this.#taken++;
    this.#next();
  }

  /** A frame has ended. */
  over(turn: FrameTurn): void {
    if (turn.isTaken) this.#taken--;
    else this.#line.delete(turn);
    this.#next();
    if (this.isIdle) this.#onIdle?.();
  }

  #next(): void {
    if (this.#taken < this.takenMax) this.#line.first?.begin();
  }
}

/** A frame's, from its arrival to its end. */
export class FrameTurn {
  readonly #turns: FrameTurns;
  #isTaken = false;
  #hasBegun = false;
  #begin: (() => void) | undefined;
  #unwatch: (() => void) | undefined;

  constructor(turns: FrameTurns) {
    this.#turns = turns;
  }

  /** Whether the engine has it, or had it. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** It is its turn. */
  begin(): void {
    this.#hasBegun = true;
    this.#begin?.();
  }

  /**
   * Resolves when it is its turn.
   * @throws DeadlineError, or the reason of the request's signal
   */
  async come({ signal, finishNs }: HostRequest): Promise<void> {
    if (this.#hasBegun) return;
    const begun = new Promise<void>((resolve, reject) => {
      this.#unwatch = signal && watchSignal(signal, reject);
      this.#begin = resolve;
    });
    const leftMs = (finishNs - wallNs()) / NS_PER_MS;
    // Not of NaN: the engine says that it is no time.
    if (!(leftMs < Infinity)) return await begun;
    await withinMs(
      begun,
      leftMs,
      () => new DeadlineError("It waited until its time was over", "start"),
    );
  }

  /** The engine has taken it. */
  taken(): void {
    this.#isTaken = true;
    this.#turns.taken();
  }

  /** It has ended, however it did. */
  over(): void {
    this.#unwatch?.();
    this.#turns.over(this);
  }
}
