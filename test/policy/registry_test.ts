/** That the registry tells the truth about its policies. */
import assert from "node:assert/strict";
import { POLICIES } from "../../src/policy/registry.ts";

for (const [name, { build, options }] of Object.entries(POLICIES)) {
  Deno.test(`the registry has every option of ${name}, and values that it takes`, () => {
    assert.throws(() => build({ "no such": 1 }), (error: Error) => {
      const [, taken] = /"no such"; it takes (.*)$/.exec(error.message)!;
      const names = taken === "none" ? [] : taken.split(/, | and /);
      assert.deepEqual(Object.keys(options).sort(), names.sort());
      return true;
    });
    assert.equal(build().name, name);
    for (const [option, values] of Object.entries(options)) {
      assert(values.length > 0, option);
      for (const value of values) build({ [option]: value });
    }
  });
}
