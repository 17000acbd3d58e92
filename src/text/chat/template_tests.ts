/** Tests, `of is name(...)`. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError } from "./template_error.ts";
import { operated } from "./template_operators.ts";
import {
  Callable,
  entriesOf,
  integerOf,
  kindOf,
  Markup,
  numberOf,
  Series,
  UNDEFINED,
} from "./template_values.ts";

/** Tests that are operators, by their names. */
const OPERATORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ "==": "==", eq: "==", equalto: "==", "!=": "!=", ne: "!=" },
    ...{ "<": "<", lt: "<", lessthan: "<", "<=": "<=", le: "<=" },
    ...{ ">": ">", gt: ">", greaterthan: ">", ">=": ">=", ge: ">=" },
    in: "in",
  }),
);

/** Whether `of is name(...)`. */
export function isSuch(
  of: unknown,
  name: string,
  given: GivenArguments,
  line: number,
): boolean {
  const sign = OPERATORS.get(name);
  const what = `test "${name}"`;
  const values = argumentsOf(what, sign ? ["other"] : [], given, line);
  if (sign) {
    if (given.values.length === 1) {
      return operated(sign, of, values[0], line) as boolean;
    }
    throw templateError(`${what} takes one argument`, line);
  }
  switch (name) {
    case "defined":
      return of !== UNDEFINED;
    case "undefined":
      return of === UNDEFINED;
    case "none":
      return of === null;
    case "string":
      return typeof of === "string" || of instanceof Markup;
    case "number":
      return numberOf(of) !== undefined;
    case "integer":
      return typeof of !== "boolean" && integerOf(of) !== undefined;
    case "float":
      return numberOf(of) !== undefined && integerOf(of) === undefined;
    case "boolean":
      return typeof of === "boolean";
    case "true":
      return of === true;
    case "false":
      return of === false;
    case "mapping":
      return entriesOf(of) !== undefined;
    case "callable":
      // What there is not can be called, and says then that it is not.
      return of instanceof Callable || of === UNDEFINED;
    case "sequence":
    case "iterable":
      // What there is not has nothing in it.
      return typeof of === "string" || of instanceof Markup ||
        Array.isArray(of) || entriesOf(of) !== undefined ||
        of === UNDEFINED ||
        of instanceof Series && (name === "iterable" || of.kind === "a range");
    case "odd":
    case "even": {
      const number = numberOf(of);
      if (number === undefined) {
        throw templateError(`${kindOf(of)} is neither odd nor even`, line);
      }
      return Math.abs(number % 2) === (name === "odd" ? 1 : 0);
    }
  }
  throw templateError(`there is no test "${name}"`, line);
}
