/** A request's body, read once, and no more of it than is allowed. */
import type { BodyBudget } from "./body_budget.ts";
import type { BodyLimits } from "./body_limits.ts";
import { parseJson } from "./json.ts";
import { noRoom, type ReadBody, readBody } from "./read_body.ts";

/** The body of a request. */
export class Body {
  readonly #budget: BodyBudget;
  #read: Promise<ReadBody> | undefined;

  /** Reads nothing yet. */
  constructor(
    /** Whose it is. */
    readonly request: Request,
    /** What is read of it. */
    readonly limits: BodyLimits,
    budget: BodyBudget,
  ) {
    this.#budget = budget;
  }

  /**
   * Its bytes; see `readBody`.
   * @throws HttpError 413 when they are too many, 408 when they come too slowly, 400 when they end early, 503 when other
   * bodies leave no room
   */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    this.#read ??= readBody(
      this.request,
      this.limits,
      this.#budget,
      this.request.signal,
    );
    return (await this.#read).bytes;
  }

  /** Its value, see `parseJson`. @throws HttpError as `bytes`, or 400 when it is no JSON or nested too deep */
  async json(): Promise<unknown> {
    return parseJson(await this.bytes(), this.limits.depthMax);
  }

  /**
   * Counts bytes that are read of it in another way.
   * @returns called when they are held no more
   * @throws HttpError 503 when other bodies leave no room
   */
  hold(bytes: number): () => void {
    if (!this.#budget.take(bytes)) throw noRoom();
    return () => this.#budget.give(bytes);
  }

  /** The request is over: what its body holds is counted no more. */
  release(): void {
    void this.#read?.then((body) => body.release(), () => {});
  }
}
