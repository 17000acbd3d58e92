import process from "node:process";

/**
 * How to start a script in each runtime. Bun is tried where it is on the PATH, or fetched when SHOAL_BUN=1.
 */
export const RUNTIMES: Readonly<
  Record<string, readonly [string, ...string[]]>
> = {
  deno: [process.execPath, "run", "-A"],
  node: ["node"],
  bun: process.env["SHOAL_BUN"] === "1" ? ["npx", "-y", "bun@1.4"] : ["bun"],
};
