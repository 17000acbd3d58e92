import assert from "node:assert/strict";
import {
  type Fault,
  FieldError,
  flag,
  ignored,
  integer,
  list,
  number,
  object,
  oneOf,
  optional,
  type Read,
  text,
  unsupported,
  withDefault,
} from "../../../src/server/wire/fields.ts";

const read = object("a request", {
  model: text,
  n: withDefault(integer(1, 3), 2),
  share: optional(number(0, 1)),
  kind: withDefault(oneOf(["a", "b"]), "a"),
  ids: withDefault(list(integer(0), 1, 3), []),
  inner: optional(object("inner", { on: flag })),
  tools: unsupported("there are none", [], "auto"),
  user: ignored,
  seed: optional(integer(0)),
  turns: optional(list(text, 1)),
});

Deno.test("fields are read with their defaults; null stands for nothing", () => {
  assert.deepEqual(read({ model: "m", n: null, user: { any: [1] } }), {
    model: "m",
    n: 2,
    share: undefined,
    kind: "a",
    ids: [],
    inner: undefined,
    tools: undefined,
    user: undefined,
    seed: undefined,
    turns: undefined,
  });
  assert.equal(read({ model: "m", n: 3, inner: { on: true } }).n, 3);
});

Deno.test("a field that cannot be taken is told with its path, and why", () => {
  const cases: [unknown, string, Fault, string][] = [
    [[], "", "invalid", "the body is an object, got []"],
    [null, "", "invalid", "the body is an object, got null"],
    [{}, "model", "missing", '"model" is required'],
    [{ model: 5 }, "model", "invalid", '"model" is a string, got 5'],
    [
      { model: "m", n: 4 },
      "n",
      "invalid",
      '"n" is an integer from 1 to 3, got 4',
    ],
    [
      { model: "m", n: 1.5 },
      "n",
      "invalid",
      '"n" is an integer from 1 to 3, got 1.5',
    ],
    [
      { model: "m", share: "1" },
      "share",
      "invalid",
      '"share" is a number from 0 to 1, got "1"',
    ],
    [
      { model: "m", kind: "c" },
      "kind",
      "invalid",
      '"kind" is one of a, b, got "c"',
    ],
    [
      { model: "m", ids: [] },
      "ids",
      "invalid",
      '"ids" has 1 to 3 elements, got 0',
    ],
    [
      { model: "m", ids: [1, -1] },
      "ids[1]",
      "invalid",
      '"ids[1]" is an integer of at least 0, got -1',
    ],
    [
      { model: "m", seed: 2n ** 60n },
      "seed",
      "invalid",
      '"seed" is an integer from 0 to 9007199254740991, got 1152921504606846976n',
    ],
    [
      { model: "m", turns: [] },
      "turns",
      "invalid",
      '"turns" has at least 1 element, got 0',
    ],
    [
      { model: "m", inner: { on: 1 } },
      "inner.on",
      "invalid",
      '"inner.on" is true or false, got 1',
    ],
    [
      { model: "m", inner: { on: true, off: 1 } },
      "inner.off",
      "unknown",
      '"inner.off" is no field of inner; it takes on',
    ],
    [
      { model: "m", tools: [{}] },
      "tools",
      "unsupported",
      '"tools" is not supported: there are none',
    ],
  ];
  for (const [body, field, fault, message] of cases) {
    assert.throws(
      () => read(body),
      (error) => {
        assert(error instanceof FieldError);
        assert.deepEqual(
          [error.field, error.fault, error.message],
          [field, fault, message],
        );
        return true;
      },
    );
  }
});

Deno.test("what asks for nothing is taken of what is not supported", () => {
  for (const tools of [undefined, null, [], "auto"]) {
    assert.equal(read({ model: "m", tools }).tools, undefined);
  }
});

Deno.test("fields are a body's own: nothing is read from a prototype", () => {
  const body = JSON.parse('{"model":"m","__proto__":{"n":3}}');
  assert.throws(() => read(body), /"__proto__" is no field of a request/);
  assert.equal(
    read(Object.create({ n: 3 }, {
      model: { value: "m", enumerable: true },
    })).n,
    2,
  );
});

Deno.test("list names the element whose own elements cannot be", () => {
  const rows: Read<readonly (readonly number[])[]> = list(list(integer(0)));
  assert.throws(() => rows([[0], [1, "2"]]), { field: "[1][1]" });
});
