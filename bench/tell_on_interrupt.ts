/** What a long benchmark has measured is told when somebody ends it (SIGINT), too. */
import process from "node:process";
import { progress } from "../src/cli/terminal.ts";

/** As shells have it: 128 and the signal's number. */
const INTERRUPTED = 130;

/** Ends the process at the first SIGINT, once `tell` has printed what there is. */
export function tellOnInterrupt(tell: () => Promise<void> | void): void {
  process.once("SIGINT", async () => {
    progress("ended before its end: what was measured until now");
    await tell();
    process.exit(INTERRUPTED);
  });
}
