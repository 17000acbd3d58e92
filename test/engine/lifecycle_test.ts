/** Engines that come and go leave nothing behind; in full with SHOAL_LIVES=full. */
import process from "node:process";
import { testLives } from "../lifecycle.ts";

testLives(
  "their process",
  [process.execPath, "run", "-A", "--v8-flags=--expose-gc"],
  new URL("../../src/mod.ts", import.meta.url),
);
