import assert from "node:assert/strict";
import { COMMANDS } from "../../src/cli/commands.ts";
import { main } from "../../src/cli/main.ts";
import { withGlobals } from "../base/with_globals.ts";
import { captured } from "./captured.ts";

Deno.test("every command says which Node it needs where it is another", async () => {
  const process = { versions: { node: "18.20.8" } };
  for (const name of Object.keys(COMMANDS)) {
    const { code, out, err } = await withGlobals(
      { process, Worker: undefined },
      () => captured(() => main([name])),
    );
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^shoal: @shoal\/core needs Node .*; this is 18\.20\.8 /);
  }
});
