import assert from "node:assert/strict";
import { plainCopy } from "../../src/base/plain_copy.ts";

const copyOf = (value: unknown) => plainCopy(value)?.copy;

Deno.test("plain data is copied as it is, and shares nothing with its copy", () => {
  const list: unknown[] = [1, "a", null, undefined, 2n];
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const plain = {
    list: Object.assign([...list], { extra: 1 }),
    nested: [[list, list], { list }],
    holes: [[], , [1], ,],
    circle,
    bare: Object.assign(Object.create(null), { a: [1] }),
    [Symbol.for("s")]: Float32Array.of(1, NaN, -0),
    bytes: Uint8ClampedArray.of(1, 2),
    longs: BigInt64Array.of(-1n),
  };
  const copy = copyOf(plain) as typeof plain;
  assert.deepStrictEqual(copy, plain);
  assert.equal(copy.nested[0], copy.nested[0]);
  assert.notEqual(copy.nested, plain.nested);
  assert.notEqual(copy.list, plain.list);
  assert.notEqual(copy[Symbol.for("s")], plain[Symbol.for("s")]);
  assert.equal(copyOf(5), 5);
});

Deno.test("a copy tells about how much memory it takes", () => {
  const bytesOf = (value: unknown) => plainCopy(value)?.bytes ?? 0;
  const near = (value: unknown, bytes: number) => {
    const got = bytesOf(value);
    assert(got >= bytes && got <= bytes + 512, `${got} of ${bytes}`);
  };
  near(new Float32Array(1000), 4000);
  near(new Float32Array(1000).subarray(10, 12), 8);
  near({ tokens: new Array(1000).fill(1) }, 8000);
  near({ text: "a".repeat(5000) }, 10_000);
  near(["b".repeat(5000), 1], 10_000);
  near(5, 0);
  const twice = new Array(1000).fill(1);
  near([twice, [1, twice]], 8000);
  const frame = new Float32Array(1000);
  near(new Array(1000).fill(frame), 12_000);
  const nested = Array.from({ length: 100 }, () => [[1], [2]]);
  assert(bytesOf(nested) > 100 * 3 * 16);
});

Deno.test("a view of some of a buffer, or of shared memory, becomes an array of its own", () => {
  const some = new Float32Array(1000).subarray(10, 12);
  assert.equal((copyOf(some) as Float32Array).buffer.byteLength, 8);
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const copy = copyOf([[shared]]) as Int32Array[][];
  shared.fill(7);
  assert.deepEqual([...copy[0][0]], [0, 0]);
});

Deno.test("what would be something else is not copied", () => {
  class Point {
    x = 1;
  }
  const throws = {
    get x(): number {
      throw new Error("out of luck");
    },
  };
  class Floats extends Float32Array {}
  const others = [
    ...[
      new Point(),
      new Map(),
      new Date(),
      () => 1,
      new Proxy([], {
        getPrototypeOf: () => Point.prototype,
      }),
    ],
    ...[new Floats(1), new DataView(new ArrayBuffer(1)), new ArrayBuffer(1)],
    ...[throws, JSON.parse('{"__proto__": 1}'), Promise.resolve()],
  ];
  for (const other of others) {
    assert.equal(plainCopy(other), undefined);
    assert.equal(plainCopy({ a: [1, other] }), undefined);
    assert.equal(plainCopy([other]), undefined);
  }
});
