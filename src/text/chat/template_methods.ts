/** Methods of texts and maps, and members by their names. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import {
  asText,
  capitalized,
  filledIn,
  optionalText,
  replaced,
  splitAt,
  stripped,
  titled,
} from "./template_texts.ts";
import {
  Callable,
  entriesOf,
  itemsOf,
  kindOf,
  Markup,
  memberOf,
  numberOf,
  Opaque,
  Series,
  textOf,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";
import { joined, workOn } from "./template_work.ts";

interface Method {
  readonly names: readonly string[];
  readonly run: (
    of: string,
    values: readonly unknown[],
    what: string,
    line: number,
  ) => unknown;
}

const strip = (ends: "strip" | "lstrip" | "rstrip"): Method => ({
  names: ["chars"],
  run: (of, [chars], what, line) =>
    stripped(of, ends, optionalText(chars, what, line)),
});

/** Whether a text has one of several at an end. */
const hasAtEnd = (has: (of: string, part: string) => boolean): Method => ({
  names: ["part"],
  run: (of, [part], what, line) =>
    (part instanceof Tuple ? part : [part]).some((one) =>
      has(of, asText(one, what, line))
    ),
});

const plain = (run: (of: string) => unknown): Method => ({ names: [], run });

const TEXT_METHODS: ReadonlyMap<string, Method> = new Map([
  ["strip", strip("strip")],
  ["lstrip", strip("lstrip")],
  ["rstrip", strip("rstrip")],
  ["startswith", hasAtEnd((of, part) => of.startsWith(part))],
  ["endswith", hasAtEnd((of, part) => of.endsWith(part))],
  ["upper", plain((of) => of.toUpperCase())],
  ["lower", plain((of) => of.toLowerCase())],
  ["capitalize", plain(capitalized)],
  ["title", plain(titled)],
  ["replace", {
    names: ["old", "new", "count"],
    run: (of, [part, by, count], what, line) =>
      replaced(
        of,
        asText(part, what, line),
        asText(by, what, line),
        numberOf(count),
      ),
  }],
  ["split", {
    names: ["sep", "maxsplit"],
    run: (of, [separator, most], what, line) => {
      if (separator === "") throw templateError("an empty separator", line);
      return splitAt(of, optionalText(separator, what, line), numberOf(most));
    },
  }],
  ["join", {
    names: ["parts"],
    run: (of, [parts], what, line) => {
      const all = itemsOf(parts);
      if (!all) {
        throw templateError(`${what} takes a list, not ${kindOf(parts)}`, line);
      }
      return joined(Array.from(all, (part) => asText(part, what, line)), of);
    },
  }],
]);

/** What a text has in Python besides: `of.name` is something there, which is refused when it is called. */
const OTHER_TEXT_METHODS =
  "casefold center count encode expandtabs find format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper ljust maketrans partition removeprefix removesuffix rfind rindex rjust rpartition rsplit splitlines swapcase translate zfill"
    .split(" ");

/** What changes a map, which Jinja's sandbox has for nothing, even where the map has something by that name. */
const CHANGING = "clear pop popitem setdefault update".split(" ");

type MapMethod = (
  of: object,
  given: GivenArguments,
  what: string,
  line: number,
) => unknown;

const view =
  (make: (entries: NonNullable<ReturnType<typeof entriesOf>>) => unknown[]) =>
  (of: object, given: GivenArguments, what: string, line: number) => {
    argumentsOf(what, [], given, line);
    return new Series("a view of a map", make(entriesOf(of)!));
  };

const MAP_METHODS: ReadonlyMap<string, MapMethod | undefined> = new Map<
  string,
  MapMethod | undefined
>([
  ["items", view((all) => all.map((entry) => Tuple.from(entry)))],
  ["keys", view((all) => all.map(([key]) => key))],
  ["values", view((all) => all.map(([, value]) => value))],
  ["get", (of, given, what, line) => {
    const [key, otherwise = null] = argumentsOf(
      what,
      ["key", "default"],
      given,
      line,
    );
    const found = memberOf(of, key);
    return found === UNDEFINED ? otherwise : found;
  }],
  ["copy", undefined],
  ["fromkeys", undefined],
]);

/** The method that a value has by a name, if any. */
function methodOf(of: unknown, name: string): Callable | undefined {
  const what = `method "${name}"`;
  const made = (
    run: ((given: GivenArguments, line: number) => unknown) | undefined,
  ) =>
    new Callable(
      "a method",
      run ?? ((_, line) => {
        throw templateError(`there is no ${what} of ${kindOf(of)}`, line);
      }),
    );
  if (typeof of === "string") {
    const found = TEXT_METHODS.get(name);
    if (found) {
      return made((given, line) => {
        const values = argumentsOf(what, found.names, given, line);
        return workOn(found.run(workOn(of), values, what, line));
      });
    }
    if (name === "format") {
      return made(({ values, named }, line) => {
        argumentsOf(what, [], { values: [], named }, line);
        return filledIn(of, values.map(textOf));
      });
    }
    return OTHER_TEXT_METHODS.includes(name) ? made(undefined) : undefined;
  }
  if (typeof of !== "object" || of === null || of instanceof Opaque) {
    return undefined;
  }
  if (Array.isArray(of)) {
    return ["copy", "count", "index"].includes(name)
      ? made(undefined)
      : undefined;
  }
  if (!MAP_METHODS.has(name)) return undefined;
  const found = MAP_METHODS.get(name);
  return made(found && ((given, line) => found(of, given, what, line)));
}

/** `of.name`: its method, or else its member. */
export function attributeOf(of: unknown, name: string): unknown {
  const isChanged = typeof of === "object" && of !== null &&
    !(of instanceof Opaque) && CHANGING.includes(name);
  if (isChanged) return UNDEFINED;
  return methodOf(of, name) ?? memberOf(of, name);
}

/** `of[key]`: its member, or else its method. */
export function itemOf(of: unknown, key: unknown): unknown {
  const found = memberOf(of, key);
  if (found !== UNDEFINED) return found;
  const name = key instanceof Markup ? key.text : key;
  return typeof name === "string" ? methodOf(of, name) ?? found : found;
}
