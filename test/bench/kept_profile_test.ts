import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keptProfile } from "../../bench/kept_profile.ts";
import { captured } from "../cli/captured.ts";

Deno.test("a benchmark's profile is measured where none is or it came to nothing, and stdout stays the benchmark's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-kept-"));
  try {
    const file = join(folder, "lstm.json");
    writeFileSync(file, "");
    const args = ["lstm", "--hidden", "8", "--sizes", "1,2"];
    const ran = () =>
      captured(async () => {
        await keptProfile(file, args);
        return 0;
      });
    const { out, err } = await ran();
    assert.equal(out, "");
    assert.match(err, /measuring lstm/);
    const measured = readFileSync(file, "utf8");
    assert.equal(JSON.parse(measured).model, "lstm");
    assert.deepEqual(await ran(), { code: 0, out: "", err: "" });
    assert.equal(readFileSync(file, "utf8"), measured);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
