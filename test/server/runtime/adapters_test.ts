/** Adapters of runtimes: Deno's and Node's in Deno. Node itself and Bun: bundle_test.ts. */
import { listenInDeno } from "../../../src/server/runtime/deno.ts";
import { listenInNode } from "../../../src/server/runtime/node.ts";
import { CHECKS } from "./adapter_checks.mjs";

const ADAPTERS = { Deno: listenInDeno!, Node: listenInNode };

for (const [runtime, listen] of Object.entries(ADAPTERS)) {
  for (const [name, check] of Object.entries(CHECKS)) {
    Deno.test(`${runtime}'s adapter: ${name}`, () =>
      check(listen, runtime !== "Deno", false));
  }
}
