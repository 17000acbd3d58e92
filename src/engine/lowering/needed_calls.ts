/** Calls of a program without those that fill a table which nothing reads: of slices that others have taken over. */
import type { Call, TurnArgument } from "./cell_program.ts";

/** @param calls in order: tables are filled before they are read */
export function neededCalls(calls: readonly Call[]): Call[] {
  const read = new Set<number>();
  const needed: Call[] = [];
  for (const call of calls.toReversed()) {
    const isTable = call.call === "offset" || call.call === "spread";
    if (isTable && "own" in call.to && !read.has(call.to.own)) continue;
    for (const argument of argumentsOf(call)) note(argument, read);
    needed.push(call);
  }
  return needed.reverse();
}

/** What a call reads, and tables of where it writes. */
function argumentsOf(call: Call): readonly TurnArgument[] {
  switch (call.call) {
    case "kernel":
      return call.args;
    case "plain":
      return [...call.inputs, ...call.outputs].flatMap((one) =>
        one !== undefined && "rows" in one ? [one.rows] : []
      );
    case "each":
      return call.calls.flatMap(({ args }) => args);
    case "offset":
    case "spread":
      return [call.from];
    case "list":
      return call.tables;
  }
}

function note(argument: TurnArgument, read: Set<number>): void {
  if (typeof argument !== "object") return;
  if ("entries" in argument) return note(argument.entries, read);
  if ("word" in argument) return note(argument.of, read);
  if ("own" in argument) read.add(argument.own);
}
