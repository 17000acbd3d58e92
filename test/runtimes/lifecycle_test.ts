/** The bundle's engines leave nothing behind in Node; see ../engine/lifecycle_test.ts. */
import { testLife } from "../lifecycle.ts";
import { LIVES } from "./lifecycle_load.mjs";

const library = new URL("../../build/shoal.js", import.meta.url);

for (const life of LIVES) {
  Deno.test(`${life.name} leave nothing behind in Node`, () =>
    testLife(life, ["node", "--expose-gc"], library));
}
