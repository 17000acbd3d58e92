/** A program that writes to a child which does not read, and does not listen to errors of that. */
import { spawn } from "node:child_process";
import process from "node:process";
import { runProgram } from "../../src/cli/terminal.ts";

await runProgram("broken", () => {
  const child = spawn("sh", ["-c", "exec <&-; echo; sleep 60"]);
  child.stdout.once("data", () => child.stdin.write("x".repeat(1e6)));
  process.once("exit", () => child.kill());
  return 0;
});
