/** The sizes that a request's inputs have: as the file declares them, a free batch axis 1, other free ones as told. */
import { describe, isList } from "../base/describe.ts";
import type { OnnxGraph, ValueInfo } from "./ir.ts";
import { type Place, quoted } from "./place.ts";

/** Sizes that a file leaves open. */
export interface GivenSizes {
  /** Sizes by the names that the file gives them, such as `{ sequence: 128 }`; a batch axis in front is 1 by default. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** Sizes of all axes of an input, by its name, in place of those that the file declares. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

function isSize(size: unknown): size is number {
  return Number.isSafeInteger(size) && Number(size) >= 1;
}

/** Dims of every input of a graph. @throws OnnxError naming input and axis where a size is not known */
export function sizesOf(
  { inputs }: OnnxGraph,
  { sizes = {}, shapes = {} }: GivenSizes,
  place: Place,
): Map<string, readonly number[]> {
  const named = new Set<unknown>(inputs.flatMap(({ dims }) => dims ?? []));
  for (const [name, size] of Object.entries(sizes)) {
    const at = place.in(`size ${quoted(name)}`);
    if (!named.has(name)) at.fail("no input has an axis of that name");
    if (!isSize(size)) {
      at.fail(`it is a positive integer, got ${describe(size)}`);
    }
  }
  for (const name of Object.keys(shapes)) {
    if (inputs.some((input) => input.name === name)) continue;
    place.in(`shape of ${quoted(name)}`).fail("there is no such input");
  }
  return new Map(
    inputs.map((input) =>
      [input.name, dimsOf(input, sizes, shapes, place)] as const
    ),
  );
}

function dimsOf(
  { name, dims }: ValueInfo,
  sizes: Readonly<Record<string, number>>,
  shapes: Readonly<Record<string, readonly number[]>>,
  place: Place,
): readonly number[] {
  const at = place.in(`input ${quoted(name)}`);
  if (Object.hasOwn(shapes, name)) {
    const given: unknown = shapes[name];
    const isShape = isList(given) &&
      given.every((size) => size === 0 || isSize(size));
    const fits = isShape &&
      (dims === null || dims.length === given.length &&
          dims.every((size, i) =>
            typeof size !== "number" || size === given[i]
          ));
    if (!fits) {
      at.fail(
        `its shape is declared [${dims?.join(", ") ?? "?"}], got ${
          describe(given)
        }`,
      );
    }
    return given as number[];
  }
  if (dims === null) {
    return at.fail(
      "the file does not say its shape; give it as an option, shapes",
    );
  }
  return dims.map((size, axis) => {
    if (typeof size === "number") return size;
    if (size !== null && Object.hasOwn(sizes, size)) return sizes[size];
    if (axis === 0) return 1;
    return at.fail(
      size === null
        ? `the file leaves the size of axis ${axis} open; give shapes: { ${
          JSON.stringify(name)
        }: [...] }`
        : `the size of axis ${axis} is ${quoted(size)}; give sizes: { ${
          JSON.stringify(size)
        }: ... }`,
    );
  });
}
