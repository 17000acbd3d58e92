import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The data sets beside the checkout, or undefined, after printing that `what` skips. */
export function dataFolder(what: string): string | undefined {
  const folder = fileURLToPath(
    new URL("../../../shared/data", import.meta.url),
  );
  if (existsSync(folder)) return folder;
  console.log(`skipped: ${what}: no ../shared/data beside the checkout`);
  return undefined;
}
