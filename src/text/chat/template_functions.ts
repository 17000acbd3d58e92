/** What templates call by name: what Jinja has, and transformers adds. */
import { TextFileError } from "../errors.ts";
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { strftime } from "./template_clock.ts";
import { templateError } from "./template_error.ts";
import { asText } from "./template_texts.ts";
import {
  Callable,
  integerOf,
  kindOf,
  Namespace,
  Series,
  textOf,
} from "./template_values.ts";
import { ELEMENT_WORK, work } from "./template_work.ts";

/** Numbers that are counted, as in Jinja's sandbox. */
const COUNT_MAX = 100_000;

type Run = (given: GivenArguments, line: number, now: Date) => unknown;

const FUNCTIONS: readonly (readonly [string, Run])[] = [
  ["raise_exception", ({ values: [message] }) => {
    throw new TextFileError(`The chat template says: ${textOf(message)}`);
  }],
  ["range", (given, line) => {
    const [first, second, step = 1] = argumentsOf(
      "range",
      ["start", "stop", "step"],
      given,
      line,
    ).map((value) => {
      const whole = value === undefined ? value : integerOf(value);
      if (value === undefined || whole !== undefined) return whole;
      throw templateError(`"range" of ${kindOf(value)}`, line);
    });
    if (first === undefined) throw templateError('"range" of nothing', line);
    const [from, to] = second === undefined ? [0, first] : [first, second];
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (!(count <= COUNT_MAX)) throw templateError("it counts too far", line);
    work(count * ELEMENT_WORK);
    const all = Array.from({ length: count }, (_, i) => from + i * step);
    return new Series("a range", all);
  }],
  ["namespace", ({ values, named }, line) => {
    namedAlone("namespace", values, line);
    const made = new Namespace();
    for (const [name, value] of Object.entries(named)) {
      made.values.set(name, value);
    }
    return made;
  }],
  ["dict", ({ values, named }, line) => {
    namedAlone("dict", values, line);
    return named;
  }],
  ["strftime_now", (given, line, now) => {
    const [format] = argumentsOf(
      "strftime_now",
      ["format"],
      given,
      line,
    );
    return strftime(now, asText(format, '"strftime_now"', line), line);
  }],
  // There they are, and whoever asks is told so.
  ...["lipsum", "cycler", "joiner"].map((name): readonly [string, Run] => [
    name,
    (_, line) => {
      throw templateError(`there is no function "${name}"`, line);
    },
  ]),
];

function namedAlone(
  name: string,
  values: readonly unknown[],
  line: number,
): void {
  if (values.length === 0) return;
  throw templateError(`"${name}" takes arguments by name alone`, line);
}

/** Functions of a rendering, by name. @param now what its clock says */
export function functionsAt(now: Date): ReadonlyMap<string, Callable> {
  return new Map(FUNCTIONS.map(([name, run]) => [
    name,
    new Callable("a function", (given, line) => run(given, line, now)),
  ]));
}
