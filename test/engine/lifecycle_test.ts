/** Engines that come and go leave nothing behind; in full with SHOAL_LIVES=full. */
import process from "node:process";
import { testLife } from "../lifecycle.ts";
import { LIVES } from "../runtimes/lifecycle_load.mjs";

const library = new URL("../../src/mod.ts", import.meta.url);
const deno = [process.execPath, "run", "-A", "--v8-flags=--expose-gc"];

for (const life of LIVES) {
  Deno.test(`${life.name} leave nothing behind in their process`, () =>
    testLife(life, deno, library));
}
