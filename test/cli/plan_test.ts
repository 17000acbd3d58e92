import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threadsMax } from "../../src/cli/limits.ts";
import { main } from "../../src/cli/main.ts";
import { readOptions } from "../../src/cli/options.ts";
import { measuredPlan } from "../../src/cli/planning/measured_plan.ts";
import {
  PLAN_OPTIONS,
  planSettings,
} from "../../src/cli/planning/plan_settings.ts";
import type { MachinePlan } from "../../src/cli/planning/planned.ts";
import { readSettings } from "../../src/cli/serve/serve_settings.ts";
import { withGlobals } from "../base/with_globals.ts";
import { captured } from "./captured.ts";

/** Times that nobody measured: 0.1 ms a row, nearly. */
const PROFILE = {
  model: "lstm",
  options: { hidden: 4, vocabulary: 10 },
  machine: "made up",
  workers: 1,
  host: {
    taskNs: [[1, 2000]],
    turnNs: [[1, 5000], [8, 9000]],
    requestNs: 1000,
  },
  stretches: [{ speed: [[1100, 900]], pauses: [[1_500_000, 1_700_000]] }],
  tablesNs: { lstm_step: [[1, 110_000], [8, 800_000]] },
};

const TRACE = ["t_seconds,input_tokens,output_tokens"].concat(
  Array.from({ length: 1200 }, (_, i) => `${i / 10},1,1`),
).join("\n");

async function inFolder(
  files: Readonly<Record<string, string>>,
  use: (path: (name: string) => string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-plan-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
    }
    await use((name) => join(folder, name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const FILES = {
  "one.json": JSON.stringify(PROFILE),
  "two.json": JSON.stringify({
    ...PROFILE,
    workers: 2,
    stretches: [{ speed: [[1100, 900], [1000, 1000]], pauses: [] }],
  }),
  "few.json": JSON.stringify({ ...PROFILE, workers: 2 }),
  // As it was saved before stretches were.
  "spread.json": JSON.stringify({
    ...PROFILE,
    stretches: undefined,
    spread: [[0.5, 0.9], [1, 1.1]],
  }),
  "gru.json": JSON.stringify({ ...PROFILE, options: { hidden: 8 } }),
  "slow.json": JSON.stringify({
    ...PROFILE,
    tablesNs: { lstm_step: [[1, 1.5e9], [8, 9e9]] },
  }),
  "old.json": JSON.stringify({ tablesNs: PROFILE.tablesNs }),
  "hole.json": JSON.stringify({ ...PROFILE, tablesNs: { head: [[1, 5]] } }),
  "trace.csv": TRACE,
};

const ASKED = ["--slo-ms", "30", "--requests", "600"];
const QUICK = [
  ...ASKED,
  ...["--policy", "cellular,auto,serial", "--precision", "0.05"],
];

Deno.test("shoal plan: load, policy and workers, other targets and machines, what was held back", async () => {
  await inFolder(FILES, async (path) => {
    const files = [path("one.json"), path("two.json")];
    const trace = ["--trace", path("trace.csv")];
    const run = async (...more: string[]) =>
      await captured(() => main(["plan", ...files, ...trace, ...more]));
    const { code, out } = await run(...QUICK, "--json");
    assert.equal(code, 0);
    const { plans, best } = JSON.parse(out);
    assert.equal(plans.length, 2);
    assert.equal(best, 1);
    const [one, two] = plans;
    // Of those that are level the first is `auto`.
    assert.equal(one.contenders[0].policy, "auto");
    assert(two.perS > 1.5 * one.perS, `${two.perS} ${one.perS}`);
    const [half, double, fast] = one.otherwise.map((
      { perS }: { perS: number },
    ) => perS);
    assert(half <= one.perS && one.perS <= double && fast > one.perS);
    const [low, high] = one.rangePerS;
    assert(low <= one.perS && one.perS <= high);
    assert(one.heldBack.inTime > 0.9);
    assert(Math.abs(one.perS / one.heldBack.perS - 1) < 0.2);
    // Nothing but times is left out.
    assert(!out.includes("tablesNs"));

    const text = await run(...QUICK);
    assert.match(text.out, /99 % within 30 ms, arrivals as in trace\.csv/);
    assert.match(
      text.out,
      /requests\/s \(\d+ to \d+, as the machine is slow or fast\) with 2\s+workers under \w+/,
    );
    assert.match(text.out, /held back: [\d.]+ % in time at this rate/);
    assert.match(text.out, /target 15 ms.*target 60 ms.*twice as fast/);
  });
});

class NoWorker {
  constructor() {
    throw new Error("no threads today");
  }
}

Deno.test("shoal plan --check has said what it plans, whatever becomes of the check", async () => {
  await inFolder(FILES, async (path) => {
    const asked = ["plan", path("one.json"), "--trace", path("trace.csv")];
    const run = (...more: string[]) =>
      withGlobals(
        { Worker: NoWorker },
        () =>
          captured(() =>
            main([...asked, ...QUICK, "--policy", "serial", "--check", ...more])
          ),
      );
    const { code, out, err } = await run();
    assert.equal(code, 1);
    assert.match(out, /Carries \d+ requests\/s/);
    assert.match(err, /no threads today/);
    const json = await run("--json");
    assert.equal(json.code, 1);
    const { plans, measured } = JSON.parse(json.out);
    assert(plans[0].perS > 0);
    assert.equal(measured, undefined);
  });
});

Deno.test("shoal plan --check says what it measured, and of a plan that is far off that it is", async () => {
  const files = {
    "trace.csv": TRACE,
    // Cells that take 10 ns: nobody's do.
    "quick.json": JSON.stringify({
      ...PROFILE,
      host: { taskNs: [[1, 0]], turnNs: [[1, 0]], requestNs: 0 },
      tablesNs: { lstm_step: [[1, 10], [8, 10]] },
    }),
  };
  await inFolder(files, async (path) => {
    const run = (...more: string[]) =>
      captured(() =>
        main([
          ...["plan", path("quick.json"), "--trace", path("trace.csv")],
          ...["--slo-ms", "0.001", "--requests", "200", "--policy", "serial"],
          ...["--check", ...more],
        ])
      );
    const { code, out, err } = await run();
    assert.equal(code, 0, err);
    assert.match(
      out,
      /Measured on what was held back: not even \d+\/s keeps the target, in \d+ runs\./,
    );
    const { plans, best, measured } = JSON.parse((await run("--json")).out);
    assert.equal(measured.perS, undefined);
    assert.equal(measured.runs[0].perS, plans[best].perS);
    assert.equal(measured.leastPerS, plans[best].perS / 4);
  });
});

Deno.test("texts that are drawn as the profile's were may be longer than those that it looked at, others not", async () => {
  const options = { layers: 1, hidden: 8, heads: 2, vocabulary: 11 };
  const files = {
    "trace.csv": TRACE,
    "bert.json": JSON.stringify({
      ...PROFILE,
      ...{ model: "bert", options },
      tokens: { least: 60, mean: 70, most: 80 },
      tablesNs: { "*": [[1, 500_000], [8, 2_000_000]] },
    }),
  };
  await inFolder(files, async (path) => {
    const run = (...more: string[]) =>
      captured(() =>
        main([
          ...["plan", path("bert.json"), "--trace", path("trace.csv")],
          ...["--slo-ms", "20", "--requests", "300", "--policy", "serial"],
          ...more,
        ])
      );
    const { code, err } = await run();
    assert.equal(code, 0, err);
    const others = await run("--lengths", "glue.cola");
    assert.equal(others.code, 2);
    assert.match(others.err, /rows of \d+ tokens.*the profile has 60 to 80/);
  });
});

Deno.test("a machine twice as fast is one whose profile has half the times of cells, and the host's as they are", async () => {
  const profileOf = (rowNs: number) =>
    JSON.stringify({
      ...PROFILE,
      // Half of what a task takes is between it and the one before.
      host: {
        taskNs: [[1, 50_000]],
        turnNs: [[1, 50_000]],
        requestNs: 1000,
      },
      tablesNs: { lstm_step: [[1, rowNs], [8, 4 * rowNs]] },
    });
  const files = {
    "trace.csv": TRACE,
    "one.json": profileOf(100_000),
    "fast.json": profileOf(50_000),
  };
  await inFolder(files, async (path) => {
    const { out } = await captured(() =>
      main([
        ...["plan", path("one.json"), path("fast.json"), "--slo-ms", "30"],
        ...["--trace", path("trace.csv"), "--requests", "300"],
        ...["--policy", "cellular", "--json"],
      ])
    );
    const [one, fast] = JSON.parse(out).plans;
    const { perS } = one.otherwise[2];
    assert(Math.abs(perS / fast.perS - 1) < 0.05, `${perS} ${fast.perS}`);
  });
});

Deno.test("shoal plan says why it has no figure for a target that requests are too few for", async () => {
  await inFolder(FILES, async (path) => {
    const { code, out } = await captured(() =>
      main([
        ...["plan", path("one.json"), "--trace", path("trace.csv")],
        ...["--slo-ms", "30", "--requests", "240", "--policy", "serial"],
      ])
    );
    assert.equal(code, 0);
    const words = out.replace(/\s+/g, " ");
    assert.match(words, /one\.json 1 serial [\d.]+ [\d.]+ –/);
    assert.match(
      words,
      /one\.json, target 60 ms: 240 requests are too few for a target of 60 ms/,
    );
  });
});

Deno.test("a profile that cannot be planned with is told beside the plans of others", async () => {
  await inFolder(FILES, async (path) => {
    const run = (...more: string[]) =>
      captured(() =>
        main([
          ...["plan", path("slow.json"), path("one.json"), path("hole.json")],
          ...["--trace", path("trace.csv"), "--slo-ms", "30"],
          ...["--requests", "300", "--policy", "serial", ...more],
        ])
      );
    const { code, out } = await run();
    assert.equal(code, 0);
    const words = out.replace(/\s+/g, " ");
    assert.match(words, /slow\.json: 99 % within 30\.0 ms is not kept at any/);
    assert.match(words, /hole\.json: not measured: .* "lstm_step"\./);
    const { plans, best, refused } = JSON.parse((await run("--json")).out);
    assert.equal(plans.length, 1);
    assert.equal(best, 0);
    assert.equal(plans[0].profile, path("one.json"));
    assert.deepEqual(
      refused.map(({ profile }: { profile: string }) => profile),
      [path("slow.json"), path("hole.json")],
    );
  });
});

Deno.test("shoal plan says in one line what cannot be planned", async () => {
  await inFolder(FILES, async (path) => {
    for (
      const [args, message] of [
        [[], /PROFILE is missing/],
        [["one.json"], /--trace is missing/],
        [["one.json", "--trace", "trace.csv"], /--slo-ms is missing/],
        [["old.json", "--trace", "trace.csv", ...ASKED], /old\.json.*model/],
        [
          ["spread.json", "--trace", "trace.csv", ...ASKED],
          /spread\.json.*stretches.*make the profile anew/s,
        ],
        [
          ["few.json", "--trace", "trace.csv", ...ASKED],
          /few\.json.*no speed of each of 2 workers/,
        ],
        [["no.json", "--trace", "trace.csv", ...ASKED], /no\.json/],
        [["one.json", "--trace", "one.json", ...ASKED], /expected the header/],
        [
          ["one.json", "gru.json", "--trace", "trace.csv", ...ASKED],
          /gru\.json is of another model/,
        ],
        [
          ["hole.json", "--trace", "trace.csv", ...ASKED],
          /hole\.json: not measured: the profile has no cell "lstm_step"/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...ASKED, "--slo-ms", "0.1"],
          /99 % within 0\.100 ms is not kept at any rate/,
        ],
        [
          [
            ...["slow.json", "--trace", "trace.csv", ...ASKED],
            ...["--policy", "serial", "--slo-ms", "1200"],
            ...["--percentile", "99.99"],
          ],
          /99\.99 % within 1200 ms is not kept .* alone takes 4\d{4} ms/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...QUICK, "--slo-ms", "2000"],
          /one\.json: 600 requests are too few for a target of 2000 ms/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...ASKED, "--slo-ms", "soon"],
          /--slo-ms is a positive number.*"soon"/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...ASKED, "--slo-ms", "4e-7"],
          /--slo-ms is a nanosecond or more, which is 0\.000001, got "4e-7"/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...ASKED, "--policy", "best"],
          /--policy "best" does not exist/,
        ],
        [
          ["one.json", "--trace", "trace.csv", ...ASKED, "--lengths", "tale"],
          /No corpus "tale"/,
        ],
        ...["size", "size-max", "shape", "cells"].map((option) =>
          [
            ["one.json", "--trace", "trace.csv", ...ASKED, `--${option}=x=3`],
            new RegExp(`--${option} goes with a file; see shoal plan --help`),
          ] as const
        ),
      ] as const
    ) {
      const named = args.map((arg) =>
        /\.(json|csv)$/.test(arg) ? path(arg) : arg
      );
      const { code, err } = await captured(() => main(["plan", ...named]));
      assert.equal(code, 2, args.join(" "));
      assert.match(err, message);
      assert(!err.trim().split("\n").at(-1)!.includes("    at "));
    }
  });
});

Deno.test("a larger machine's profile is planned with, and its workers are not started here", async () => {
  const workers = threadsMax() + 1;
  const large = JSON.stringify({
    ...PROFILE,
    workers,
    stretches: [{ speed: Array(workers).fill([1000]), pauses: [] }],
  });
  await inFolder({ "large.json": large, "trace.csv": TRACE }, async (path) => {
    const asked = [path("large.json"), "--trace", path("trace.csv"), ...QUICK];
    const { values, positionals } = readOptions({
      ...{ name: "plan", help: "", positionalsMax: 1, options: PLAN_OPTIONS },
    }, asked)!;
    const settings = await planSettings("plan", positionals, values);
    const [profile] = settings.profiles;
    assert.equal(profile.machine.workers, workers);
    const choice = { policy: "serial", options: {} };
    // What a check reads of a plan; at this rate all come at once.
    const plan = { profile, perS: 1e9, choice } as unknown as MachinePlan;
    await assert.rejects(
      measuredPlan("plan", plan, settings.heldBack, settings, values),
      {
        name: "UsageError",
        message:
          /^the plan is for \d+ workers, and on this machine \d+ are the most/,
      },
    );
  });
});

Deno.test("plan and tune have all of their options in their help", async () => {
  for (const name of ["plan", "tune"]) {
    const { out } = await captured(() => main([name, "--help"]));
    for (const option of Object.keys(PLAN_OPTIONS)) {
      assert.match(out, new RegExp(`^  --${option} `, "m"), name);
    }
  }
});

Deno.test("shoal tune writes what shoal serve reads, and leaves what else there is", async () => {
  await inFolder(FILES, async (path) => {
    mkdirSync(path("served"));
    const file = join(path("served"), "shoal.json");
    const args = ["tune", path("two.json"), "--trace", path("trace.csv")];
    const missing = await captured(() => main([...args, ...QUICK]));
    assert.equal(missing.code, 2);
    assert.match(missing.err, /--out DIR is missing/);
    // What is in the way is said before anything is computed.
    const under = await captured(() =>
      main([...args, ...QUICK, "--out", join(path("one.json"), "x")])
    );
    assert.equal(under.code, 2);
    assert.match(under.err, /^shoal: Cannot make the folder/);
    const tune = async (settings: unknown) => {
      writeFileSync(file, JSON.stringify(settings));
      return await captured(() =>
        main([...args, ...QUICK, "--out", path("served"), "--json"])
      );
    };
    const unknown = await tune({ port: 1234, ports: 2 });
    assert.equal(unknown.code, 2);
    assert.match(unknown.err, /^shoal: \S+shoal\.json: .*"ports"/);
    rmSync(file);
    symlinkSync(path("nowhere/shoal.json"), file);
    const nowhere = await captured(() =>
      main([...args, ...QUICK, "--out", path("served")])
    );
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.err, /^shoal: Cannot write \S+shoal\.json/);
    rmSync(file);
    // What it writes anew may be anything.
    const policy = { name: "of old" };
    const { code, out } = await tune({ port: 1234, slo_ms: -5, policy });
    assert.equal(code, 0);
    const written = readFileSync(file, "utf8");
    assert.equal(out.trim(), written.trim());
    const settings = readSettings(path("served"), {});
    assert.equal(settings.port, 1234);
    assert.equal(settings.slo_ms, 30);
    assert.equal(settings.workers, 2);
    assert.equal(settings.max_batch_size, 8);
    assert(["auto", "cellular", "serial"].includes(settings.policy.name));
  });
});
