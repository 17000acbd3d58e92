/** The arena: what is searched for, who wins, and that nothing is computed twice. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARRIVALS } from "../../bench/arena/arrivals.ts";
import { SETTINGS_MAX, settingsOf } from "../../src/plan/policy_settings.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { policyFiles, sourcesWithoutPolicies } from "../../bench/arena/code.ts";
import { DECISIONS, firstDecisions } from "../../bench/arena/decisions.ts";
import { frameArrivals } from "../../bench/arena/frames.ts";
import { Ground } from "../../bench/arena/match.ts";
import { arenaMarkdown } from "../../bench/arena/markdown.ts";
import type { Cell } from "../../bench/arena/messages.ts";
import { arenaPages, logFile, logText } from "../../bench/arena/page.ts";
import { play } from "../../bench/arena/play.ts";
import { spread } from "../../bench/arena/scenario.ts";
import { lead, standing } from "../../bench/arena/standing.ts";
import { streamGroups } from "../../bench/arena/streams.ts";
import { fileURLToPath } from "node:url";
import { Prng } from "../../src/base/prng.ts";
import type { Launch } from "../../src/policy/launch.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";

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

Deno.test("nobody's batches may have more than 64 rows", () => {
  for (const [name, { options }] of Object.entries(POLICIES)) {
    const settings = settingsOf(name);
    // Who has nothing to be set has 64 rows by default.
    if (!("batchSizeMax" in options) || settings.length === 1) continue;
    for (const setting of settings) {
      const most = setting.batchSizeMax as number;
      assert(most >= 1 && most <= 64, `${name}: ${JSON.stringify(setting)}`);
    }
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
  // Nobody in time, and slow: no less than nothing, so infinitely far behind.
  const slow = { policy: "late", setting: {}, scores: [score(1e4, 0)] };
  const [none] = standing({ ...cell("tight"), entries: [slow] });
  assert.equal(none.figure, 0);
  const [fastest, slower] = standing(cell("none"));
  assert.equal(fastest.policy, "graph");
  assert.equal(fastest.figure, 3);
  assert.equal(fastest.spread, 0);
  assert.equal(slower.ratio, 5 / 3);
  // Two runs that differ by 2: Student's t of one degree of freedom.
  assert(Math.abs(slower.spread - 12.71) < 0.01);
});

Deno.test("an interval over many runs is Student's as well, not the normal distribution's", () => {
  // By degrees of freedom, of tables of t at 97.5 %.
  for (const [freedom, t] of [[9, 2.262], [10, 2.228], [20, 2.086]]) {
    const count = freedom + 1;
    const scores = Array.from(
      { length: count },
      (_, i) => score(5 + (i % 2) * 2, 1),
    );
    const [{ spread }] = standing({
      ...cell("none"),
      entries: [{ policy: "late", setting: {}, scores }],
    });
    const ones = Math.floor(count / 2);
    const squares = 4 * ones * (count - ones) / count;
    const expected = t * Math.sqrt(squares / freedom / count);
    assert(Math.abs(spread / expected - 1) < 5e-4, `${freedom}: ${spread}`);
  }
});

Deno.test("a cell is told as ours beside the best other", () => {
  const ours = (target: Cell["target"], meanMs: number, inTime: number) => ({
    ...cell(target),
    entries: [
      ...cell(target).entries,
      { policy: "auto", setting: {}, scores: [score(meanMs, inTime)] },
    ],
  });
  assert.equal(lead(cell("none")), undefined);
  assert.deepEqual(lead(ours("normal", 3, 0.4)), {
    factor: 0.5,
    rival: "late",
  });
  assert.deepEqual(lead(ours("none", 2, 0)), { factor: 1.5, rival: "graph" });
  const text = arenaMarkdown([
    ours("none", 2, 0),
    ours("none", 3.1, 0),
    ours("normal", 3, 0.4),
  ]);
  assert.match(text, /\| All +\| 3 \| 2 \| 1 \| 0\.97 \| 0\.50 \|/);
  assert.match(text, /\| lstm \| normal \| P 0\.50 late \|/);
  assert.match(text, /\| P 1\.50 graph<br>P 0\.97 graph \|/);
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
    assert(pages[file].includes(`href="${logFile(cell("none"))}"`));
  }
});

Deno.test("what is run first has every device, workload and load, and every kind of arrivals", () => {
  const names = {
    devices: ["npu", "gpu"],
    workloads: ["lstm", "bert", "unet"],
    arrivals: ["poisson", "bursts", "day"],
    loads: [0.25, 0.6, 0.9, 1.2],
  };
  const lists = spread(names);
  const of = (list: (typeof lists)[0]) =>
    list.map((one) => JSON.stringify(one));
  assert.equal(new Set(lists.flatMap(of)).size, 2 * 3 * 3 * 4);
  assert.equal(lists.flat().length, 2 * 3 * 3 * 4);
  const first = lists.slice(0, 2 * 3);
  assert.deepEqual(
    new Set(first.map(([{ device, workload }]) => `${device} ${workload}`))
      .size,
    2 * 3,
  );
  for (const list of first) {
    assert.deepEqual(list.map(({ load }) => load), names.loads);
    assert.deepEqual(
      new Set(list.map(({ arrivals }) => arrivals)),
      new Set(names.arrivals),
    );
  }
});

Deno.test("a policy's code is its own file's and what that imports", () => {
  const root = new URL("../..", import.meta.url).pathname;
  const registry = readFileSync(join(root, "src/policy/registry.ts"), "utf8");
  const files = policyFiles(registry);
  assert.deepEqual([...files.keys()].sort(), Object.keys(POLICIES).sort());
  const sources = sourcesWithoutPolicies(root);
  const common = sources.closure("bench/arena/match.ts");
  assert(common.includes("src/engine/core/engine.ts"));
  assert(!common.some((file) => file.startsWith("src/policy/auto/")));
  for (const [name, file] of files) {
    const closure = sources.closure(file);
    assert.equal(
      closure.some((one) => one.startsWith("src/policy/auto/")),
      name === "auto",
      name,
    );
  }
});

Deno.test("frames come at the rate that is asked for, in order, whatever the kind", () => {
  const groups = streamGroups("small", shapesOnly());
  for (const arrivals of Object.keys(ARRIVALS)) {
    const frames = frameArrivals({
      ...{ groups, arrivals, requests: 40_000, ratePerS: 50_000 },
      aloneNs: 100_000,
      prng: new Prng(3),
    });
    for (let i = 1; i < frames.length; i++) {
      assert(frames[i].arrivalNs >= frames[i - 1].arrivalNs, arrivals);
    }
    const seconds = frames[frames.length - 1].arrivalNs / 1e9;
    const ratio = frames.length / seconds / 50_000;
    assert(ratio > 0.85 && ratio < 1.1, `${arrivals}: ${ratio}`);
    // Four frames of the denoiser to one of the detector.
    const denoised = frames.filter(({ model }) =>
      model === groups[0].frame.model
    );
    const share = denoised.length / frames.length;
    assert(share > 0.75 && share < 0.85, `${arrivals}: ${share}`);
    // What was held back comes at once, from the same source.
    const together = frames.filter(({ stream, arrivalNs }, i) =>
      frames.slice(Math.max(0, i - 20), i).some((one) =>
        one.stream === stream && arrivalNs - one.arrivalNs < 500_000
      )
    ).length;
    assert.equal(
      together > frames.length / 50,
      arrivals === "bursts",
      arrivals,
    );
  }
});

Deno.test("a cell's log has the first decisions, no more are run, and repeats are one line", () => {
  let run = 0;
  const launch = {
    worker: 0,
    steps: [],
    why: "because",
  } as unknown as Launch;
  const lines = firstDecisions("late", (observer) => {
    observer.waited?.(1e6, 2e6, "for more");
    for (let id = 0; id < 1000; id++) {
      run++;
      observer.decided?.(3e6, launch, id);
    }
  });
  assert.equal(run, DECISIONS - 1);
  assert.deepEqual(lines.length, 2);
  assert.match(lines[0], /^1\.000 ms {2}wait until 2\.000 ms: for more$/);
  assert.match(lines[1], /because.*\(59 times\)$/);
  const { entries } = cell("none");
  const text = logText(cell("none"), [{ policy: entries[0].policy, lines }]);
  assert.match(text, /^lstm, NPU.*none/);
  assert.match(text, /\nlate\n1\.000 ms/);
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
    assert(existsSync(join(out, "logs/npu-treelstm/none-poisson-0.9.txt")));
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

Deno.test("what none of the policies can serve is left out, with the reason, and fails nobody", async () => {
  const cache = mkdtempSync(join(tmpdir(), "shoal-arena-"));
  try {
    const unserved: string[] = [];
    const order = {
      ...{ device: "npu", workload: "treelstm", measured: undefined },
      ...{ policies: ["graph", "bucketed"], targets: ["none" as const] },
      scenarios: [cell("none").scenario],
      options: { requests: 20, runs: 1, seed: 1 },
      ...{ untilMs: Infinity, cache },
      root: fileURLToPath(new URL("../..", import.meta.url)),
    };
    const problems = await play([order], {
      jobs: 1,
      onCell: () => assert.fail("nobody plays"),
      onUnserved: ({ workload }, why) => unserved.push(`${workload}: ${why}`),
    });
    assert.deepEqual(problems, []);
    assert.equal(unserved.length, 1);
    assert.match(unserved[0], /^treelstm: graph: .+; bucketed: .+/);
  } finally {
    rmSync(cache, { recursive: true });
  }
});
