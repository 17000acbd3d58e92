import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import {
  describe,
  describeShape,
  listed,
  shorten,
} from "../../src/base/describe.ts";
import { propertyRuns } from "../property_runs.ts";

/** `shown` characters and the mark of what was left out. */
const MOST = 81;

Deno.test("describe() shows small values as JSON does, and what JSON leaves out", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      if (json.length <= 80 && !/-0|e-/.test(json)) {
        assert.equal(describe(value), json);
      }
    }),
    { numRuns: propertyRuns(300) },
  );
  const others: [unknown, string][] = [
    [undefined, "undefined"],
    [NaN, "NaN"],
    [3n, "3n"],
    [Symbol("x"), "Symbol(x)"],
    [() => 1, "a function"],
    [new Map(), "[object Map]"],
    [Buffer.of(1, 2), "Uint8Array of 2"],
    [
      runInNewContext("Float32Array.of(1, 2)"),
      "Float32Array of 2 from another frame or context (copy it)",
    ],
    [Promise.resolve(1), "[object Promise]"],
    [new Int32Array(3), "Int32Array of 3"],
    [[undefined, NaN], "[undefined,NaN]"],
  ];
  for (const [value, text] of others) assert.equal(describe(value), text);
});

Deno.test("describe() never throws and never says much", () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withSparseArray: true,
        withTypedArray: true,
      }),
      (value) => assert(describe(value).length <= MOST),
    ),
    { numRuns: propertyRuns(500) },
  );
  const circular: unknown[] = [];
  circular.push({ circular });
  const revoked = Proxy.revocable({}, {});
  const revokedList = Proxy.revocable([], {});
  revoked.revoke();
  revokedList.revoke();
  const throws = () => {
    throw new Error("hostile");
  };
  const hostile: unknown[] = [
    circular,
    revoked.proxy,
    revokedList.proxy,
    { a: revoked.proxy },
    { toJSON: throws },
    Object.defineProperty({}, "a", { get: throws, enumerable: true }),
    Object.defineProperty({}, Symbol.toStringTag, { get: throws }),
    new Proxy({ a: 1 }, {
      get: throws,
      ownKeys: throws,
      getOwnPropertyDescriptor: throws,
    }),
    new Proxy([1], { get: throws }),
    { [Symbol.toStringTag]: "x".repeat(1e6) },
    Symbol("x".repeat(1e6)),
    2n ** 100_000n,
    "x".repeat(1e6),
    { ["k".repeat(1e6)]: 1 },
    Object.create(null),
  ];
  for (const value of hostile) assert(describe(value).length <= MOST);
});

Deno.test("describe() runs no getter and looks at no more than it shows", () => {
  let ran = 0;
  describe(
    Object.defineProperty({}, "a", { get: () => ran++, enumerable: true }),
  );
  describe({ toJSON: () => ran++ });
  assert.equal(ran, 0);
  let looks = 0;
  const long = new Proxy(new Array(1_000_000).fill(7), {
    getOwnPropertyDescriptor(list, key) {
      looks++;
      return Reflect.getOwnPropertyDescriptor(list, key);
    },
  });
  assert.equal(describe(long), `[${"7,".repeat(40)}`.slice(0, 80) + "…");
  assert(looks <= 41, `${looks} looks`);
});

Deno.test("names and lists of them are cut off", () => {
  assert.equal(shorten("abc"), "abc");
  assert.equal(shorten("x".repeat(1e6)).length, MOST);
  assert.equal(listed(["a", "b"]), "a, b");
  assert.equal(listed([]), "none");
  let taken = 0;
  function* names() {
    for (;;) yield `name ${taken++}`;
  }
  assert.equal(listed(names()).length, MOST);
  assert(taken < 20);
  assert.equal(describeShape([2, 3]), "[2, 3]");
  assert.equal(describeShape([]), "[]");
  assert.equal(describeShape(7), "7");
  assert(describeShape(new Array(1e6).fill(1)).length < 90);
});

Deno.test("no character is cut in half", () => {
  const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 20 }), (text, shown) => {
      const short = shorten(text, shown);
      assert(short.isWellFormed(), short);
      if (text.length <= shown) return assert.equal(short, text);
      const kept = short.slice(0, -1);
      assert(text.startsWith(kept) && short.endsWith("…"), short);
      assert(kept.length === shown || kept.length === shown - 1);
    }),
    { numRuns: propertyRuns(300) },
  );
  const fish = "🐟".repeat(100);
  for (const texts of [[fish], [`-${fish}`], ["-", fish]]) {
    assert(describe(texts).isWellFormed());
    assert(listed(texts).isWellFormed());
  }
});
