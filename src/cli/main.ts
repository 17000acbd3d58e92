import { describe } from "../base/describe.ts";
import { nodeModule } from "../base/node_module.ts";
import { COMMANDS } from "./commands.ts";
import { readOptions, see } from "./options.ts";
import { EXIT, reportError, UsageError } from "./terminal.ts";

const NAME = "shoal";

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`,
  );
  return `shoal COMMAND [options]\n\n${
    lines.join("\n")
  }\n\n"shoal COMMAND --help" says more.\n`;
}

/**
 * Runs what a command line asks for and says on stderr why it cannot.
 * @returns the exit code: 0, 2 for the caller's mistakes, 1 for any other failure
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    return reportError(NAME, error);
  }
}

async function run(given: readonly string[]): Promise<number> {
  const args = given[0] === "help" ? [...given.slice(1), "--help"] : given;
  const [name, ...rest] = args;
  if (name === undefined || name.startsWith("-")) {
    const program = { name: NAME, help: help(), options: {} };
    if (readOptions(program, args) === undefined) return EXIT.success;
    throw new UsageError(`a command is missing: ${commands()}${see(NAME)}`);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    throw new UsageError(
      `there is no command ${describe(name)}, only ${commands()}${see(NAME)}`,
    );
  }
  // A Node that is too old says so, before it has no function of an array's.
  nodeModule("node:process");
  return await (await command.load())(rest);
}

function commands(): string {
  return Object.keys(COMMANDS).join(", ");
}
