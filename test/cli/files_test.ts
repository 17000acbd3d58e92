import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  checkApart,
  checkOutputs,
  checkWritable,
  writeText,
} from "../../src/cli/files.ts";
import { UsageError } from "../../src/cli/terminal.ts";

/** Runs `body` in a folder of its own. */
function inFolder(body: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "shoal-files-"));
  try {
    body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const WRITING = fileURLToPath(new URL("writing_process.ts", import.meta.url));

/** Has another process write `bytes` bytes to a path, by a command of the shell in which "$@" does. */
function writing(
  command: string,
  path: string,
  bytes: number,
  permissions = ["-A"],
) {
  const flags = ["--no-prompt", "--no-check", ...permissions];
  const run = ["run", ...flags, WRITING, path, `${bytes}`];
  const { stdout, stderr, status } = spawnSync(
    "sh",
    ["-c", command, "sh", process.execPath, ...run],
    { encoding: "utf8" },
  );
  return { stdout, stderr, status };
}

Deno.test("trying whether a file can be written leaves nothing behind, and what is there as it is", () =>
  inFolder((folder) => {
    const fresh = join(folder, "new.json");
    checkWritable(fresh);
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
    assert.throws(
      () => checkWritable(`${folder}/none/`),
      /it is a directory$/,
    );
    const link = join(folder, "link.json");
    symlinkSync("later.json", link);
    checkWritable(link);
    assert(lstatSync(link).isSymbolicLink());
    assert.deepEqual(readdirSync(folder), ["kept.json", "link.json"]);
  }));

Deno.test("a file that there is no room for stays as it was, with nothing beside it", () =>
  inFolder((folder) => {
    const path = join(folder, "result.json");
    writeFileSync(path, "as it was");
    // The limit is far from what the runtime writes, and what is written far beyond it.
    const limit = `trap "" XFSZ; ulimit -f 4096; exec "$@"`;
    const failed = writing(limit, path, 2 ** 24);
    assert.match(failed.stderr, /Cannot write/);
    assert.equal(readFileSync(path, "utf8"), "as it was");
    assert.deepEqual(readdirSync(folder), ["result.json"]);
    const written = writing(limit, path, 10);
    assert.equal(written.status, 0, written.stderr);
    assert.equal(readFileSync(path, "utf8"), "x".repeat(10));
  }));

Deno.test("a file is replaced where links lead, with its permissions; links stay", () =>
  inFolder((folder) => {
    mkdirSync(join(folder, "there"));
    const path = join(folder, "there", "result.json");
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    symlinkSync("there/result.json", join(folder, "first"));
    symlinkSync(join(folder, "first"), join(folder, "second"));
    writeText(join(folder, "second"), "new");
    assert.equal(readFileSync(path, "utf8"), "new");
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert(lstatSync(join(folder, "first")).isSymbolicLink());
    assert(lstatSync(join(folder, "second")).isSymbolicLink());
    // A link that leads to nothing yet.
    symlinkSync("there/later.json", join(folder, "third"));
    writeText(join(folder, "third"), "later");
    assert.equal(
      readFileSync(join(folder, "there", "later.json"), "utf8"),
      "later",
    );
    assert(lstatSync(join(folder, "third")).isSymbolicLink());
    assert.equal(readdirSync(join(folder, "there")).length, 2);
    symlinkSync("round", join(folder, "round"));
    assert.throws(
      () => writeText(join(folder, "round"), ""),
      /its links go in circles$/,
    );
    for (const end of ["", "/", "/.", "/there/..", "/none/"]) {
      assert.throws(() => writeText(folder + end, ""), /it is a directory$/);
    }
    assert.throws(() => writeText("", ""), /there is no such file/);
    assert.throws(
      () => writeText(join(folder, "none", "result.json"), ""),
      /there is no such file or directory$/,
    );
  }));

Deno.test("what comes after a folder's link is where the link leads", () =>
  inFolder((folder) => {
    mkdirSync(join(folder, "far", "there"), { recursive: true });
    symlinkSync("far/there", join(folder, "near"));
    const path = join(folder, "far", "result.json");
    writeText(`${folder}/near/../result.json`, "by name");
    assert.equal(readFileSync(path, "utf8"), "by name");
    symlinkSync("../result.json", join(folder, "near", "link"));
    writeText(join(folder, "near", "link"), "by link");
    assert.equal(readFileSync(path, "utf8"), "by link");
    assert.deepEqual(readdirSync(folder), ["far", "near"]);
  }));

Deno.test("who may write one file only writes it as it is", () =>
  inFolder((folder) => {
    const path = join(folder, "result.json");
    const allowed = [
      ["--allow-read", `--allow-write=${path}`],
      [`--allow-write=${path}`],
      ["--allow-read", `--allow-write=${folder}`],
    ];
    for (const permissions of allowed) {
      for (const bytes of [3, 2]) {
        const { stderr } = writing(`"$@"`, path, bytes, permissions);
        assert.equal(readFileSync(path, "utf8"), "x".repeat(bytes), stderr);
        assert.deepEqual(readdirSync(folder), ["result.json"]);
      }
      rmSync(path);
    }
    const refused = writing(`"$@"`, path, 3, ["--allow-read"]);
    assert.match(refused.stderr, /Cannot write .*: Requires write access/);
    assert.match(
      writing(`"$@"`, "/dev/null", 3, ["--allow-read"]).stderr,
      /Cannot write .*: Requires/,
    );
  }));

Deno.test("- is no name of a file, and what to name is told", () => {
  for (const body of [() => writeText("-", ""), () => checkWritable("-")]) {
    assert.throws(
      body,
      (error: unknown) =>
        error instanceof UsageError &&
        /^Cannot write -: name \/dev\/stdout .*, or \.\/- for/.test(
          error.message,
        ),
    );
  }
});

Deno.test("streams, pipes and devices are written as they are", () =>
  inFolder((folder) => {
    writeText("/dev/null", "gone");
    assert(lstatSync("/dev/null").isCharacterDevice());
    const pipe = writing(`"$@" | cat`, "/dev/stdout", 3);
    assert.equal(pipe.stdout, "xxx", pipe.stderr);
    const into = join(folder, "redirected");
    const file = writing(
      `{ "$@"; echo more; } >> '${into}'`,
      "/dev/stdout",
      3,
    );
    assert.equal(readFileSync(into, "utf8"), "xxxmore\n", file.stderr);
    // What was printed before stays, and what is printed after comes behind it.
    const all = `{ echo first; "$@"; echo more; } > '${into}'`;
    const told = writing(all, "/dev/stdout", 3);
    assert.equal(
      readFileSync(into, "utf8"),
      "first\nxxxmore\n",
      told.stderr,
    );
    assert.deepEqual(readdirSync(folder), ["redirected"]);
    const fifo = join(folder, "fifo");
    const named = writing(`mkfifo '${fifo}'; cat '${fifo}' & "$@"`, fifo, 3);
    assert.equal(named.stdout, "xxx", named.stderr);
    assert(lstatSync(fifo).isFIFO());
  }));

Deno.test("a file that is read is not written, by whatever name", () =>
  inFolder((folder) => {
    const path = join(folder, "model.onnx");
    writeFileSync(path, "");
    symlinkSync("model.onnx", join(folder, "link"));
    linkSync(path, join(folder, "other"));
    const refused = [
      [path, /^Cannot write .*: it is read; name another file$/],
      [join(folder, ".", "link"), /: it is read, as .*model\.onnx; name/],
      [join(folder, "other"), /: it is read, as .*model\.onnx; name/],
    ] as const;
    for (const [out, says] of refused) {
      assert.throws(
        () => checkApart(out, [undefined, join(folder, "none"), path]),
        (error: unknown) =>
          error instanceof UsageError && says.test(error.message),
      );
    }
    checkApart(join(folder, "new"), [path, undefined]);
    checkApart("/dev/null", ["/dev/null"]);
  }));

Deno.test("two files that are written are not one, by whatever name, there or not", () =>
  inFolder((folder) => {
    const path = join(folder, "new");
    symlinkSync("new", join(folder, "link"));
    const refused = [
      [path, /^Cannot write .* twice; name another file$/],
      [join(folder, "link"), / twice, as .*new; name another file$/],
      [`${folder}/./new`, / twice, as .*new; name another file$/],
    ] as const;
    for (const isThere of [false, true]) {
      if (isThere) writeFileSync(path, "");
      for (const [out, says] of refused) {
        assert.throws(
          () => checkOutputs([path, undefined, out], []),
          (error: unknown) =>
            error instanceof UsageError && says.test(error.message),
        );
      }
    }
    checkOutputs([join(folder, "other"), path, undefined], [undefined]);
    checkOutputs(["/dev/null", "/dev/null"], []);
  }));
