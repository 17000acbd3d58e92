/** Writes lines, as a server does its log, and says how many bytes are kept because they cannot be. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { outliveReaders, print, progress } from "../../src/cli/terminal.ts";

outliveReaders("lines");
for (let i = 0; i < 10; i++) {
  print("x".repeat(1000));
  await sleep(1);
}
progress(`${process.stdout.writableLength}`);
