import { Fifo } from "../../base/fifo.ts";
import { shorten } from "../../base/describe.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import { NS_PER_MS } from "../../base/units.ts";
import type { Model } from "../../graph/model.ts";
import type { OutputTypes, Result } from "../../graph/result.ts";
import type { RequestOptions } from "./request_options.ts";
import type { RunResult } from "./run_result.ts";
import type { StreamHost } from "./stream_session.ts";
import { submitRequest } from "./submit_request.ts";

/**
 * A step of a growing request.
 * @typeParam Outputs see Model
 */
export interface StepResult<Outputs extends OutputTypes = OutputTypes> {
  /** Which one, from 0 on. */
  readonly index: number;
  /**
   * What it adds to the request's results: rows of those that are lists, such as the one id of `tokens`. One after the
   * other over all steps they are the result, bit for bit. What the request has besides its steps comes with the first.
   */
  readonly outputs: Partial<Result<Outputs>>;
  /** When it was done, in milliseconds since the call. */
  readonly endedMs: number;
}

type End<Outputs extends OutputTypes> =
  | { readonly result: RunResult<Outputs> }
  | { readonly error: unknown };

interface Waiting<Outputs extends OutputTypes> {
  resolve(
    next: IteratorResult<StepResult<Outputs>, RunResult<Outputs> | undefined>,
  ): void;
  reject(error: unknown): void;
}

/**
 * The steps of a growing request as they are done, then its result. `ServingEngine.stream` makes them. Leaving the
 * iteration early (`break`, `return()`) ends the request. Steps that nobody has asked for yet wait here, as many as the
 * request has; the engine never waits for who iterates.
 * @typeParam Outputs see Model
 */
export class StepStream<Outputs extends OutputTypes = OutputTypes>
  implements
    AsyncIterableIterator<
      StepResult<Outputs>,
      RunResult<Outputs> | undefined,
      undefined
    >,
    AsyncDisposable {
  /**
   * The request's result, once it is done, whether or not anybody iterates; rejected as that of `ServingEngine.run`, and
   * with an AbortError where the iteration was left.
   */
  readonly result: Promise<RunResult<Outputs>>;
  readonly #steps: Fifo<StepResult<Outputs>> = new Fifo();
  readonly #waiting: Fifo<Waiting<Outputs>> = new Fifo();
  readonly #cancel: (reason: unknown) => void;
  /** What is left to say behind the last step: once, then the iteration is over. */
  #end: End<Outputs> | undefined;
  #isOver = false;

  /**
   * Use `ServingEngine.stream`.
   * @internal
   */
  constructor(
    host: StreamHost,
    model: Model,
    input: unknown,
    options: RequestOptions,
  ) {
    checkGrowing(model, input);
    const { result, cancel } = submitRequest(
      host,
      model as Model<unknown, Outputs>,
      input,
      options,
      "stream()",
      ({ index, outputs }, sinceCallNs) => {
        if (this.#isOver) return;
        this.#steps.push({
          index,
          outputs: outputs as Partial<Result<Outputs>>,
          endedMs: Math.max(0, sinceCallNs) / NS_PER_MS,
        });
        this.#deliver();
      },
    );
    this.result = result;
    this.#cancel = cancel;
    // Also marks the promise as looked at: who iterates hears of its error there.
    result.then(
      (result) => this.#ended({ result }),
      (error) => this.#ended({ error }),
    );
  }

  /** The next step; behind the last one the result, as `value` of what is `done`. Rejects as `result` does. */
  next(): Promise<
    IteratorResult<StepResult<Outputs>, RunResult<Outputs> | undefined>
  > {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#deliver();
    });
  }

  /** Ends iteration and request, unless it has ended: nothing more of it is launched, and its slot is given away. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#isOver = true;
    while (this.#steps.shift() !== undefined);
    this.#cancel(
      new DOMException("Nobody waits for it any more", "AbortError"),
    );
    this.#deliver();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** The steps: for `for await`. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** As return(): for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #ended(end: End<Outputs>): void {
    this.#end = end;
    this.#deliver();
  }

  #deliver(): void {
    while (this.#waiting.size > 0) {
      const value = this.#steps.shift();
      if (value !== undefined) {
        this.#waiting.shift()!.resolve({ done: false, value });
        continue;
      }
      if (!this.#isOver && this.#end === undefined) return;
      const { resolve, reject } = this.#waiting.shift()!;
      const end = this.#isOver ? undefined : this.#end;
      this.#isOver = true;
      if (end && "error" in end) reject(end.error);
      else resolve({ done: true, value: end?.result });
    }
  }
}

/** Whether it is a model at all, the engine finds out. */
function checkGrowing(model: Model | undefined, input: unknown): void {
  if (typeof model?.check !== "function") return;
  if (model.grow === undefined) {
    throw new TypeError(
      `Requests to "${
        shorten(model.name)
      }" take no steps one by one: stream() is for models that grow, run() for all`,
    );
  }
  const split = model.rows?.split(input);
  refusePromise(split, "rows.split", "model", model.name);
  if (split === undefined) return;
  throw new TypeError(
    `stream() takes one row, got an input that is several to "${
      shorten(model.name)
    }": call it for each`,
  );
}
