/**
 * The work that a rendering may do, counted in letters, elements and values that are gone through: a template that doubles a
 * list in itself, or compares what is long again and again, ends with an error. Renderings do not wait for anything, so that none is
 * amid another one, and what is left is one number.
 */
import { TemplateValueError } from "./template_error.ts";

/** Letters that are gone through, put in place or written. */
const WORK_MAX = 2 ** 26;

/** What a statement and a call count as: there are less than a million of them. */
export const STATEMENT_WORK = 64;

/** What an element of a list or map counts as. */
export const ELEMENT_WORK = 16;

let left = 0;

/** Begins a rendering. */
export function beginWork(): void {
  left = WORK_MAX;
}

/** A value that is gone through, or was made, as far as it is a text. */
export function workOn<T>(value: T): T {
  if (typeof value === "string") work(value.length);
  return value;
}

/** Looks for a part in a text, where all of a long part may be compared at many places. */
export function workOnSearch(text: string, part: string): void {
  const places = Math.max(0, text.length - part.length);
  work(text.length + part.length * Math.max(1, Math.floor(places / 64)));
}

/** Texts in one, with another one between them. */
export function joined(parts: readonly string[], between: string): string {
  let length = parts.length * between.length;
  for (const part of parts) length += part.length;
  work(length);
  return parts.join(between);
}

/** @throws TemplateValueError when there was too much of it */
export function work(amount: number): void {
  left -= amount;
  if (left < 0) throw new TemplateValueError("it goes on without end");
}
