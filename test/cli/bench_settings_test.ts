import assert from "node:assert/strict";
import { benchSettings } from "../../src/cli/bench_settings.ts";

Deno.test("a rate that is given twice is one load", () => {
  const settings = benchSettings(["--rate", "500,100,500"]);
  assert.deepEqual(settings?.ratesPerS, [500, 100]);
});

Deno.test("a point is measured once unless more rounds are asked for", () => {
  assert.equal(benchSettings([])?.rounds, 1);
  assert.equal(benchSettings(["--rounds", "5"])?.rounds, 5);
  assert.throws(() => benchSettings(["--rounds", "0"]), /--rounds/);
});
