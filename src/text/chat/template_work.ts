/**
 * The work that a rendering may do, counted in letters and elements that are gone through: a template that doubles a list in
 * itself, or compares what is long again and again, ends with an error. Renderings do not wait for anything, so that none is
 * amid another one, and what is left is one number.
 */
import { TemplateValueError } from "./template_error.ts";

/** Letters that are gone through, put in place or written. */
const WORK_MAX = 2 ** 26;

/** What a statement and a call count as: there are a million of them. */
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

/** @throws TemplateValueError when there was too much of it */
export function work(amount: number): void {
  left -= amount;
  if (left < 0) throw new TemplateValueError("it goes on without end");
}
