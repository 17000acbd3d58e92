import { TemplateValueError } from "./template_error.ts";
import { Opaque, UNDEFINED } from "./template_values.ts";

/** A loop under way, which templates know as `loop`: it looks ahead when it is asked what comes, as Jinja's does. */
export class Loop extends Opaque {
  readonly kind = "a loop";
  #items: Iterator<unknown>;
  #ahead: { readonly item: unknown } | undefined;
  #length: number | undefined;
  #isAsked = false;
  #index = -1;
  #before: unknown = UNDEFINED;
  current: unknown = UNDEFINED;

  /** @param length undefined where it is not known before all was gone through */
  constructor(items: Iterable<unknown>, length: number | undefined) {
    super();
    this.#items = items[Symbol.iterator]();
    this.#length = length;
  }

  /** Goes on; false at the end. */
  next(): boolean {
    if (!this.#looksAhead()) return false;
    this.#before = this.current;
    this.current = this.#ahead!.item;
    this.#ahead = undefined;
    this.#index++;
    return true;
  }

  #looksAhead(): boolean {
    this.#ahead ??= this.#asked();
    return this.#ahead !== undefined;
  }

  /** What comes next: a loop's condition that asks the loop what comes would ask itself. */
  #asked(): { readonly item: unknown } | undefined {
    if (this.#isAsked) {
      throw new TemplateValueError("a loop is asked by its own condition");
    }
    this.#isAsked = true;
    const { done, value } = this.#items.next();
    this.#isAsked = false;
    return done ? undefined : { item: value };
  }

  get #all(): number {
    if (this.#length === undefined) {
      const rest: unknown[] = [];
      for (let next = this.#asked(); next; next = this.#asked()) {
        rest.push(next.item);
      }
      this.#items = rest[Symbol.iterator]();
      this.#length = this.#index + 1 + (this.#ahead ? 1 : 0) + rest.length;
    }
    return this.#length;
  }

  override member(name: string): unknown {
    switch (name) {
      case "index":
        return this.#index + 1;
      case "index0":
        return this.#index;
      case "revindex":
        return this.#all - this.#index;
      case "revindex0":
        return this.#all - this.#index - 1;
      case "first":
        return this.#index === 0;
      case "last":
        return !this.#looksAhead();
      case "length":
        return this.#all;
      // None calls itself.
      case "depth":
        return 1;
      case "depth0":
        return 0;
      case "previtem":
        return this.#before;
      case "nextitem":
        return this.#looksAhead() ? this.#ahead!.item : UNDEFINED;
    }
    return super.member(name);
  }
}
