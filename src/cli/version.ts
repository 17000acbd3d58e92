import { readFileSync } from "node:fs";

/** Folders that the package's root may lie above this file, or the bundle that it is part of. */
const ABOVE = ["./", "../", "../../", "../../../"];

/** The package's version, which package.json has. */
export const VERSION = versionOf();

function versionOf(): string {
  for (const above of ABOVE) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(new URL(`${above}package.json`, import.meta.url), "utf8"),
      ) as { name?: string; version?: string };
      if (name === "@shoal/core" && version !== undefined) return version;
    } catch {
      // Not there: the root is further up.
    }
  }
  return "unknown";
}
