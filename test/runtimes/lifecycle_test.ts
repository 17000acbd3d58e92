/** The bundle's engines leave nothing behind in Node; see ../engine/lifecycle_test.ts. */
import { testLives } from "../lifecycle.ts";

testLives(
  "Node",
  ["node", "--expose-gc"],
  new URL("../../build/dist/mod.js", import.meta.url),
);
