/**
 * `ModelStreamInfer`: requests of one call, each answered when it is done, in one message or, by a model that grows, in
 * one for each step (Triton's decoupled models). What is wrong with one of them is told in its answer's `error_message`
 * and ends none of the others. Frames of a sequence are computed in the order in which they come.
 */
import { describe } from "../../base/describe.ts";
import { watchSignal } from "../../engine/wall/watch_signal.ts";
import { httpErrorOf } from "../http/error_status.ts";
import { HttpError } from "../http/http_error.ts";
import type { Context } from "../http/route.ts";
import {
  bytesOf,
  growingOf,
  type InferCall,
  inferSteps,
  inferTensors,
} from "../oip/infer.ts";
import { leftMsOf } from "./deadline.ts";
import { encode } from "./encode.ts";
import { framed, frames } from "./frames.ts";
import { type GrpcInferRequest, readInferRequest } from "./infer_request.ts";
import { inferResponse, isRawAnswer } from "./infer_response.ts";
import { STREAM_INFER_RESPONSE } from "./messages.ts";

/** Requests of a call that are under way or whose answers are not read; more are not taken off the connection. */
const UNDER_WAY_MAX = 64;

/** Triton's names. */
const FINAL = "triton_final_response";
const WITH_EMPTY_FINAL = "triton_enable_empty_final_response";

/** Answers, framed. Whoever stops reading them ends the requests. */
export function streamInfer(context: Context): ReadableStream<Uint8Array> {
  const left = new AbortController();
  const signal = AbortSignal.any([context.signal, left.signal]);
  const call = new Call({ ...context, signal });
  return new ReadableStream<Uint8Array>({
    start(controller) {
      call.run(controller).then(
        () => controller.close(),
        (error) => controller.error(error),
      ).catch(() => {});
    },
    pull: () => call.wanted(),
    cancel: () =>
      left.abort(new DOMException("The client has left", "AbortError")),
  }, { highWaterMark: 0 });
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

class Call {
  readonly #underWay = new Set<Promise<void>>();
  /** Of those under way. */
  #oneIsOver = () => {};
  readonly #leftMs: number;
  /** Answers that wait to be asked for. */
  readonly #waiting: (() => void)[] = [];
  /** Times that one was asked for and there was none. */
  #wanted = 0;

  constructor(readonly context: Context) {
    this.#leftMs = leftMsOf(context.request.headers);
  }

  /** An answer is asked for. */
  wanted(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#wanted++;
  }

  async run(controller: Controller): Promise<void> {
    const { body, request } = this.context;
    const messages = frames(
      request.body ?? new Blob([]).stream(),
      body.limits.bytesMax,
    );
    try {
      for await (const message of messages) {
        const answered = this.#answer(message, controller).finally(() => {
          this.#underWay.delete(answered);
          this.#oneIsOver();
        });
        this.#underWay.add(answered);
        if (this.#underWay.size >= UNDER_WAY_MAX) {
          // Not a race of them, which those that take long would keep for every message behind them.
          await new Promise<void>((resolve) => this.#oneIsOver = resolve);
        }
      }
    } finally {
      // Also where no more messages are taken.
      await Promise.all(this.#underWay);
    }
  }

  /** Never rejects. */
  async #answer(message: Uint8Array, controller: Controller): Promise<void> {
    let asked: GrpcInferRequest | undefined;
    let release: (() => void) | undefined;
    const send = async (answer: object) => {
      await this.#room();
      if (this.context.signal.aborted) return;
      controller.enqueue(framed(encode(STREAM_INFER_RESPONSE, answer)));
    };
    try {
      asked = readInferRequest(message);
      release = this.context.body.hold(
        message.length + bytesOf(asked.request),
      );
      for await (const answer of this.#answers(asked)) {
        await send({ infer_response: answer });
      }
    } catch (error) {
      this.context.report(error);
      await send({
        error_message: httpErrorOf(error).message,
        infer_response: {
          model_name: asked?.model,
          model_version: asked?.version,
          id: asked?.request.id,
        },
      });
    } finally {
      release?.();
    }
  }

  async *#answers(asked: GrpcInferRequest): AsyncGenerator<object> {
    const { context } = this;
    const { parameters } = asked.request;
    const isRaw = isRawAnswer(asked);
    const withFinal = parameters[WITH_EMPTY_FINAL] ?? false;
    if (typeof withFinal !== "boolean") {
      throw new HttpError(
        400,
        `"${WITH_EMPTY_FINAL}" is true or false, got ${describe(withFinal)}`,
      );
    }
    const call: InferCall = { ...asked, leftMs: this.#leftMs };
    const final = (isFinal: boolean) => ({ [FINAL]: { bool_param: isFinal } });
    const growing = growingOf(context, call);
    if (growing === undefined) {
      const inferred = await inferTensors(context, call);
      yield inferResponse(asked, inferred, isRaw, final(true));
      return;
    }
    for await (const step of inferSteps(context, call, growing)) {
      yield inferResponse(asked, step, isRaw, final(false));
    }
    // Which step is the last is known when there is none behind it.
    if (!withFinal) return;
    const none = { served: growing, chosen: [], tensors: [] };
    yield inferResponse(asked, none, isRaw, final(true));
  }

  /** Resolves when somebody wants an answer, or nobody will. */
  #room(): Promise<void> {
    if (this.#wanted > 0) {
      this.#wanted--;
      return Promise.resolve();
    }
    const { signal } = this.context;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const unwatch = watchSignal(signal, () => resolve());
      this.#waiting.push(() => {
        unwatch();
        resolve();
      });
    });
  }
}
