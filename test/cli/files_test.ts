import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkWritable } from "../../src/cli/files.ts";
import { UsageError } from "../../src/cli/terminal.ts";

Deno.test("trying whether a file can be written leaves nothing behind, and what is there as it is", () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-files-"));
  try {
    const fresh = join(folder, "new.json");
    checkWritable(fresh);
    assert(!existsSync(fresh));
    const link = join(folder, "link.json");
    symlinkSync(fresh, link);
    checkWritable(link);
    assert.equal(readlinkSync(link), fresh);
    assert(!existsSync(fresh));
    const kept = join(folder, "kept.json");
    writeFileSync(kept, "kept");
    checkWritable(kept);
    assert.equal(readFileSync(kept, "utf8"), "kept");
    assert.throws(
      () => checkWritable(join(folder, "none", "new.json")),
      (error: unknown) =>
        error instanceof UsageError &&
        /^Cannot write .*: there is no such file or directory$/
          .test(error.message),
    );
    assert.throws(() => checkWritable(folder), /it is a directory$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
