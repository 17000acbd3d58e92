import assert from "node:assert/strict";
import { assert as invariant, AssertionError } from "../../src/base/assert.ts";
import { fnv1a } from "../../src/base/hash.ts";
import { msToNs, nsToMs, secondsToNs } from "../../src/base/units.ts";

Deno.test("fnv1a() gives the published values", () => {
  // Test vectors of the FNV authors (draft-eastlake-fnv, 32-bit FNV-1a).
  assert.equal(fnv1a(""), 0x811c9dc5);
  assert.equal(fnv1a("a"), 0xe40c292c);
  assert.equal(fnv1a("foobar"), 0xbf9cf968);
  assert.equal(fnv1a(new TextEncoder().encode("foobar")), 0xbf9cf968);
});

Deno.test("fnv1a() reads the bytes of a view, and only those", () => {
  const bytes = Uint8Array.of(0, 0, 128, 63, 0, 0, 0, 64);
  assert.equal(fnv1a(new Float32Array(bytes.buffer)), fnv1a(bytes));
  assert.equal(
    fnv1a(bytes.subarray(4)),
    fnv1a(Float32Array.of(2)),
  );
});

Deno.test("units convert to whole nanoseconds and back", () => {
  assert.equal(msToNs(1.5), 1_500_000);
  assert.equal(msToNs(0.0000014), 1);
  assert.equal(secondsToNs(0.25), 250_000_000);
  assert.equal(nsToMs(2_500_000), 2.5);
});

Deno.test("assert() throws an AssertionError with its message", () => {
  invariant(true, "never seen");
  assert.throws(() => invariant(false, "broken"), (error) => {
    assert(error instanceof AssertionError);
    assert.equal(error.message, "broken");
    return true;
  });
  assert.throws(() => invariant(0), { message: "invariant broken" });
});
