/** The command line: `deno task shoal COMMAND`. */
import process from "node:process";
import { main } from "./cli/main.ts";
import { runProgram } from "./cli/terminal.ts";

await runProgram("shoal", () => main(process.argv.slice(2)));
