import { equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { PAPERS } from "../../../bench/reproduce/registry.ts";

const SCRIPT = fileURLToPath(
  new URL("../../../bench/reproduce/reproduce.ts", import.meta.url),
);

function reproduce(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) =>
    execFile(
      process.execPath,
      ["run", "-A", "--no-check", SCRIPT, ...args],
      (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  );
}

Deno.test("reproduce lists what there is, and refuses in one line what there is not", async () => {
  const [listed, refused] = await Promise.all([
    reproduce("--list"),
    reproduce("--only", "machine,nothing"),
  ]);
  equal(listed.code, 0);
  const ids = PAPERS.flatMap(({ experiments }) =>
    experiments.map(({ id }) => id)
  );
  equal(listed.out.trim().split("\n").length, ids.length);
  for (const id of ids) match(listed.out, new RegExp(`^${id}: `, "m"));
  equal(refused.code, 2);
  match(refused.err, /^reproduce: --only "nothing" is no experiment, .*\n$/);
});
