/** The lists of mutants say what is there; whether tests see them is `deno task mutants`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { stop, transform } from "esbuild";
import { mutated } from "./mutated.ts";
import { allMutants } from "./registry.ts";
import { asTest, nameOf, outcomeOf } from "./tested.ts";

const ROOT = new URL("../../", import.meta.url);
const MUTANTS = await allMutants();

Deno.test("every mutant changes one place of its file, and parses", async () => {
  for (const mutant of MUTANTS) {
    const { id, file, from, to } = mutant;
    assert.match(file, /^(src|assembly)\/.*\.ts$/, id);
    assert.notEqual(from, to, id);
    const text = readFileSync(new URL(file, ROOT), "utf8");
    let changed = "";
    assert.doesNotThrow(() => changed = mutated(text, mutant), id);
    // Kernels are the compiler's to judge, when they are tried.
    if (file.startsWith("src/")) {
      await assert.doesNotReject(
        transform(changed, { loader: "ts", logLevel: "silent" }),
        id,
      );
    }
  }
  await stop();
});

Deno.test("there are mutants of all that results depend on", () => {
  const areas = new Set(MUTANTS.map(({ area }) => area));
  for (
    const area of [
      ...["baselines", "cellular", "late", "lazybatching", "dvabatch"],
      ...["e2bird", "engine", "slot_plan", "rows", "workers", "virtual"],
      ...["serving", "lowering", "kernels", "npu", "onnx"],
    ]
  ) assert(areas.has(area), `lists/${area}.ts has mutants`);
  assert(MUTANTS.length >= 150, `${MUTANTS.length} mutants`);
});

Deno.test("every mutant has a name of its own, which begins with its area, and a rule", () => {
  const seen = new Set<string>();
  for (const { id, area, why } of MUTANTS) {
    assert(!seen.has(id), `${id} is there twice`);
    seen.add(id);
    assert(id.startsWith(`${area}.`), `${id} is in lists/${area}.ts`);
    assert(why.length > 0, id);
  }
});

Deno.test("the tests that mutants name are there", () => {
  const tests = MUTANTS.map(({ id, tests }) => ({
    id,
    tests: tests.map(asTest),
  }));
  const files = new Set(tests.flatMap(({ tests }) => tests.map((t) => t.file)));
  for (const file of files) {
    assert(existsSync(new URL(file, ROOT)), `${file} is not there`);
  }
  const names = JSON.parse(
    execFileSync(
      process.execPath,
      [
        ...["run", "-A", "--no-check"],
        ...[fileURLToPath(new URL("test_names.ts", import.meta.url)), ...files],
      ],
      { encoding: "utf8", cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] },
    ).trim().split("\n").at(-1)!,
  ) as Record<string, string[]>;
  for (const { id, tests: some } of tests) {
    assert(some.length > 0, `${id} names no test`);
    for (const test of some) {
      assert(
        names[test.file].some((name) => fits(name, test.filter)),
        `${id}: ${nameOf(test)} is no test`,
      );
    }
  }
});

/** As `deno test --filter` has it. */
function fits(name: string, filter = ""): boolean {
  const [, expression] = /^\/(.*)\/$/s.exec(filter) ?? [];
  return expression === undefined
    ? name.includes(filter)
    : new RegExp(expression).test(name);
}

Deno.test("a runtime that does not end well after its tests had passed is no failed test", () => {
  const passed =
    "running 2 tests from ./a_test.ts\n\nok | 2 passed | 0 failed (3ms)";
  const failed =
    "running 2 tests from ./a_test.ts\n\nFAILED | 1 passed | 1 failed";
  assert.equal(outcomeOf(0, passed), "passed");
  assert.equal(outcomeOf(NaN, passed), "crashed");
  assert.equal(outcomeOf(1, failed), "failed");
  assert.equal(outcomeOf(1, "error: not found"), "broken");
});
