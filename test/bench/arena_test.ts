/** The arena: what is searched for, who wins, and that nothing is computed twice. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARRIVALS } from "../../bench/arena/arrivals.ts";
import { SETTINGS_MAX, settingsOf } from "../../src/plan/policy_settings.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { Ground } from "../../bench/arena/match.ts";
import type { Cell } from "../../bench/arena/messages.ts";
import { arenaPages } from "../../bench/arena/page.ts";
import { standing } from "../../bench/arena/standing.ts";
import { Prng } from "../../src/base/prng.ts";

Deno.test("arrivals of every kind ascend, at the mean rate", () => {
  for (const [name, timesNs] of Object.entries(ARRIVALS)) {
    const times = timesNs({
      requests: 40_000,
      ratePerS: 50,
      prng: new Prng(3).fork("arrivals"),
    });
    assert.equal(times.length, 40_000, name);
    for (let i = 1; i < times.length; i++) assert(times[i] >= times[i - 1]);
    const ratePerS = times.length / (times[times.length - 1] / 1e9);
    assert(ratePerS > 47 && ratePerS < 53, `${name}: ${ratePerS}`);
  }
});

Deno.test("nobody has more settings than the budget", () => {
  for (const name of Object.keys(POLICIES)) {
    const settings = settingsOf(name);
    assert(settings.length >= 1 && settings.length <= SETTINGS_MAX, name);
  }
});

/** Nothing is kept here. */
const codeOf = () => "";

const score = (meanMs: number, inTime: number) => ({
  meanMs,
  p50Ms: meanMs,
  p99Ms: meanMs,
  perS: 1,
  inTime: [0, inTime, 1, 1],
  workUs: 1,
  rowsSeen: 1,
});
const cell = (target: Cell["target"]): Cell => ({
  scenario: { device: "npu", workload: "lstm", arrivals: "poisson", load: 0.6 },
  target,
  aloneNs: 1e6,
  capacityPerS: 10,
  entries: [
    { policy: "late", setting: {}, scores: [score(4, 0.7), score(6, 0.9)] },
    { policy: "graph", setting: {}, scores: [score(3, 0.4), score(3, 0.4)] },
  ],
});

Deno.test("with a target the share in time decides, without one the mean latency", () => {
  const [first, second] = standing(cell("normal"));
  assert.equal(first.policy, "late");
  assert.equal(first.figure, 0.8);
  assert.equal(second.ratio, 0.5);
  const [fastest, slower] = standing(cell("none"));
  assert.equal(fastest.policy, "graph");
  assert.equal(fastest.figure, 3);
  assert.equal(fastest.spread, 0);
  assert.equal(slower.ratio, 5 / 3);
  // Two runs that differ by 2: Student's t of one degree of freedom.
  assert(Math.abs(slower.spread - 12.71) < 0.01);
});

Deno.test("the heat map leads to every cell", async () => {
  const pages = await arenaPages({
    cells: [cell("normal"), cell("none")],
    requests: 1,
    runs: 2,
    seed: 1,
    seconds: 0,
  });
  const links = [...pages["arena.html"].matchAll(/href="([^"#]+)#([^"]+)"/g)];
  assert.equal(links.length, 2);
  for (const [, file, anchor] of links) {
    assert(pages[file].includes(`id="${anchor}"`), `${file}#${anchor}`);
  }
});

Deno.test("a match searches on other seeds than it is judged on, for the better setting", async () => {
  const keys: Record<string, unknown>[] = [];
  const ground = new Ground(
    { device: "npu", workload: "lstm" },
    undefined,
    { requests: 60, runs: 2, seed: 5 },
    (key, compute) => {
      keys.push(key);
      return Promise.resolve(compute());
    },
    codeOf,
  );
  const entry = await ground.match(
    "cellular",
    { device: "npu", workload: "lstm", arrivals: "poisson", load: 1.2 },
    "none",
  );
  const runs = keys.filter(({ policy }) => policy !== undefined);
  const searched = runs.filter(({ run }) => run === "search");
  assert.deepEqual(
    searched.map(({ setting }) => setting),
    settingsOf("cellular"),
  );
  assert.deepEqual(
    runs.filter(({ run }) => run !== "search").map(({ run, setting }) => [
      run,
      setting,
    ]),
    [["run 0", entry.setting], ["run 1", entry.setting]],
  );
  // On an NPU a step of 64 takes little longer than one of 8.
  assert.equal(entry.setting["batchSizeMax"], 64);
  assert.equal(ground.obstacle("graph"), undefined);
});

Deno.test("a policy that does not know the target is run once for all of them", async () => {
  const known = new Map<string, unknown>();
  let computed = 0;
  const ground = new Ground(
    { device: "npu", workload: "lstm" },
    undefined,
    { requests: 20, runs: 1, seed: 5 },
    (key, compute) => {
      const name = JSON.stringify(key);
      if (!known.has(name)) {
        computed++;
        known.set(name, compute());
      }
      return Promise.resolve(known.get(name) as ReturnType<typeof compute>);
    },
    codeOf,
  );
  await ground.facts();
  const scenario = {
    device: "npu",
    workload: "lstm",
    arrivals: "poisson",
    load: 0.6,
  };
  const runsOf = async (policy: string) => {
    computed = 0;
    for (const target of ["tight", "normal"] as const) {
      await ground.match(policy, scenario, target);
    }
    return computed;
  };
  assert.equal(await runsOf("serial"), 1);
  assert.equal(
    await runsOf("deferred"),
    2 * (settingsOf("deferred").length + 1),
  );
});

Deno.test("deno task arena: what was computed is not computed again", async () => {
  const out = mkdtempSync(join(tmpdir(), "arena-"));
  try {
    const run = async () => {
      const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "bench/arena/arena.ts",
          ...["--quick", "--device", "npu", "--workload", "lstm,treelstm"],
          ...["--policy", "serial,graph,late", "--requests", "20", "--json"],
          ...["--out", out],
        ],
        cwd: new URL("../..", import.meta.url),
      }).output();
      const text = new TextDecoder().decode(stderr);
      assert.equal(code, 0, text);
      const computed = [...text.matchAll(/: (\d+) runs computed/g)]
        .reduce((sum, [, count]) => sum + Number(count), 0);
      return { computed, result: JSON.parse(new TextDecoder().decode(stdout)) };
    };
    const first = await run();
    assert(first.computed > 0);
    assert.equal(first.result.cells.length, 2 * 2 * 2);
    // Padding cannot do trees.
    for (const { scenario, entries } of first.result.cells as Cell[]) {
      const names = entries.map(({ policy }) => policy);
      assert.equal(names.includes("graph"), scenario.workload === "lstm");
    }
    assert(existsSync(join(out, "npu-treelstm.html")));
    assert.match(readFileSync(join(out, "arena.html"), "utf8"), /late/);
    const second = await run();
    assert.equal(second.computed, 0);
    const sorted = (cells: Cell[]) =>
      cells.map((one) => JSON.stringify(one)).sort();
    assert.deepEqual(sorted(second.result.cells), sorted(first.result.cells));
  } finally {
    rmSync(out, { recursive: true });
  }
});
