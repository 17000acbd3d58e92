import { shorten } from "../base/describe.ts";
import { schemaMistakes } from "../base/schema_mistakes.ts";
import type * as z from "zod";
import { UsageError } from "./terminal.ts";

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
  throw new UsageError(
    `${shorten(label)}: ${schemaMistakes(checked.error.issues, value)}`,
  );
}
