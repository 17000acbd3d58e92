/** Filters, `of | name(...)`. Their arguments have the names that Jinja and transformers give them. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import { jsonOf } from "./template_json.ts";
import { LIST_FILTERS } from "./template_list_filters.ts";
import {
  asText,
  capitalized,
  indented,
  optionalText,
  replaced,
  stripped,
  titledWords,
} from "./template_texts.ts";
import {
  counted,
  entriesOf,
  integerOf,
  isTrue,
  itemsOf,
  kindOf,
  Markup,
  memberOf,
  numberOf,
  Series,
  textOf,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";
import { joined, workOn } from "./template_work.ts";

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

const ofList = (
  run: (all: readonly unknown[]) => unknown,
  takesOnce: boolean,
): Filter => ({
  names: [],
  run: (of, _, what, line) => run(listOf(of, what, line, takesOnce)),
});

const LENGTH = ofList(({ length }) => length, false);

const DEFAULT: Filter = {
  names: ["default_value", "boolean"],
  run: (of, [otherwise = "", ofFalse = false]) =>
    of === UNDEFINED || isTrue(ofFalse) && !isTrue(of) ? otherwise : of,
};

/** What Python has in numbers besides: digits of other scripts, and "_" between two. */
const OTHER_DIGITS = /\d_\d|[^\P{Nd}\d]/u;

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["trim", {
    names: ["chars"],
    run: (of, [chars], what, line) =>
      stripped(textOf(of), "strip", optionalText(chars, what, line)),
  }],
  ["upper", ofText((of) => of.toUpperCase())],
  ["lower", ofText((of) => of.toLowerCase())],
  ["capitalize", ofText(capitalized)],
  ["title", ofText(titledWords)],
  ["string", {
    names: [],
    run: (of) => of instanceof Markup ? of : textOf(of),
  }],
  ["safe", { names: [], run: (of) => new Markup(textOf(of)) }],
  ["indent", {
    names: ["width", "first", "blank"],
    run: (of, [width = 4, first = false, blank = false], what, line) => {
      const count = integerOf(width);
      const front = count === undefined
        ? asText(width, what, line)
        : " ".repeat(Math.max(0, count));
      return indented(
        asText(of, what, line),
        front,
        isTrue(first),
        isTrue(blank),
      );
    },
  }],
  ["int", {
    names: ["default"],
    run: (of, [otherwise = 0], _, line) => {
      if (of === UNDEFINED) throw templateError("a number of nothing", line);
      const isDigits = typeof of === "string" &&
        /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(stripped(of, "strip"));
      const number = isDigits ? Number(of) : numberOf(of);
      if (number === undefined) {
        if (typeof of !== "string" || !OTHER_DIGITS.test(of)) return otherwise;
        throw templateError("a number of digits that are not known", line);
      }
      const whole = Math.trunc(number);
      if (Number.isSafeInteger(whole)) return whole;
      throw templateError("a number of more digits than are exact", line);
    },
  }],
  ["length", LENGTH],
  ["count", LENGTH],
  ["first", {
    names: [],
    run: (of, _, what, line) => {
      if (!(of instanceof Series)) return memberOf(listOf(of, what, line), 0);
      const next = of.items[Symbol.iterator]().next();
      return next.done ? UNDEFINED : next.value;
    },
  }],
  ["last", ofList((all) => memberOf(all, -1), false)],
  ["list", ofList((all) => counted([...all]), true)],
  ["reverse", {
    names: [],
    run: (of, _, what, line) => {
      const all = counted(listOf(of, what, line)).toReversed();
      if (typeof of === "string") return all.join("");
      return of instanceof Series && !of.list ? all : Series.once(all);
    },
  }],
  ["join", {
    names: ["d"],
    run: (of, [between = ""], what, line) =>
      joined(counted(listOf(of, what, line)).map(textOf), textOf(between)),
  }],
  ["replace", {
    names: ["old", "new", "count"],
    run: (of, [part, by, count], what, line) =>
      replaced(
        textOf(of),
        textOf(part ?? asText(part, what, line)),
        textOf(by ?? asText(by, what, line)),
        numberOf(count),
      ),
  }],
  ["default", DEFAULT],
  ["d", DEFAULT],
  ["tojson", {
    names: ["ensure_ascii", "indent", "separators", "sort_keys"],
    run: (
      of,
      [isAscii = false, spaces, separators, sortsKeys = false],
      what,
      line,
    ) => {
      const indent = (spaces ?? null) === null ? undefined : integerOf(spaces);
      const [comma, colon, ...others] = Array.isArray(separators)
        ? separators.map((each) => asText(each, what, line))
        : [indent === undefined ? ", " : ",", ": "];
      if (
        colon === undefined || others.length > 0 ||
        (separators ?? null) !== null && !Array.isArray(separators) ||
        (spaces ?? null) !== null && indent === undefined
      ) {
        throw templateError(`${what} takes a number and two separators`, line);
      }
      return jsonOf(of, {
        isAscii: isTrue(isAscii),
        indent: indent && Math.max(0, indent),
        separators: [comma, colon],
        sortsKeys: isTrue(sortsKeys),
      });
    },
  }],
  ["items", {
    names: [],
    run: (of, _, what, line) => {
      const entries = of === UNDEFINED ? [] : entriesOf(of);
      if (entries) {
        return Series.once(entries.map((entry) => Tuple.from(entry)));
      }
      throw templateError(`${what} takes a map, not ${kindOf(of)}`, line);
    },
  }],
]);

/** What there is to go through in a value. */
function listOf(
  of: unknown,
  what: string,
  line: number,
  takesOnce = true,
): readonly unknown[] {
  // A list is not gone through yet.
  const items = Array.isArray(of) ? of : itemsOf(of);
  if (Array.isArray(items)) return items;
  if (items && takesOnce) return [...items];
  throw templateError(`${what} takes a list, not ${kindOf(of)}`, line);
}

/** Filters that take a text that is safe as it is; of others it is not known what they make of it. */
const OF_MARKUP = ["string", "safe", "default", "d", "tojson"];

/** What `of | name(...)` makes. */
export function filtered(
  of: unknown,
  name: string,
  given: GivenArguments,
  line: number,
): unknown {
  const what = `filter "${name}"`;
  if (of instanceof Markup && !OF_MARKUP.includes(name)) {
    throw templateError(`${what} takes no text that is safe`, line);
  }
  workOn(of);
  const ofItems = LIST_FILTERS.get(name);
  if (ofItems) return ofItems(of, given, what, line, filtered);
  const filter = FILTERS.get(name);
  if (!filter) throw templateError(`there is no ${what}`, line);
  const values = argumentsOf(what, filter.names, given, line);
  return workOn(filter.run(of, values, what, line));
}
