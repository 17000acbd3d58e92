/**
 * Names that make an object mean different things to different readers: one that it has twice, so that what a proxy has
 * looked at is not what is served; and `__proto__`.
 */
import { repeatedName } from "../../base/json_names.ts";
import { HttpError } from "./http_error.ts";

const PROTO = "__proto__";

/**
 * Whether it is JSON is for its parser to say.
 * @throws HttpError 400 that says where, and repeats nothing
 */
export function checkNames(text: string): void {
  const found = repeatedName(text, PROTO);
  if (found === undefined) return;
  const what = found.name === PROTO
    ? "a name that no object may have"
    : "a name that its object has already";
  throw new HttpError(400, `The body has ${what}, at character ${found.at}`);
}
