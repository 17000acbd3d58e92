/**
 * The programs of docs/guide.md as somebody runs them who has the package alone, in each runtime: they print the same, and
 * what stands behind them. (In a checkout `test/docs` runs them, too.)
 */
import assert from "node:assert/strict";
import { RUNTIMES } from "../runtimes/runtimes.ts";
import { blocksOf } from "./readme.ts";
import { Stranger } from "./stranger.ts";

Deno.test("the programs of docs/guide.md print the same in every runtime", async (t) => {
  const blocks = blocksOf("docs/guide.md");
  using stranger = new Stranger().install();
  let programs = 0;
  for (const [i, { language, text }] of blocks.entries()) {
    if (language !== "js") continue;
    const name = `program${programs++}.mjs`;
    stranger.write({ [name]: text });
    const behind = blocks[i + 1];
    const printed = behind?.language === "text" ? behind.text : undefined;
    assert(printed !== undefined, `${name} has no output behind it`);
    for (const [runtime, [command, ...args]] of Object.entries(RUNTIMES)) {
      await t.step(`${name} in ${runtime}`, () => {
        const output = stranger.tryRun(command, ...args, name);
        if (output === undefined) {
          console.log(`skipped: there is no ${runtime} here`);
        } else assert.equal(output.stdout, printed, output.stderr);
      });
    }
  }
  assert(programs >= 8);
});
