import { existsSync, statSync } from "node:fs";
import { savedProfile } from "../src/cli/profile.ts";
import { progress } from "../src/cli/terminal.ts";

/**
 * Measures a profile unless its file is there. Says nothing on stdout, which is the benchmark's.
 * @param args of `shoal profile`, without its `--out`
 */
export async function keptProfile(
  file: string,
  args: readonly string[],
): Promise<void> {
  // A file that is empty is what a profile left that came to nothing.
  if (existsSync(file) && statSync(file).size > 0) return;
  progress(`measuring ${args[0]}`);
  await savedProfile([...args, "--out", file]);
}
