import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ebird } from "../../src/cli/ebird.ts";
import { eEbird } from "../../src/policy/e2bird/e_ebird.ts";
import { totalBatchSize } from "../../src/policy/e2bird/idle_workers.ts";

/** Profiles by the word that stands for their file. */
const PROFILES: Readonly<Record<string, unknown>> = {
  PROFILE: {
    model: "two cells",
    tablesNs: { a: [[1, 500], [8, 800]], b: [[1, 500], [4, 900]] },
  },
  /** As `shoal npu --profile` saves the same times. */
  OF_NPU: {
    ...{ machine: "npu", model: "two layers", batchSizes: [1, 4, 8] },
    nodes: ["a", "b"],
    latencyNs: [[500, 629, 800], [500, 900, 1800]],
  },
  UNSORTED: { model: "one cell", tablesNs: { a: [[8, 800], [1, 500]] } },
  EMPTY: { model: "none", tablesNs: {} },
};

async function offline(
  ...args: string[]
): Promise<
  { configurations: Record<number, number[]>; engine: number[] }
> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-"));
  try {
    const out = join(folder, "engine.json");
    const given = args.map((arg) => {
      if (!Object.hasOwn(PROFILES, arg)) return arg;
      const profile = join(folder, "profile.json");
      writeFileSync(profile, JSON.stringify(PROFILES[arg]));
      return profile;
    });
    assert.equal(await ebird([...given, "--out", out]), 0);
    return JSON.parse(readFileSync(out, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("shoal ebird writes configurations that e-ebird takes and an engine that has them all", async () => {
  for (
    const source of [["--network", "resnet152"], ["--profile", "PROFILE"]]
  ) {
    for (const objective of ["worker", "inference", "last"]) {
      const { configurations, engine } = await offline(
        ...source,
        "--interference",
        "--objective",
        objective,
      );
      assert.deepEqual(Object.keys(configurations), ["4", "8", "16", "32"]);
      for (const [total, counts] of Object.entries(configurations)) {
        assert.equal(totalBatchSize(counts), Number(total));
        counts.forEach((count, n) => assert(engine[n] >= count));
      }
      eEbird({ configurations });
    }
  }
});

Deno.test("shoal ebird names what is wrong", () => {
  const refused = (args: string[], message: RegExp) =>
    assert.throws(() => void ebird(args), message);
  refused([], /One of --network and --profile/);
  refused(["--network", "vgg"], /"vgg" does not exist; there are resnet50/);
  refused(
    ["--network", "resnet50", "--totals", "4,x"],
    /--totals is an integer from 1 to 128, got "x"/,
  );
  refused(
    ["--network", "resnet50", "--objective", "best"],
    /"best" does not exist; there are worker/,
  );
  refused(["--profile", "nowhere.json"], /Cannot read nowhere.json/);
});

Deno.test("shoal ebird looks whether it can write before it searches", () => {
  const out = join(tmpdir(), crypto.randomUUID(), "engine.json");
  assert.throws(
    // What is searched is looked at later.
    () => ebird(["--network", "resnet152", "--totals", "x", "--out", out]),
    /Cannot write .*engine\.json/,
  );
});

Deno.test("shoal ebird takes an NPU's profile, and refuses one whose sizes do not ascend", async () => {
  const ofNpu = await offline("--profile", "OF_NPU");
  assert.deepEqual(
    ofNpu.configurations,
    (await offline("--profile", "PROFILE")).configurations,
  );
  await assert.rejects(
    offline("--profile", "UNSORTED"),
    /profile\.json: The table of cell "a" lists size 1 after 8/,
  );
  await assert.rejects(offline("--profile", "EMPTY"), /has no cells/);
});
