/** Filters, `of | name(...)`. Their arguments have the names that Jinja and transformers give them. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import { asText, capitalized, replaced, stripped } from "./template_texts.ts";
import {
  entriesOf,
  isTrue,
  jsonOf,
  kindOf,
  memberOf,
  numberOf,
  textOf,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";

interface Filter {
  readonly names: readonly string[];
  readonly run: (
    of: unknown,
    values: readonly unknown[],
    what: string,
    line: number,
  ) => unknown;
}

const ofText = (run: (of: string) => unknown): Filter => ({
  names: [],
  run: (of) => run(textOf(of)),
});

const ofList = (run: (all: readonly unknown[]) => unknown): Filter => ({
  names: [],
  run: (of, _, what, line) => run(listOf(of, what, line)),
});

const LENGTH = ofList(({ length }) => length);

const DEFAULT: Filter = {
  names: ["default_value", "boolean"],
  run: (of, [otherwise = "", ofFalse = false]) =>
    of === UNDEFINED || isTrue(ofFalse) && !isTrue(of) ? otherwise : of,
};

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["trim", {
    names: ["chars"],
    run: (of, [chars], what, line) => {
      const isSpaces = chars === undefined || chars === null;
      const set = isSpaces ? undefined : asText(chars, what, line);
      return stripped(textOf(of), "strip", set);
    },
  }],
  ["upper", ofText((of) => of.toUpperCase())],
  ["lower", ofText((of) => of.toLowerCase())],
  ["capitalize", ofText(capitalized)],
  ["string", ofText((of) => of)],
  ["safe", { names: [], run: (of) => of }],
  ["int", {
    names: ["default"],
    run: (of, [otherwise = 0], _, line) => {
      if (of === UNDEFINED) throw templateError("a number of nothing", line);
      const isDigits = typeof of === "string" &&
        /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(stripped(of, "strip"));
      const number = isDigits ? Number(of) : numberOf(of);
      if (number === undefined) return otherwise;
      const whole = Math.trunc(number);
      if (Number.isSafeInteger(whole)) return whole;
      throw templateError("a number of more digits than are exact", line);
    },
  }],
  ["length", LENGTH],
  ["count", LENGTH],
  ["first", ofList((all) => memberOf(all, 0))],
  ["last", ofList((all) => memberOf(all, -1))],
  ["list", ofList((all) => [...all])],
  ["reverse", {
    names: [],
    run: (of, _, what, line) => {
      const all = listOf(of, what, line).toReversed();
      return typeof of === "string" ? all.join("") : all;
    },
  }],
  ["join", {
    names: ["d"],
    run: (of, [between = ""], what, line) =>
      listOf(of, what, line).map(textOf).join(textOf(between)),
  }],
  ["replace", {
    names: ["old", "new", "count"],
    run: (of, [part, by, count], what, line) =>
      replaced(
        textOf(of),
        asText(part, what, line),
        asText(by, what, line),
        numberOf(count),
      ),
  }],
  ["default", DEFAULT],
  ["d", DEFAULT],
  ["tojson", {
    names: ["ensure_ascii", "indent"],
    run: (of, [isAscii = false, indent], what, line) => {
      if (isTrue(isAscii)) {
        throw templateError(`${what} writes no escapes of letters`, line);
      }
      try {
        return jsonOf(of, numberOf(indent));
      } catch (error) {
        throw templateError((error as Error).message, line);
      }
    },
  }],
  ["items", {
    names: [],
    run: (of, _, what, line) => {
      const entries = of === UNDEFINED ? [] : entriesOf(of);
      if (entries) return entries.map((entry) => Tuple.from(entry));
      throw templateError(`${what} takes a map, not ${kindOf(of)}`, line);
    },
  }],
]);

/** What there is to go through in a value. */
function listOf(of: unknown, what: string, line: number): readonly unknown[] {
  if (Array.isArray(of)) return of;
  if (typeof of === "string") return [...of];
  if (of === UNDEFINED) return [];
  const entries = entriesOf(of);
  if (entries) return entries.map(([key]) => key);
  throw templateError(`${what} takes a list, not ${kindOf(of)}`, line);
}

/** What `of | name(...)` makes. */
export function filtered(
  of: unknown,
  name: string,
  given: GivenArguments,
  line: number,
): unknown {
  const filter = FILTERS.get(name);
  const what = `filter "${name}"`;
  if (!filter) throw templateError(`there is no ${what}`, line);
  return filter.run(
    of,
    argumentsOf(what, filter.names, given, line),
    what,
    line,
  );
}
