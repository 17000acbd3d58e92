import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ABLATIONS } from "../../bench/arena/ingredients.ts";

const AUTO = new URL("../../src/policy/auto/", import.meta.url);

Deno.test("what takes an ingredient of auto out is a change of its source as it is", () => {
  assert(ABLATIONS.length > 10);
  for (const { without, file, from, to } of ABLATIONS) {
    const parts = readFileSync(new URL(file, AUTO), "utf8").split(from);
    assert.equal(parts.length, 2, `${without}: ${from} in ${file}`);
    assert.notEqual(to, from, without);
  }
});
