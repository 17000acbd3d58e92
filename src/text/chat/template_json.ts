import { TemplateValueError } from "./template_error.ts";
import { textOrder } from "./template_texts.ts";
import {
  entriesOf,
  kindOf,
  Markup,
  Opaque,
  textOf,
  UNDEFINED,
  WholeFloat,
} from "./template_values.ts";
import { ELEMENT_WORK, joined, work } from "./template_work.ts";

/** How JSON is written, as Python's `json.dumps` has it. */
export interface JsonForm {
  /** Whether letters beyond ASCII are written as escapes. */
  readonly isAscii: boolean;
  /** Spaces in front of what is inside; undefined: all in one line. */
  readonly indent: number | undefined;
  /** Between elements, and behind keys. */
  readonly separators: readonly [string, string];
  readonly sortsKeys: boolean;
}

/**
 * A value as JSON.
 * @throws TemplateValueError on what is no JSON
 */
export function jsonOf(value: unknown, form: JsonForm, depth = 0): string {
  work(ELEMENT_WORK);
  const { indent, separators: [comma, colon] } = form;
  const lines = (open: string, parts: readonly string[], close: string) => {
    if (parts.length === 0) return open + close;
    if (indent === undefined) return open + joined(parts, comma) + close;
    const newline = (depth: number) => `\n${" ".repeat(indent * depth)}`;
    const inside = newline(depth + 1);
    return `${open}${inside}${joined(parts, comma + inside)}${
      newline(depth)
    }${close}`;
  };
  const inside = (item: unknown) => jsonOf(item, form, depth + 1);
  if (Array.isArray(value)) return lines("[", value.map(inside), "]");
  const entries = entriesOf(value);
  if (entries) {
    if (form.sortsKeys && entries.some(([key]) => typeof key !== "string")) {
      throw new TemplateValueError("keys that are no texts are not sorted");
    }
    const all = form.sortsKeys
      ? entries.toSorted(([a], [b]) => textOrder(a as string, b as string))
      : entries;
    const parts = all.map(([key, item]) =>
      `${quoted(textOf(key), form)}${colon}${inside(item)}`
    );
    return lines("{", parts, "}");
  }
  if (value instanceof Markup) return quoted(value.text, form);
  if (typeof value === "string") return quoted(value, form);
  if (value instanceof WholeFloat) return textOf(value);
  if (value === UNDEFINED || value instanceof Opaque) {
    throw new TemplateValueError(`${kindOf(value)} is no JSON`);
  }
  if (typeof value !== "number") return JSON.stringify(value ?? null);
  return Number.isFinite(value) ? textOf(value) : `${value}`;
}

function quoted(text: string, { isAscii }: JsonForm): string {
  work(text.length);
  const written = JSON.stringify(text);
  if (!isAscii) return written;
  return written.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
