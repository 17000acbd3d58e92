import type * as z from "zod";
import { describe, shorten } from "./describe.ts";

/** Mistakes that one message lists. */
const LISTED = 3;

/** Characters of one: messages repeat keys that nobody knows. */
const SHOWN = 300;

interface Mistake {
  /** Where the value is that is not as it should be. */
  readonly path: readonly PropertyKey[];
  /** The place, and what should be there. */
  readonly text: string;
}

/**
 * What is wrong with a value that does not fit a schema, in one line: places, what should be there, and what is.
 * @param issues what the schema found
 * @param value the whole of it, a file's as a rule
 */
export function schemaMistakes(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
): string {
  const all = issues.flatMap((issue) => mistakes(issue));
  const lines = all.slice(0, LISTED).map(({ path, text }) =>
    `${text}, got ${describe(valueAt(value, path))}`
  );
  const more = all.length - lines.length;
  return `${lines.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/**
 * Of a union Zod says only that the value is none of the things that it may be: told is what it has the fewest
 * mistakes as; where several are as near, all of these.
 * @param within path of the union that the issue is found in
 */
function mistakes(
  issue: z.core.$ZodIssue,
  within: readonly PropertyKey[] = [],
): Mistake[] {
  const path = [...within, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    const place = path.length === 0 ? "the file" : describe(path.join("."));
    return [{ path, text: `${place}: ${shorten(issue.message, SHOWN)}` }];
  }
  const ways = issue.errors.map((errors) =>
    errors.flatMap((error) => mistakes(error, path))
  );
  const fewest = Math.min(...ways.map((way) => way.length));
  const near = ways.filter((way) => way.length === fewest);
  if (near.length === 1) return near[0];
  const texts = near.map((way) => way.map(({ text }) => text).join(" and "));
  return [{ path, text: [...new Set(texts)].join(", or ") }];
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) {
      return undefined;
    }
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}
