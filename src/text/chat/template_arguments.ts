import { templateError } from "./template_error.ts";
import { ELEMENT_WORK, work } from "./template_work.ts";

/** What a call is given. */
export interface GivenArguments {
  /** In their order. */
  readonly values: readonly unknown[];
  /** By name, behind those. */
  readonly named: Readonly<Record<string, unknown>>;
}

/**
 * A call's arguments in the order of their names; undefined for one that is not given.
 * @param what is called
 * @throws TextFileError on one that it does not take: left out it would change the prompt without a word
 */
export function argumentsOf(
  what: string,
  names: readonly string[],
  { values, named }: GivenArguments,
  line: number,
): readonly unknown[] {
  if (values.length > names.length) {
    throw templateError(
      `${what} is given ${values.length} arguments and takes ${names.length}`,
      line,
    );
  }
  work(names.length * ELEMENT_WORK);
  const all: unknown[] = names.map((_, i) => values[i]);
  for (const [name, value] of Object.entries(named)) {
    work(names.length);
    const at = names.indexOf(name);
    if (at < values.length) {
      throw templateError(
        at < 0
          ? `${what} takes no argument "${name}"`
          : `${what} is given "${name}" twice`,
        line,
      );
    }
    all[at] = value;
  }
  return all;
}
