/** The command line: `deno task shoal COMMAND`. */
import process from "node:process";
import { COMMANDS } from "./cli/commands.ts";
import { print, UsageError } from "./cli/terminal.ts";

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`,
  );
  return `shoal COMMAND [options]\n\n${
    lines.join("\n")
  }\n\n"shoal COMMAND --help" says more.`;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "help") {
    print(help());
    return name === undefined ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    throw new UsageError(`No command "${name}"\n\n${help()}`);
  }
  return await (await command.load())(rest);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  const isUsage = error instanceof UsageError ||
    code?.startsWith("ERR_PARSE_ARGS");
  process.stderr.write(
    isUsage ? `shoal: ${message}\n` : `${(error as Error).stack}\n`,
  );
  process.exitCode = isUsage ? 2 : 1;
}
