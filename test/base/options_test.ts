import assert from "node:assert/strict";
import { knownOptions } from "../../src/base/options.ts";

Deno.test("knownOptions() names the option that there is not, and those that there are", () => {
  knownOptions('Model "m"', { a: 1 }, ["a", "b"]);
  knownOptions('Model "m"', {}, []);
  assert.throws(() => knownOptions('Model "m"', { hiden: 1 }, ["a", "b"]), {
    name: "TypeError",
    message: 'Model "m" has no option "hiden"; it takes a, b',
  });
  assert.throws(() => knownOptions('Model "m"', { a: 1 }, []), {
    message: 'Model "m" has no option "a"; it takes none',
  });
  const long = { ["k".repeat(1e6)]: 1 };
  assert.throws(
    () => knownOptions("x", long, ["a"]),
    (error: Error) => error.message.length < 200,
  );
});

Deno.test("knownOptions() refuses what is no object with names", () => {
  for (const given of [null, undefined, 5, "ab", [1]]) {
    assert.throws(() => knownOptions('Model "m"', given, ["a"]), {
      name: "TypeError",
      message: /^Model "m" takes an object with options, got /,
    });
  }
});
