/** The open loop, on virtual time, against servers that do not exist. */
import assert from "node:assert/strict";
import { NS_PER_MS, NS_PER_S } from "../../src/base/units.ts";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { timerClock } from "../../src/load/clock.ts";
import { loadText } from "../../src/load/load_text.ts";
import { traceReplay } from "../../src/workload/arrivals.ts";
import { virtualRun } from "./run_load.ts";
import { VirtualClock } from "./virtual_clock.ts";

const MS = NS_PER_MS;

/** Answers in a millisecond, but for a second in which it stands still. */
function stalling(_nth: number, atNs: number) {
  const isStill = atNs >= 4 * NS_PER_S && atNs < 5 * NS_PER_S;
  return { tookNs: isStill ? 5 * NS_PER_S + MS - atNs : MS };
}

Deno.test("a stall shows in the latency of every request that was due while it lasted", async () => {
  const { ledger, result } = await virtualRun({ serve: stalling });
  for (let i = 0; i < 1000; i++) {
    const dueNs = i * 10 * MS;
    const isStill = dueNs >= 4 * NS_PER_S && dueNs < 5 * NS_PER_S;
    const latencyNs = isStill ? 5 * NS_PER_S + MS - dueNs : MS;
    assert.equal(ledger.endNs[i] - ledger.dueNs[i], latencyNs, `request ${i}`);
  }
  // 100 of 1,000: p90 is the last one that is quick, p99 waited for 910 ms.
  assert.equal(result.latency[1].ns, MS);
  assert.equal(result.latency[2].ns, 901 * MS);
});

Deno.test("with one connection the stall is one long exchange, and still a hundred late requests", async () => {
  const { result } = await virtualRun({ serve: stalling, connections: 1 });
  // What a generator that waits for answers sees: all but one request took a millisecond.
  assert.equal(result.service[2].ns, MS);
  assert(result.latency[2].ns > 800 * MS, `${result.latency[2].ns}`);
  const failed = result.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  assert(failed.includes("connections"), failed.join());
});

Deno.test("a generator that is late charges the wait to latency and says so", async () => {
  class Late extends VirtualClock {
    override until(atNs: number, stop?: AbortSignal) {
      return super.until(atNs + 20 * MS, stop);
    }
  }
  const { result } = await virtualRun({
    serve: () => ({ tookNs: MS }),
    clock: new Late(),
    ratePerS: 10,
    seconds: 60,
  });
  assert.equal(result.latency[0].ns, 21 * MS);
  assert.equal(result.service[0].ns, MS);
  assert.equal(result.lag.p99Ns, 20 * MS);
  assert.equal(result.isValid, false);
  const said = result.checks.find(({ name }) => name === "schedule")!;
  assert.match(said.found, /behind its own schedule/);
});

Deno.test("requests are counted by how they end, late ones apart, the warm-up not at all", async () => {
  const answers = [
    { status: 200, tookNs: MS },
    { status: 200, tookNs: 50 * MS },
    { status: 429, tookNs: MS },
    { status: 503, tookNs: MS },
    { status: 500, tookNs: MS },
    { status: 0, error: "ECONNRESET", tookNs: MS },
    { status: 200, error: "the answer was cut off", tookNs: MS },
    { status: 200, tookNs: 5 * NS_PER_S },
    { status: 204, tookNs: MS },
    { status: 404, tookNs: MS },
  ];
  const { result, sent } = await virtualRun({
    // The warm-up's requests would fail.
    serve: (nth) => nth < 100 ? { status: 500, tookNs: MS } : answers[nth % 10],
    warmUpS: 1,
    timeoutNs: NS_PER_S,
    target: { sloNs: 10 * MS, share: 0.99 },
  });
  assert.equal(sent.length, 1100);
  assert.equal(result.requests, 1000);
  assert.deepEqual(result.ends, {
    ...{ completed: 300, refused: 200, failed: 500, left: 0 },
  });
  assert.equal(result.late, 100);
  assert.equal(result.goodputPerS, 20);
  assert.deepEqual(Object.fromEntries(result.reasons), {
    ...{ "status 429": 100, "status 503": 100, "status 500": 100 },
    ...{ "status 404": 100, ECONNRESET: 100, "timed out": 100 },
    "the answer was cut off": 100,
  });
  assert.equal(result.refusal.maxNs, MS);
  assert.equal(result.verdict!.over, 800);
  assert.equal(result.verdict!.holds, false);
});

Deno.test("throughput stands apart from goodput, which may be more", async () => {
  const { result } = await virtualRun({
    serve: () => ({ tookNs: 2 * NS_PER_S }),
    target: { sloNs: 5 * NS_PER_S, share: 0.99 },
  });
  const text = loadText(result, { color: false });
  // What was due in the last two of ten seconds ends behind them.
  assert.match(text, /^completed +1,?000 *$/m);
  assert.match(text, /^throughput while measured +80\.\d *$/m);
  assert.match(text, /^in time \(goodput\) +1,?000 +100 *$/m);
});

Deno.test("clients that leave are neither failures nor late", async () => {
  const { result } = await virtualRun({
    serve: () => ({ tookNs: 100 * NS_PER_S }),
    leaves: 1,
    target: { sloNs: 10 * MS, share: 0.99 },
  });
  assert.equal(result.ends.left, 1000);
  assert.equal(result.verdict!.over, 0);
});

Deno.test("a run of which too few stayed is not valid, rather than not held", async () => {
  // Who leaves does so within a second, all others are in time.
  const { result } = await virtualRun({
    serve: () => ({ tookNs: 1.5 * NS_PER_S }),
    ...{ ratePerS: 15, seconds: 40, leaves: 0.5 },
    target: { sloNs: 2 * NS_PER_S, share: 0.99 },
  });
  const { requests, ends, verdict, checks } = result;
  const stayed = requests - ends.left;
  assert(requests >= 459 && stayed < 459 && stayed === ends.completed);
  assert.equal(verdict!.holds, false);
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  assert.deepEqual(failed, ["requests"]);
  assert.match(
    loadText(result, { color: false }),
    new RegExp(`: 0 of ${stayed} requests were not answered in time`),
  );
});

Deno.test("a client that gives up before there is a connection was never sent", async () => {
  const csv = "t_seconds,input_tokens,output_tokens\n" + "0,1,1\n".repeat(50);
  const { result, sent } = await virtualRun({
    arrivals: traceReplay({ csv }),
    serve: () => ({ tookNs: 100 * NS_PER_S }),
    ...{ connections: 1, timeoutNs: NS_PER_S },
  });
  assert.equal(sent.length, 1);
  assert.equal(result.ends.failed, 50);
});

Deno.test("rates of a trace that ends before the run does are of the time that it took", async () => {
  const lines = Array.from({ length: 501 }, (_, i) => `${i / 500},1,1\n`);
  const csv = "t_seconds,input_tokens,output_tokens\n" + lines.join("");
  const { result } = await virtualRun({
    ...{ arrivals: traceReplay({ csv }), ratePerS: 500, seconds: 20 },
    serve: () => ({ tookNs: MS }),
    target: { sloNs: 10 * MS, share: 0.99 },
  });
  assert.equal(result.seconds, 1);
  assert.equal(result.goodputPerS, 501);
  assert.equal(result.scheduledPerS, 500);
  // A second is too short to say anything, however long it was to be.
  const duration = result.checks.find(({ name }) => name === "duration");
  assert.equal(duration?.ok, false);
});

Deno.test("a stop starts no more requests and waits for those under way", async () => {
  const stop = new AbortController();
  const { ledger, result, sent } = await virtualRun({
    serve: (nth) => {
      if (nth === 99) stop.abort();
      return { tookNs: 30 * MS };
    },
    stop: stop.signal,
  });
  assert.equal(sent.length, 100);
  assert.equal(ledger.ends.filter((end) => end !== 255).length, 100);
  assert.equal(result.checks[0].ok, false);
});

Deno.test("a stop does not wait for when the next request is due", async () => {
  const stop = new AbortController();
  const clock = new VirtualClock();
  clock.at(1e9, () => stop.abort());
  const { ledger } = await virtualRun({
    ...{ clock, ratePerS: 1 / 3600, seconds: 7200, stop: stop.signal },
    serve: () => ({ tookNs: 30 * MS }),
  });
  assert.equal(clock.nowNs(), 1e9);
  assert.deepEqual([...ledger.ends], [0, 255]);
});

Deno.test("a clock of timers tells the time that was asked for, and stops at once", async () => {
  const clock = timerClock(wallNs);
  const startNs = wallNs();
  await clock.until(startNs + 5 * MS);
  assert(wallNs() >= startNs + 5 * MS);
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 5);
  await clock.until(startNs + 3600e9, stop.signal);
  assert(wallNs() < startNs + 60e9);
});

Deno.test("events of a stream give time to the first one and between them", async () => {
  const { result } = await virtualRun({
    serve: (_nth, atNs) => ({
      tookNs: 50 * MS,
      eventsNs: [20, 30, 40, 50].map((ms) => atNs + ms * MS),
    }),
  });
  assert.equal(result.stream!.firstEvent[0].ns, 20 * MS);
  assert.equal(result.stream!.between.maxNs, 10 * MS);
  assert.equal(result.stream!.eventsPerS, 400);
});

Deno.test("a queue that only grows is not valid, whatever its percentiles", async () => {
  // One request at a time, 12 ms each, one every 10 ms.
  let freeNs = 0;
  const { result } = await virtualRun({
    serve(_nth, atNs) {
      freeNs = Math.max(freeNs, atNs) + 12 * MS;
      return { tookNs: freeNs - atNs };
    },
    seconds: 20,
  });
  const failed = result.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  assert(failed.includes("steady"), failed.join());
});

Deno.test("a percentile is named as it was asked for", async () => {
  for (const [asked, least] of [[57, 9], [99.9, 4603], [99.99, 46_050]]) {
    const { result } = await virtualRun({
      serve: () => ({ tookNs: MS }),
      target: { sloNs: 10 * MS, share: asked / 100 },
    });
    const text = loadText(result, { color: false });
    assert(text.includes(` 10.0 ms at p${asked}: 0 of 1,000 `), text);
    const { found } = result.checks.find(({ name }) => name === "requests")!;
    assert(found.includes(`; ${asked} % takes at least ${least} `), found);
  }
});

Deno.test("a good run is valid, and holds its target by MLPerf's rule alone", async () => {
  // Every hundredth request is late: exactly 1 %, which does not prove a p99.
  const run = (every: number) =>
    virtualRun({
      serve: (nth) => ({ tookNs: nth % every === 7 ? 30 * MS : MS }),
      seconds: 20,
      target: { sloNs: 10 * MS, share: 0.99 },
    });
  const percent = (await run(100)).result;
  assert.equal(percent.isValid, true, JSON.stringify(percent.checks));
  assert.deepEqual(percent.verdict, {
    ...{ sloNs: 10 * MS, share: 0.99, over: 20, overMost: 9, holds: false },
  });
  const half = (await run(223)).result;
  assert.equal(half.verdict!.over, 9);
  assert.equal(half.verdict!.holds, true);
});
