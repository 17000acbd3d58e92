/** Filters of lists by what their elements are: which are taken, what is made of each, in which order. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import { itemOf } from "./template_methods.ts";
import { operated } from "./template_operators.ts";
import { isSuch } from "./template_tests.ts";
import {
  entriesOf,
  isEqual,
  isTrue,
  itemsOf,
  kindOf,
  Markup,
  numberOf,
  Series,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";
import { STATEMENT_WORK, work, workOn } from "./template_work.ts";

type ListFilter = (
  of: unknown,
  given: GivenArguments,
  what: string,
  line: number,
  /** What a filter by name makes of an element. */
  filtered: (
    of: unknown,
    name: string,
    given: GivenArguments,
    line: number,
  ) => unknown,
) => unknown;

/** Elements that pass, or what is made of each; undefined for one that is left out. Gone through once, as it is asked for. */
function each(
  of: unknown,
  what: string,
  line: number,
  made: (item: unknown) => { readonly item: unknown } | undefined,
): Series {
  const all = function* () {
    for (const item of goneThrough(of, what, line)) {
      work(STATEMENT_WORK);
      const one = made(item);
      if (one) yield one.item;
    }
  };
  return Series.once(all());
}

function goneThrough(
  of: unknown,
  what: string,
  line: number,
): Iterable<unknown> {
  const items = itemsOf(of);
  if (items) return items;
  throw templateError(`${what} takes a list, not ${kindOf(of)}`, line);
}

/** Reads a member by its path: names and places, with dots between. */
function attribute(
  path: unknown,
  what: string,
  line: number,
  otherwise?: unknown,
): (item: unknown) => unknown {
  workOn(path);
  const isName = typeof path === "string" &&
    /^[^.,\d][^.,]*(\.[^.,\d][^.,]*)*$/.test(path);
  if (!isName) {
    throw templateError(
      `${what} takes names of members, not ${String(path)}`,
      line,
    );
  }
  const parts = path.split(".");
  return (item) => {
    for (const part of parts) {
      if (item === UNDEFINED) {
        throw templateError("a member of what there is not", line);
      }
      item = itemOf(item, part);
      if (item === UNDEFINED && (otherwise ?? null) !== null) item = otherwise;
    }
    return item;
  };
}

/** Elements for which a test holds, or does not: of themselves or of a member. */
const choosing = (keeps: boolean, ofMember: boolean): ListFilter =>
(
  of,
  { values, named },
  what,
  line,
) => {
  const [path, ...rest] = ofMember ? values : [undefined, ...values];
  const read = ofMember ? attribute(path, what, line) : (item: unknown) => item;
  const [name, ...others] = rest;
  return each(isTrue(of) ? of : [], what, line, (item) => {
    const value = read(item);
    const holds = name === undefined
      ? isTrue(value)
      : isSuch(value, String(name), { values: others, named }, line);
    return holds === keeps ? { item } : undefined;
  });
};

/** What texts are compared by, unless letters' cases count. */
const sortKey = (isExact: unknown) => (value: unknown): unknown => {
  if (value instanceof Markup) value = value.text;
  workOn(value);
  return typeof value === "string" && !isTrue(isExact)
    ? value.toLowerCase()
    : value;
};

function sorted(
  all: Iterable<unknown>,
  keyOf: (item: unknown) => unknown,
  line: number,
  isReversed: unknown = false,
): unknown[] {
  const sign = isTrue(isReversed) ? -1 : 1;
  return Array.from(all, (item) => ({ item, key: keyOf(item) }))
    .sort(({ key: a }, { key: b }) => {
      work(STATEMENT_WORK);
      if (isEqual(a, b)) return 0;
      return isTrue(operated("<", a, b, line)) ? -sign : sign;
    })
    .map(({ item }) => item);
}

/** A filter that takes arguments by these names, or by their places. */
const taking = (
  names: readonly string[],
  run: (
    of: unknown,
    values: readonly unknown[],
    what: string,
    line: number,
  ) => unknown,
): ListFilter =>
(of, given, what, line) =>
  run(of, argumentsOf(what, names, given, line), what, line);

const extreme = (isMost: boolean) =>
  taking(["case_sensitive", "attribute"], (of, values, what, line) => {
    const [isExact, path] = values;
    const keyOf = keyed(path, isExact, what, line);
    const [first = UNDEFINED] = sorted(
      goneThrough(of, what, line),
      keyOf,
      line,
      isMost,
    );
    return first;
  });

function keyed(path: unknown, isExact: unknown, what: string, line: number) {
  const read = (path ?? null) === null
    ? (item: unknown) => item
    : attribute(path, what, line);
  const key = sortKey(isExact);
  return (item: unknown) => key(read(item));
}

export const LIST_FILTERS: ReadonlyMap<string, ListFilter> = new Map<
  string,
  ListFilter
>([
  ["select", choosing(true, false)],
  ["reject", choosing(false, false)],
  ["selectattr", choosing(true, true)],
  ["rejectattr", choosing(false, true)],
  ["map", (of, given, what, line, filtered) => {
    const all = isTrue(of) ? of : [];
    const [name, ...values] = given.values;
    if (name !== undefined) {
      return each(all, what, line, (item) => ({
        item: filtered(item, String(name), { ...given, values }, line),
      }));
    }
    const [path, otherwise] = argumentsOf(
      what,
      ["attribute", "default"],
      given,
      line,
    );
    const read = attribute(path, what, line, otherwise);
    return each(all, what, line, (item) => ({ item: read(item) }));
  }],
  [
    "sort",
    taking(
      ["reverse", "case_sensitive", "attribute"],
      (of, values, what, line) => {
        const [isReversed, isExact, path] = values;
        const keyOf = keyed(path, isExact, what, line);
        return sorted(goneThrough(of, what, line), keyOf, line, isReversed);
      },
    ),
  ],
  [
    "dictsort",
    taking(["case_sensitive", "by", "reverse"], (of, values, what, line) => {
      const [isExact, by = "key", isReversed] = values;
      const entries = entriesOf(of);
      const at = ["key", "value"].indexOf(`${String(by)}`);
      if (!entries || at < 0) {
        throw templateError(`${what} takes a map, and "key" or "value"`, line);
      }
      const key = sortKey(isExact);
      const all = entries.map((entry) => Tuple.from(entry));
      return sorted(
        all,
        (item: unknown) => key((item as Tuple)[at]),
        line,
        isReversed,
      );
    }),
  ],
  [
    "unique",
    taking(["case_sensitive", "attribute"], (of, values, what, line) => {
      const [isExact, path] = values;
      const keyOf = keyed(path, isExact, what, line);
      const seen = new Set<unknown>();
      return each(of, what, line, (item) => {
        const key = keyOf(item);
        const simple = numberOf(key) ?? key;
        if (typeof simple === "object" && simple !== null) {
          throw templateError(`${what} of ${kindOf(key)}`, line);
        }
        if (seen.has(simple)) return undefined;
        seen.add(simple);
        return { item };
      });
    }),
  ],
  ["min", extreme(false)],
  ["max", extreme(true)],
]);
