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
 * @returns undefined where a copy would be something else: an instance of a class, a function
 */
export function plainCopy(
  value: unknown,
): { readonly copy: unknown } | undefined {
  try {
    return { copy: copyOf(value, new Map()) };
  } catch {
    // Not plain, or what threw when it was read.
    return undefined;
  }
}

/** @param copies of objects met so far, which may be met again */
function copyOf(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value === "function") throw new TypeError("not plain");
  if (typeof value !== "object" || value === null) return value;
  if (copies.has(value)) return copies.get(value);
  const prototype: object | null = Object.getPrototypeOf(value);
  const Elements = ARRAYS.get(prototype);
  if (Elements !== undefined) return new Elements(value as never);
  if (!PLAIN.has(prototype)) throw new TypeError("not plain");
  if (Array.isArray(value) && !value.some(isObject)) {
    return structuredClone(value);
  }
  const copy: Record<PropertyKey, unknown> = Array.isArray(value)
    ? new Array(value.length)
    : Object.create(prototype);
  copies.set(value, copy);
  for (const key of Reflect.ownKeys(value)) {
    if (key === "length" && Array.isArray(value)) continue;
    const part = copyOf(Reflect.get(value, key), copies);
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
