/** Limits on what comes before a body. Runtimes have their own, of very different sizes. */
import { HttpError } from "./http_error.ts";

/** What a request's first lines may take. */
export interface HeadLimits {
  /** Characters of the URL, its origin included. */
  readonly urlCharactersMax: number;
  /** Headers. */
  readonly headersMax: number;
  /** Characters of all headers, names and values. */
  readonly headerCharactersMax: number;
}

/** As Node's http has them, but for the URL's, which few servers let be longer. */
export const HEAD_LIMITS: HeadLimits = {
  urlCharactersMax: 8192,
  headersMax: 100,
  headerCharactersMax: 16_384,
};

/** @throws HttpError 414 (RFC 9110, section 15.5.15) or 431 (RFC 6585, section 5) */
export function checkHead(
  { url, headers }: Pick<Request, "url" | "headers">,
  { urlCharactersMax, headersMax, headerCharactersMax }: HeadLimits,
): void {
  if (url.length > urlCharactersMax) {
    throw new HttpError(
      414,
      `A URL has at most ${urlCharactersMax} characters`,
    );
  }
  let count = 0;
  let characters = 0;
  for (const [name, value] of headers) {
    count++;
    characters += name.length + value.length;
  }
  if (count > headersMax) {
    throw new HttpError(431, `A request has at most ${headersMax} headers`);
  }
  if (characters > headerCharactersMax) {
    throw new HttpError(
      431,
      `Headers have at most ${headerCharactersMax} characters together`,
    );
  }
}
