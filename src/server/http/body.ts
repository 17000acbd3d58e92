/** A request's body, read once, and no more of it than is allowed. */
import type { BodyBudget } from "./body_budget.ts";
import type { BodyLimits } from "./body_limits.ts";
import { parseJson } from "./json.ts";
import { noRoom, type ReadBody, readBody } from "./read_body.ts";

/** The body of a request. */
export class Body {
  readonly #budget: BodyBudget;
  #limits: BodyLimits;
  #read: Promise<ReadBody> | undefined;
  /** Once it is there, and nothing was made of it. */
  #whole: ReadBody | undefined;
  #made: (() => void) | undefined;

  /** Reads nothing yet. */
  constructor(
    /** Whose it is. */
    readonly request: Request,
    limits: BodyLimits,
    budget: BodyBudget,
  ) {
    this.#limits = limits;
    this.#budget = budget;
  }

  /** What is read of it. */
  get limits(): BodyLimits {
    return this.#limits;
  }

  /** It is of texts, of which less is read; before anything was. */
  holdsTexts(): void {
    const { bytesMax, textBytesMax } = this.#limits;
    this.#limits = {
      ...this.#limits,
      bytesMax: Math.min(bytesMax, textBytesMax),
    };
  }

  /**
   * Its bytes; see `readBody`.
   * @throws HttpError 413 when they are too many, 408 when they come too slowly, 400 when they end early; OverloadedError
   * when other bodies leave no room
   */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    this.#read ??= readBody(
      this.request,
      this.#limits,
      this.#budget,
      this.request.signal,
    );
    this.#whole = await this.#read;
    return this.#whole.bytes;
  }

  /** Its value, see `parseJson`. @throws HttpError as `bytes`, or 400 when it is no JSON or nested too deep */
  async json(): Promise<unknown> {
    return parseJson(await this.bytes(), this.#limits.depthMax);
  }

  /**
   * Counts bytes that are read of it in another way.
   * @returns called when they are held no more
   * @throws OverloadedError when other bodies leave no room, HttpError 413 when there never is
   */
  hold(bytes: number): () => void {
    if (!this.#budget.take(bytes)) throw noRoom(bytes, this.#budget);
    return () => this.#budget.give(bytes);
  }

  /**
   * Its bytes, which `bytes` has given, are not needed any more; counted is what was made of them, until the request is over:
   * no less than was read, as names and parameters may be long.
   * @param bytes of tensors and of whatever takes more memory than it was read from
   * @throws OverloadedError when other bodies leave no room, HttpError 413 when there never is
   */
  became(bytes: number): void {
    const whole = this.#whole;
    whole?.release();
    this.#read = this.#whole = undefined;
    this.#made = this.hold(Math.max(bytes, whole?.bytes.length ?? 0));
  }

  /** The request is over: what its body holds is counted no more. */
  release(): void {
    this.#made?.();
    void this.#read?.then((body) => body.release(), () => {});
  }
}
