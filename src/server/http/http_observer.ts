/** What servers tell of the requests that they answer, whatever protocol and whether or not a model was asked. */

/** How a request was answered. */
export interface Answered {
  /** The answer's status; a body that is streamed has only begun. */
  readonly status: number;
  /** Path of the route, with its braces; none where there is none. */
  readonly route?: string;
  /** Name of the route's protocol. */
  readonly protocol?: string;
  /** The model that the path names. */
  readonly model?: string;
  /** Name of the key that it came with. */
  readonly key?: string;
  /** Why it is an error. */
  readonly error?: unknown;
}

/** Hears of each request. */
export interface HttpObserver {
  /**
   * A request came.
   * @returns called once, when its answer is made
   */
  began(
    request: Request,
    requestId: string,
  ): ((answered: Answered) => void) | undefined;
}
