/** `shoal simulate` and `shoal explain` as somebody who compares policies uses them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { captured } from "./captured.ts";

const CONFIG = {
  model: { name: "lstm" },
  policies: [{ name: "serial" }],
  workload: {
    requests: 3,
    arrivals: { kind: "interval", ratePerS: 1 },
    lengths: { fixed: 2 },
  },
  cost: { constantNs: 1e9 },
};

const folder = mkdtempSync(join(tmpdir(), "shoal-simulate-"));
globalThis.addEventListener(
  "unload",
  () => rmSync(folder, { recursive: true }),
);

function saved(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function shoal(command: string, config: unknown, ...options: string[]) {
  const path = saved("config.json", JSON.stringify(config));
  return captured(() => main([command, "--config", path, ...options]));
}

Deno.test("a trace is a file, or its text", async () => {
  const csv = "t_seconds,input_tokens,output_tokens\n0,1,1\n10,1,2\n35,3,1\n";
  const file = saved("trace.csv", csv);
  const replayed = (arrivals: unknown) =>
    shoal("simulate", {
      ...CONFIG,
      workload: { arrivals, lengths: { fixed: 2 } },
    }, "--json");
  const { code, out } = await replayed({ kind: "trace", file });
  assert.equal(code, 0);
  // The last of three requests comes after 35 s and takes two steps.
  assert.equal(JSON.parse(out).runs[0].metrics.durationNs, 37e9);
  assert.equal((await replayed({ kind: "trace", csv })).out, out);

  const refused = async (arrivals: unknown, message: RegExp) => {
    const { code, err } = await replayed(arrivals);
    assert.equal(code, 2);
    assert.match(err, message);
  };
  await refused(
    { kind: "trace" },
    /"trace" have a "file", or its text as "csv"; "file" is undefined/,
  );
  await refused(
    { kind: "trace", file: join(folder, "none.csv") },
    /Cannot read .*none\.csv/,
  );
  await refused(
    { kind: "trace", file: saved("bad.csv", "time\n1\n") },
    /bad\.csv:1: expected the header/,
  );
});

Deno.test("a policy with several settings is told apart, and explained by its number", async () => {
  const windows = {
    ...CONFIG,
    policies: [
      { name: "graph", options: { windowNs: 0 } },
      { name: "serial" },
      { name: "graph", options: { windowNs: 5e8 } },
    ],
  };
  const { out } = await shoal("simulate", windows, "--json");
  const runs: { policy: string }[] = JSON.parse(out).runs;
  assert.deepEqual(runs.map(({ policy }) => policy), [
    "graph-1",
    "serial",
    "graph-2",
  ]);
  const explained = (policy: string) =>
    shoal("explain", windows, "--request", "0", "--policy", policy);
  assert.match((await explained("graph-1")).out, /: 2000 ms in all/);
  assert.match((await explained("graph-2")).out, /: 2500 ms in all/);
  assert.match(
    (await explained("graph")).err,
    /--policy is graph-1 or serial or graph-2, got "graph"/,
  );
});

Deno.test("a table of requests with deadlines says how many were late", async () => {
  // One a second, of two seconds each: the second waits for one, the third for two.
  const { workload } = CONFIG;
  const withDeadline = (deadlineNs?: number) =>
    shoal("simulate", { ...CONFIG, workload: { ...workload, deadlineNs } });
  assert.doesNotMatch((await withDeadline()).out, /late %/);
  const { out } = await withDeadline(2e9);
  assert.match(
    out,
    /policy +spec % +busy % +late %\n.*\nserial +0\.0 +100\.0 +66\.7\n/,
  );
});

/** Whole requests, so many at most, the newest first; of requests that are alike. */
const NEWEST_FIRST = `
export default function newestFirst({ most = 1 } = {}) {
  if (!(most >= 1)) throw new RangeError("most is 1 or more, got " + most);
  const waiting = [];
  return {
    name: "newest-first",
    supports: (model) => model.name === "lstm" ? undefined : "it is no lstm",
    enqueue: (request) => waiting.push(request),
    schedule({ workers }) {
      const worker = workers.find(({ queued }) => queued === 0);
      if (worker === undefined || waiting.length === 0) return { kind: "idle" };
      const batch = waiting.splice(-most);
      const steps = batch[0].graph.nodes.map(({ cell }, i) => ({
        cell,
        nodes: batch.map(({ graph }) => graph.nodes[i]),
      }));
      return { kind: "launch", launch: { worker: worker.id, steps, release: "step", why: "newest" } };
    },
  };
}
`;

Deno.test("a policy of one's own is simulated and explained beside others, by its file's name", async () => {
  const module = saved("mine.mjs", NEWEST_FIRST);
  const config = {
    ...CONFIG,
    policies: [
      { module },
      { name: "serial" },
      { module, options: { most: 3 } },
    ],
    workload: { ...CONFIG.workload, arrivals: { kind: "at-once" } },
  };
  const { out, err, code } = await shoal("simulate", config, "--json");
  assert.equal(code, 0, err);
  const { runs } = JSON.parse(out);
  assert.deepEqual(
    runs.map(({ policy }: { policy: string }) => policy),
    ["mine-1", "serial", "mine-2"],
  );
  const shown = await shoal(
    ...["explain", config, "--request", "2", "--policy", "mine-2"] as const,
  );
  assert.match(shown.out, /newest/, shown.err);
});

Deno.test("a module that makes no policy is told by its name", async () => {
  const said = async (module: string, message: RegExp, options = {}) => {
    const config = { ...CONFIG, policies: [{ module, options }] };
    const { code, out, err } = await shoal("simulate", config);
    assert.deepEqual([code, out], [2, ""], err);
    assert.match(err, message);
  };
  const mine = saved("mine.mjs", NEWEST_FIRST);
  await said(mine, /most is 1 or more, got 0/, { most: 0 });
  await said(join(folder, "none.mjs"), /Cannot read .*none\.mjs: there is no/);
  await said(folder, /Cannot read .*: it is a directory/);
  await said(saved("half.mjs", "export default {"), /Policy .*half\.mjs: /);
  await said(saved("throws.mjs", "throw 7"), /Policy .*throws\.mjs: 7/);
  await said(
    saved("other.mjs", "export const mine = 1"),
    /default export is a function .*, got undefined/,
  );
  await said(
    saved("empty.mjs", "export default () => ({})"),
    /what a policy's function returns/,
  );
});

Deno.test("the list of decisions says all of each: why, notes, padding and the tail", async () => {
  const module = saved(
    "tails.mjs",
    `export default () => {
  const waiting = [];
  return {
    name: "tails",
    supports: () => undefined,
    enqueue: (request) => void waiting.push(request),
    schedule({ nowNs, workers }) {
      if (waiting.length === 0 || workers[0].queued > 0) return { kind: "idle" };
      if (nowNs === 0) return { kind: "wait", untilNs: 7, why: "for the 7th" };
      const request = waiting.shift();
      const [encoder, decoder] = request.model.cells;
      const steps = request.graph.nodes.filter(({ cell }) => cell === encoder)
        .map((node) => ({ cell: encoder, nodes: [node] }));
      const tail = { cells: [decoder], requests: [request] };
      const notes = [{ op: "new", requests: [request.id], why: "it came" }];
      const filled = { paddedRows: 2, paddedLength: 3 };
      const launch = { worker: 0, steps, tail, ...filled, release: "end", why: "7th", notes };
      return { kind: "launch", launch };
    },
  };
};
`,
  );
  const { code, out } = await shoal("simulate", {
    ...CONFIG,
    model: { name: "seq2seq" },
    policies: [{ module }],
    workload: { ...CONFIG.workload, requests: 1 },
    log: true,
  }, "--json");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out).runs[0].decisions, [
    { atNs: 0, kind: "wait", untilNs: 7, why: "for the 7th" },
    {
      ...{ atNs: 7, kind: "launch", launchId: 0, worker: 0, why: "7th" },
      steps: [0, 1].map((node) => ({ cell: "encoder", rows: [[0, node]] })),
      tail: { cells: ["decoder"], requests: [0] },
      ...{ paddedRows: 2, paddedLength: 3, release: "end" },
      notes: [{ op: "new", requests: [0], why: "it came" }],
    },
  ]);
});
