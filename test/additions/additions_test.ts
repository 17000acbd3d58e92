/**
 * What ARCHITECTURE.md, "To add", claims: a policy, a model, a kernel and an operator are added to a
 * copy of the project in so many places, and are then checked, tested, measured and simulated like all others.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KERNEL, MODEL, OPERATOR, POLICY } from "./newcomers.ts";
import {
  type Addition,
  countOf,
  ProjectCopy,
  type Ran,
} from "../project_copy.ts";

const ADDITIONS: Readonly<Record<string, Addition>> = {
  "a policy": POLICY,
  "a model": MODEL,
  "a kernel": KERNEL,
  "an operator": OPERATOR,
};

/** Tests that go over the registries. */
const TESTS = [
  ...["policy/registry_test.ts", "models/registry_test.ts"],
  ...["cli/policy_options_test.ts", "cli/simulate_property_test.ts"],
  ...["engine/equivalence_test.ts", "engine/worker_equivalence_test.ts"],
  "engine/lowering_test.ts",
  ...["models/bounds_test.ts", "cost/profile_cells_test.ts", "tidy_test.ts"],
].map((file) => `test/${file}`);

const KERNEL_TESTS = [
  "test/kernels/kernels_test.ts",
  "test/kernels/spec_test.ts",
];

const copy = new ProjectCopy();
globalThis.addEventListener("unload", () => copy.remove());

function succeeded({ code, text }: Ran): string {
  assert.equal(code, 0, text);
  return text;
}

Deno.test("ARCHITECTURE.md counts what it takes to add something", () => {
  const text = readFileSync(
    new URL("../../ARCHITECTURE.md", import.meta.url),
    "utf8",
  );
  for (const [what, addition] of Object.entries(ADDITIONS)) {
    const { newFiles, editedFiles, lines } = countOf(addition);
    const row = new RegExp(
      `^\\| ${what} +\\| +${newFiles} +\\| +${editedFiles} +\\| +${lines} +\\|`,
      "m",
    );
    assert.match(text, row, `${what}: ${newFiles}, ${editedFiles}, ${lines}`);
  }
});

Deno.test("the compiler names every place where an operator is missing", async () => {
  copy.add(OPERATOR);
  const [variant, ...rest] = OPERATOR.edits;
  const texts = new Map(rest.map(({ file }) => [file, copy.read(file)]));
  try {
    for (const file of texts.keys()) {
      copy.write(
        file,
        readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"),
      );
    }
    const { code, text } = await copy.deno([
      ...["check", "src/simulate.ts", "test/engine/lowering_test.ts"],
    ]);
    assert.notEqual(code, 0, `${variant.file} alone passes`);
    for (const file of texts.keys()) {
      assert(text.includes(`/${file}:`), `${file} in\n${text}`);
    }
  } finally {
    for (const [file, text] of texts) copy.write(file, text);
  }
});

Deno.test("a project with one more of each passes the type check once it has generated what it says", async () => {
  for (const addition of [POLICY, MODEL, KERNEL]) copy.add(addition);
  succeeded(
    await copy.deno([
      "run",
      "-A",
      "--no-check",
      "src/cli/generate/generate.ts",
    ]),
  );
  assert.match(copy.read("src/kernels/module/exports.ts"), /\bsquare_f32\b/);
  succeeded(
    await copy.deno(["check", "src/cli.ts", ...TESTS, ...KERNEL_TESTS]),
  );
});

Deno.test("the kernels' tests cover what was added, and fail where it is wrong", async () => {
  const compile = async () => succeeded(await copy.compile());
  // The other builds are left as they are: compiling one shows as much.
  const tests = () =>
    copy.deno([
      ...["test", "-A", "--no-check", "--filter"],
      "/square_f32 (agrees|gives)|spec|export/",
      ...KERNEL_TESTS,
    ]);
  await compile();
  const text = succeeded(await tests());
  for (
    const covered of [
      "square_f32 agrees with the naive reference",
      "square_f32 gives a row the same bits",
    ]
  ) assert(text.includes(covered), `${covered} in\n${text}`);
  copy.write(
    "assembly/square.ts",
    copy.read("assembly/square.ts").replace("load<f32>(a) * ", ""),
  );
  await compile();
  const { code, text: failure } = await tests();
  assert.notEqual(code, 0);
  assert.match(failure, /square_f32 agrees .* FAILED/);
});

Deno.test("tests that go over the registries cover what was added", async () => {
  const text = succeeded(
    await copy.deno(
      [
        ...["test", "-A", "--no-check", "--parallel"],
        ...[
          "--filter",
          "/newest|elman|configurations that|random cells|imports|every model/",
        ],
        ...TESTS,
      ],
      { SHOAL_PROPERTY_RUNS: "20" },
    ),
  );
  for (
    const covered of [
      "the registry has every option of newest",
      "the registry has sizes of elman",
      "the bench can set up newest",
      "newest: every result equals serial execution bit for bit (paired)",
      "newest: every result equals serial execution bit for bit (worker threads)",
      "lowerCell() keeps the meaning of random cells",
      "imports point in the direction of the design",
    ]
  ) assert(text.includes(covered), `${covered} in\n${text}`);
});

Deno.test("the bench measures the model under the policy, and says what the policy has not", async () => {
  const out = join(copy.root, "out");
  const text = succeeded(
    await copy.deno([
      ...["run", "-A", "--no-check", "src/cli.ts", "bench"],
      ...["--quick", "--requests", "40", "--size", "small", "--batch", "4"],
      ...["--model", "elman", "--policy", "newest,cellular", "--out", out],
    ]),
  );
  assert.match(text, /^elman \(hidden 128, vocabulary 2000; 1 worker/m);
  assert.match(text, /^medium {2}newest .* 40 /m);
  assert.match(text, /^medium {2}cellular .* 40 /m);
  assert.match(text, /at most 4 rows, except under newest, which has no such/);
});

Deno.test("simulate, npu and help know what was added", async () => {
  copy.write(
    "config.json",
    JSON.stringify({
      model: { name: "elman", options: { hidden: 4 } },
      policies: [{ name: "newest" }],
      workload: {
        requests: 30,
        arrivals: { kind: "poisson", ratePerS: 1000 },
      },
      cost: { constantNs: 1000 },
    }),
  );
  const shoal = (...args: string[]) =>
    copy.deno(["run", "-A", "--no-check", "src/cli.ts", ...args]);
  const [simulated, npu, help] = (await Promise.all([
    shoal("simulate", "--config", "config.json"),
    shoal("npu", "--model", "elman"),
    shoal("bench", "--help"),
  ])).map(succeeded);
  assert.match(simulated, /^newest +30 /m);
  assert.match(npu, /elman_step/);
  assert.match(help, /--model NAMES .*elman/);
  assert.match(help, /--policy NAMES .*newest/);
});
