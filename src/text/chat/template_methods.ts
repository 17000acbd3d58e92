/** Methods of texts and maps. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import {
  asText,
  capitalized,
  replaced,
  splitAt,
  stripped,
} from "./template_texts.ts";
import {
  entriesOf,
  kindOf,
  memberOf,
  numberOf,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";

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
    stripped(
      of,
      ends,
      chars === undefined || chars === null
        ? undefined
        : asText(chars, what, line),
    ),
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
      const isSpaces = separator === undefined || separator === null;
      if (separator === "") throw templateError("an empty separator", line);
      return splitAt(
        of,
        isSpaces ? undefined : asText(separator, what, line),
        numberOf(most),
      );
    },
  }],
  ["join", {
    names: ["parts"],
    run: (of, [parts], what, line) => {
      if (!Array.isArray(parts)) {
        throw templateError(`${what} takes a list, not ${kindOf(parts)}`, line);
      }
      return parts.map((part) => asText(part, what, line)).join(of);
    },
  }],
]);

/** What `of.name(...)` does. */
export function method(
  of: unknown,
  name: string,
  given: GivenArguments,
  line: number,
): unknown {
  const what = `method "${name}"`;
  const found = typeof of === "string" ? TEXT_METHODS.get(name) : undefined;
  if (found) {
    const values = argumentsOf(what, found.names, given, line);
    return found.run(of as string, values, what, line);
  }
  const entries = entriesOf(of);
  const none = () => argumentsOf(what, [], given, line);
  switch (entries && name) {
    case "items":
      none();
      return entries!.map((entry) => Tuple.from(entry));
    case "keys":
      none();
      return entries!.map(([key]) => key);
    case "values":
      none();
      return entries!.map(([, value]) => value);
    case "get": {
      const [key, otherwise = null] = argumentsOf(
        ...[what, ["key", "default"], given, line] as const,
      );
      const found = memberOf(of, key);
      return found === UNDEFINED ? otherwise : found;
    }
  }
  throw templateError(`there is no ${what} of ${kindOf(of)}`, line);
}
