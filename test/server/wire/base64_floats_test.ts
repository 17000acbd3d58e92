import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { base64Floats } from "../../../src/server/wire/base64_floats.ts";
import { propertyRuns } from "../../property_runs.ts";

Deno.test("base64Floats writes the bits of each number, as Buffer reads them", () => {
  fc.assert(
    fc.property(fc.float32Array({ maxLength: 100 }), (numbers) => {
      const bytes = Buffer.from(base64Floats(numbers), "base64");
      const read = Array.from(
        numbers,
        (_, i) => bytes.readFloatLE(4 * i),
      );
      assert.equal(bytes.length, 4 * numbers.length);
      assert.deepEqual(read, [...numbers]);
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("base64Floats takes more numbers than a call takes arguments", () => {
  const numbers = Float32Array.from({ length: 200_000 }, (_, i) => i / 7);
  const bytes = Buffer.from(base64Floats(numbers), "base64");
  assert.deepEqual(new Float32Array(new Uint8Array(bytes).buffer), numbers);
});
