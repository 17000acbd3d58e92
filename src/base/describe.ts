/**
 * How messages name what they were given. Whatever it is, describing it does not throw, runs none of its
 * code but a proxy's, and looks at no more of it than is shown.
 */

/** Characters of a value that a message repeats. */
const SHOWN = 80;

/** A value as JSON has it, or as near as it comes, cut off behind `shown` characters. */
export function describe(value: unknown, shown = SHOWN): string {
  try {
    const text = new Text(shown);
    text.value(value);
    return shorten(text.written, shown);
  } catch {
    return tagOf(value);
  }
}

/** A name or another text in quotes' stead: cut off behind `shown` characters. */
export function shorten(text: string, shown = SHOWN): string {
  if (text.length <= shown) return text;
  // Half a pair is no character.
  const isPair = text.codePointAt(shown - 1)! > 0xffff;
  return `${text.slice(0, isPair ? shown - 1 : shown)}…`;
}

/** Names one after the other, as many as fit. */
export function listed(names: Iterable<unknown>, shown = SHOWN): string {
  let text = "";
  for (const name of names) {
    const next = typeof name === "string"
      ? shorten(name, shown)
      : describe(name, shown);
    text += text === "" ? next : `, ${next}`;
    if (text.length > shown) break;
  }
  return shorten(text, shown) || "none";
}

/** A shape as messages show it, e.g. `[2, 3]`; what is no list of sizes as `describe` has it. */
export function describeShape(shape: unknown): string {
  return isList(shape)
    ? `[${shape.length > 0 ? listed(shape) : ""}]`
    : describe(shape);
}

/** Array.isArray for values of which nothing is known: that throws on a revoked proxy. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** `[object Map]` and the like. */
function tagOf(value: unknown): string {
  try {
    return shorten(Object.prototype.toString.call(value));
  } catch {
    return "an object that cannot be read";
  }
}

/** Writes values until there are enough characters. */
class Text {
  written = "";
  /** Objects around the one being written. */
  readonly #open: object[] = [];

  constructor(readonly limit: number) {}

  get #full(): boolean {
    return this.written.length > this.limit;
  }

  /** @throws on what contains itself or cannot be read */
  value(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.#quoted(value);
        return;
      case "bigint":
        // A number of a million digits takes a while to write.
        this.written += BigInt.asIntN(512, value) === value
          ? `${value}n`
          : "a bigint of more than 512 bits";
        return;
      case "symbol":
        this.written += `Symbol(${
          shorten(value.description ?? "", this.limit)
        })`;
        return;
      case "function":
        this.written += "a function";
        return;
      case "object":
        if (value !== null) {
          this.#object(value);
          return;
        }
    }
    this.written += String(value);
  }

  #quoted(text: string): void {
    this.written += JSON.stringify(text.slice(0, this.limit + 1));
  }

  #object(object: object): void {
    if (this.#open.includes(object)) throw new TypeError("circular");
    this.#open.push(object);
    if (ArrayBuffer.isView(object)) this.#view(object);
    else if (Array.isArray(object)) this.#list(object);
    else this.#fields(object);
    this.#open.pop();
  }

  #view(view: ArrayBufferView): void {
    const tag = Object.prototype.toString.call(view).slice(8, -1);
    this.written += `${tag} of ${
      "length" in view ? view.length : `${view.byteLength} bytes`
    }`;
    // Else a message says that it was given what it asks for.
    const Ours = (globalThis as unknown as Record<string, unknown>)[tag];
    if (typeof Ours !== "function" || view instanceof Ours) return;
    this.written += " from another frame or context (copy it)";
  }

  #list(list: readonly unknown[]): void {
    this.written += "[";
    for (let i = 0; i < list.length && !this.#full; i++) {
      if (i > 0) this.written += ",";
      this.#field(list, i);
    }
    this.written += "]";
  }

  #fields(object: object): void {
    const tag = tagOf(object);
    if (tag !== "[object Object]") {
      this.written += tag;
      return;
    }
    this.written += "{";
    let isFirst = true;
    for (const key in object) {
      if (!Object.hasOwn(object, key)) continue;
      if (!isFirst) this.written += ",";
      isFirst = false;
      this.#quoted(key);
      this.written += ":";
      this.#field(object, key);
      if (this.#full) break;
    }
    this.written += "}";
  }

  /** A getter's code is not run. */
  #field(object: object, key: PropertyKey): void {
    const field = Object.getOwnPropertyDescriptor(object, key);
    if (field?.get) this.written += "a getter";
    else this.value(field?.value);
  }
}
