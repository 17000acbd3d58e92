import assert from "node:assert/strict";
import fc from "fast-check";
import { HttpError } from "../../../src/server/http/http_error.ts";
import { parseJson } from "../../../src/server/http/json.ts";
import { checkNames } from "../../../src/server/http/json_names.ts";
import { propertyRuns } from "../../property_runs.ts";

const numRuns = propertyRuns(300);

Deno.test("JSON as it is written has no name twice", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.nat(3), (text, indent) => {
      if (text.includes("__proto__")) return;
      checkNames(JSON.stringify(JSON.parse(text), null, indent));
    }),
    { numRuns },
  );
});

Deno.test("a name that is there twice is found, wherever and however it is written", () => {
  const name = fc.string({ unit: "binary", maxLength: 8 })
    .filter((name) => name !== "__proto__");
  const value = fc.json({ maxDepth: 3 })
    .filter((text) => !text.includes("__proto__"));
  const others = fc.uniqueArray(name, { maxLength: 5 });
  fc.assert(
    fc.property(
      others,
      name,
      value,
      fc.nat(5),
      (others, name, value, depth) => {
        const escaped = `"${
          name.split("").map((unit) =>
            `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
          ).join("")
        }"`;
        const fields = [
          `${JSON.stringify(name)}: ${value}`,
          ...others.filter((other) => other !== name)
            .map((other) => `${JSON.stringify(other)}:${value}`),
        ];
        const once = "[".repeat(depth) + `{${fields.join(", ")}}` +
          "]".repeat(depth);
        checkNames(once);
        const twice = "[".repeat(depth) +
          `{${[...fields, `${escaped} : 1`].join(",")}}` + "]".repeat(depth);
        assert.throws(() => checkNames(twice), HttpError);
      },
    ),
    { numRuns },
  );
});

Deno.test("names of other objects, values and keys of arrays are no names twice", () => {
  for (
    const text of [
      '{"a":{"a":1},"b":{"a":1}}',
      '{"a":"a","b":"a"}',
      '{"a":["a","a",{"a":"a"}]}',
      '[["a","a"],"a"]',
      '{"a":1,"A":2,"a ":3}',
      '{"a":"\\"b\\":1,","b":1}',
    ]
  ) checkNames(text);
});

Deno.test("__proto__ is no name, escaped or not; a value may be", () => {
  const parse = (text: string) =>
    parseJson(new TextEncoder().encode(text), 100);
  for (const name of ["__proto__", "\\u005f_proto__"]) {
    assert.throws(() => parse(`{"a":[{"${name}":{"x":1}}]}`), HttpError);
  }
  assert.deepEqual(parse('{"a":"__proto__"}'), { a: "__proto__" });
  assert.throws(() => parse('{"a":1,"a":2}'), HttpError);
});

Deno.test("what is no JSON is passed over without an error of its own", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'{}[]",:\\a1') }),
      (text) => {
        try {
          checkNames(text);
        } catch (error) {
          assert(error instanceof HttpError, `${error}`);
        }
      },
    ),
    { numRuns },
  );
});
