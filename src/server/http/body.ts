/** A request's body, read once, and no more of it than is allowed. */
import { HttpError } from "./http_error.ts";
import { parseJson } from "./json.ts";

/** What is read of a body before it is refused. */
export interface BodyLimits {
  /** Most bytes. */
  readonly bytesMax: number;
  /** Most arrays and objects within each other. */
  readonly depthMax: number;
}

/** 64 MiB and 100 levels, as Triton has them. */
export const BODY_LIMITS: BodyLimits = { bytesMax: 2 ** 26, depthMax: 100 };

/** The body of a request. */
export class Body {
  #read: Promise<Uint8Array<ArrayBuffer>> | undefined;

  /** Reads nothing yet. */
  constructor(
    /** Whose it is. */
    readonly request: Request,
    /** What is read of it. */
    readonly limits: BodyLimits,
  ) {}

  /** Its bytes. @throws HttpError 413 when they are too many, 400 when they end early */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read ??= this.#bytes();
  }

  /** Its value, see `parseJson`. @throws HttpError 413, or 400 when it is no JSON or nested too deep */
  async json(): Promise<unknown> {
    return parseJson(await this.bytes(), this.limits.depthMax);
  }

  async #bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const { body, headers } = this.request;
    const { bytesMax } = this.limits;
    const declared = headers.get("content-length");
    if (declared !== null && Number(declared) > bytesMax) {
      throw tooLarge(bytesMax);
    }
    if (body === null) return new Uint8Array();
    const pieces: Uint8Array[] = [];
    let size = 0;
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        size += value.length;
        if (size > bytesMax) throw tooLarge(bytesMax);
        pieces.push(value);
      }
    } catch (error) {
      // What is left of it is nobody's.
      reader.cancel().catch(() => {});
      if (error instanceof HttpError) throw error;
      throw new HttpError(400, "The body ended early", {}, { cause: error });
    }
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }
}

function tooLarge(bytesMax: number): HttpError {
  return new HttpError(413, `A body has up to ${bytesMax} bytes`);
}
