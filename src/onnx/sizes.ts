/** The sizes that a request's inputs have: as the file declares them, a free batch axis 1, other free ones as told. */
import { describe, isList } from "../base/describe.ts";
import type { DeclaredDim, OnnxGraph, ValueInfo } from "./ir.ts";
import { type Place, quoted } from "./place.ts";

/** Sizes that a file leaves open. */
export interface GivenSizes {
  /** Sizes by the names that the file gives them, such as `{ sequence: 128 }`; a batch axis in front is 1 by default. */
  readonly sizes?: Readonly<Record<string, number>>;
  /**
   * The most that a request has of an axis that stays free, by the name that the file gives it, such as
   * `{ sequence: 512 }`: requests bring as many positions as they like, and those of unlike lengths batch. Of one name;
   * up to 2^16. Of a decoder: the most positions of what an encoder saw, under all names that the file has for it.
   */
  readonly sizesMax?: Readonly<Record<string, number>>;
  /** Sizes of all axes of an input, by its name, in place of those that the file declares. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

function isSize(size: unknown): size is number {
  return Number.isSafeInteger(size) && Number(size) >= 1;
}

/** Positions of a request. */
const LENGTH_MAX = 2 ** 16;

/** What is wrong with an input of which nothing is said. */
export const NO_TYPE = "the file does not say the type of its elements";

/**
 * Dims of every input of a graph that requests bring: numbers, but for a free axis.
 * @param fixed inputs that are constants
 * @throws OnnxError naming input and axis where a size is not known
 */
export function sizesOf(
  { inputs }: OnnxGraph,
  { sizes = {}, sizesMax = {}, shapes = {} }: GivenSizes,
  place: Place,
  fixed: ReadonlyMap<string, unknown> = new Map(),
): Map<string, readonly DeclaredDim[]> {
  const named = new Set<unknown>(inputs.flatMap(({ dims }) => dims ?? []));
  for (const [name, size] of Object.entries({ ...sizes, ...sizesMax })) {
    const at = place.in(`size ${quoted(name)}`);
    if (!named.has(name)) {
      at.fail(`no input has an axis of that name${thereAre(named)}`);
    }
    if (!isSize(size)) {
      at.fail(`it is a positive integer, got ${describe(size)}`);
    }
  }
  const free = freeOf(sizesMax);
  if (free !== undefined) {
    const at = place.in(`size ${quoted(free.name)}`);
    if (Object.keys(sizesMax).length > 1) {
      at.fail("one axis stays free, give sizes of the others");
    }
    if (Object.hasOwn(sizes, free.name)) {
      at.fail((words) =>
        `give one, ${words.sizes(free.name)} or ${words.sizesMax(free.name)}`
      );
    }
    if (free.max > LENGTH_MAX) at.fail(`it is ${LENGTH_MAX} at most`);
  }
  for (const name of Object.keys(shapes)) {
    if (inputs.some((input) => input.name === name)) continue;
    const names = new Set<unknown>(inputs.map(({ name }) => name));
    place.in(`shape of ${quoted(name)}`).fail(
      `there is no such input${thereAre(names)}`,
    );
  }
  const known = {
    ...batchOf(inputs),
    ...sizes,
    ...free && { [free.name]: free.name },
  };
  const dims = new Map(
    inputs.filter(({ name }) => !fixed.has(name)).map((input) =>
      [input.name, dimsOf(input, known, shapes, place)] as const
    ),
  );
  if (free && ![...dims.values()].some((sizes) => sizes.includes(free.name))) {
    place.in(`size ${quoted(free.name)}`).fail(
      "it is free, and shapes say what it is",
    );
  }
  return dims;
}

/** What could have been named. */
function thereAre(names: ReadonlySet<unknown>): string {
  const texts = [...names].filter((name) => typeof name === "string");
  return texts.length === 0
    ? ""
    : `; there are ${texts.map(quoted).join(", ")}`;
}

/** The one name that open axes in front have, which may stand elsewhere in other inputs, as in states: it is 1 there, too. */
function batchOf(inputs: readonly ValueInfo[]): Record<string, number> {
  const fronts = new Set(
    inputs.map(({ dims }) => dims?.[0]).filter((size) =>
      typeof size === "string"
    ),
  );
  const [name] = fronts;
  return fronts.size === 1 ? { [name]: 1 } : {};
}

/** The axis that stays free. */
export function freeOf(
  sizesMax: GivenSizes["sizesMax"] = {},
): { name: string; max: number } | undefined {
  const [first] = Object.entries(sizesMax);
  return first && { name: first[0], max: first[1] };
}

function dimsOf(
  { name, type, dims }: ValueInfo,
  sizes: Readonly<Record<string, DeclaredDim>>,
  shapes: Readonly<Record<string, readonly number[]>>,
  place: Place,
): readonly DeclaredDim[] {
  const at = place.in(`input ${quoted(name)}`);
  if (type === null) at.fail(NO_TYPE);
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
    return at.fail(({ shapes }) =>
      `the file does not say its shape; give ${shapes(name)}`
    );
  }
  return dims.map((size, axis) => {
    if (typeof size === "number") return size;
    if (size !== null && Object.hasOwn(sizes, size)) return sizes[size];
    if (axis === 0) return 1;
    return at.fail(({ sizes, sizesMax, shapes }) =>
      size === null
        ? `the file leaves the size of axis ${axis} open; give ${shapes(name)}`
        : `the size of axis ${axis} is ${quoted(size)}; give ${sizes(size)}, ` +
          `or ${sizesMax(size)} to let every request have its own`
    );
  });
}
