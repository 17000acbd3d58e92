import { describe, shorten } from "../base/describe.ts";
import type * as z from "zod";
import { UsageError } from "./terminal.ts";

/** Mistakes that one message lists. */
const LISTED = 3;

/**
 * @param label the file's name, for messages
 * @throws UsageError naming file, keys and values that do not fit the schema
 */
export function checkedBy<T>(
  schema: z.ZodType<T>,
  value: unknown,
  label: string,
): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  const lines = issues.slice(0, LISTED).map(({ path, message }) => {
    const place = path.length === 0 ? "the file" : describe(path.join("."));
    return `${place}: ${cut(message)}, got ${describe(valueAt(value, path))}`;
  });
  const more = issues.length - lines.length;
  throw new UsageError(
    `${shorten(label)}: ${lines.join("; ")}${
      more > 0 ? `; and ${more} more` : ""
    }`,
  );
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

/** Messages repeat keys that nobody knows. */
function cut(message: string): string {
  return message.length > 300 ? `${message.slice(0, 300)}…` : message;
}
