/**
 * Copies of plain data, for whoever looks at them later: its owner may use it again. structuredClone would leave memory
 * shared that is shared, take a whole buffer along for a view of some of it, and make plain objects of instances.
 */

/** A list, an object without a class, or a typed array. */
const PLAIN: ReadonlySet<unknown> = new Set([
  null,
  Object.prototype,
  Array.prototype,
]);

const ARRAYS: ReadonlyMap<unknown, new (from: never) => unknown> = new Map(
  [
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
    ...[Int8Array, Int16Array, Int32Array],
    ...[Uint8Array, Uint8ClampedArray, Uint16Array, Uint32Array],
  ].map((Elements) => [Elements.prototype, Elements]),
);

/**
 * A copy of a value that is numbers, texts and the like, lists and objects without a class of such, and typed arrays.
 * @returns undefined where a copy would be something else: an instance of a class, a function; `bytes`: about how much
 * memory the copy takes
 */
export function plainCopy(
  value: unknown,
): { readonly copy: unknown; readonly bytes: number } | undefined {
  try {
    const made: Made = { copies: new Map(), bytes: 0 };
    const copy = copyOf(value, made);
    return { copy, bytes: made.bytes };
  } catch {
    // Not plain, or what threw when it was read.
    return undefined;
  }
}

interface Made {
  /** Of objects met so far, which may be met again. */
  readonly copies: Map<object, unknown>;
  bytes: number;
}

/** What an object and a place in one take, and a letter. */
const [OBJECT_BYTES, PLACE_BYTES, LETTER_BYTES] = [64, 8, 2];

function copyOf(value: unknown, made: Made): unknown {
  if (typeof value === "function") throw new TypeError("not plain");
  if (typeof value !== "object" || value === null) {
    if (typeof value === "string") made.bytes += LETTER_BYTES * value.length;
    return value;
  }
  const { copies } = made;
  if (copies.has(value)) return copies.get(value);
  const prototype: object | null = Object.getPrototypeOf(value);
  const Elements = ARRAYS.get(prototype);
  made.bytes += OBJECT_BYTES;
  if (Elements !== undefined) {
    const copy = new Elements(value as never) as ArrayBufferView;
    copies.set(value, copy);
    made.bytes += copy.byteLength;
    return copy;
  }
  if (!PLAIN.has(prototype)) throw new TypeError("not plain");
  if (Array.isArray(value) && !value.some(isObject)) {
    made.bytes += PLACE_BYTES * value.length;
    for (const element of value) {
      if (typeof element !== "string") continue;
      made.bytes += LETTER_BYTES * element.length;
    }
    const copy = structuredClone(value);
    copies.set(value, copy);
    return copy;
  }
  const copy: Record<PropertyKey, unknown> = Array.isArray(value)
    ? new Array(value.length)
    : Object.create(prototype);
  copies.set(value, copy);
  for (const key of Reflect.ownKeys(value)) {
    if (key === "length" && Array.isArray(value)) continue;
    made.bytes += PLACE_BYTES;
    const part = copyOf(Reflect.get(value, key), made);
    // To set it is something else than to have it.
    if (key === "__proto__") throw new TypeError("not plain");
    copy[key] = part;
  }
  return copy;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null ||
    typeof value === "function";
}
