/**
 * `shoal load --search` against a `shoal serve` in a process of its own, on virtual time: every request goes to the
 * server and comes back from it, and what it takes there is a queue's with a known capacity. So the rate that is found
 * can be told beforehand, on any machine.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { load } from "../../src/cli/load.ts";
import { httpWire, type HttpWireOptions } from "../../src/load/http_wire.ts";
import type { LoadResult } from "../../src/load/result.ts";
import type { Wire } from "../../src/load/wire.ts";
import { fakeWire, type Served } from "../load/fake_wire.ts";
import { VirtualClock } from "../load/virtual_clock.ts";
import { scaleFile, TestFolder } from "../server/repository/folders.ts";
import { captured } from "./captured.ts";
import { LISTENING, Running } from "./serving_process.ts";

const SERVICE_NS = 10e6;
const CAPACITY_PER_S = 1e9 / SERVICE_NS;
const SLO_MS = 50;

/** Connections to a real server, whose answers come when a queue with one place to be served has done them. */
function queuedWire(
  clock: VirtualClock,
  options: HttpWireOptions,
  statuses: number[],
): Wire {
  const wire = httpWire(options);
  let freeNs = 0;
  return {
    async send(request, { wantsText } = {}) {
      const sentNs = clock.nowNs();
      const answer = await clock.hold(
        wire.send(request, wantsText ? { wantsText } : {}),
      );
      statuses.push(answer.status);
      const endNs = freeNs = Math.max(sentNs, freeNs) + SERVICE_NS;
      await clock.until(endNs);
      return { ...answer, firstNs: endNs, endNs };
    },
    close: () => wire.close(),
  };
}

Deno.test("shoal load --search finds what a shoal serve holds", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  folder.write("shoal.json", { workers: 0 });
  await using running = new Running(["-A"], [folder.path, "--port", "0"]);
  const url = await running.until(LISTENING);
  const clock = new VirtualClock();
  const statuses: number[] = [];
  const { code, out, err } = await captured(() =>
    clock.run(load(
      [
        ...[url, "--protocol", "oip", "--model", "scale", "--search"],
        ...["--rate", "40", "--arrivals", "interval", "--slo-ms", `${SLO_MS}`],
        ...["--percentile", "90", "--seconds", "10", "--warm-up", "1"],
        ...["--precision", "0.05", "--json"],
      ],
      {
        clock,
        connect: (options) => queuedWire(clock, options, statuses),
        watchMachine: () => () => ({ ownCores: 0, busyShare: 0, cores: 2 }),
      },
    ))
  );
  assert.notEqual(out, "", err);
  const { trials, isValid, requests, ends } = JSON.parse(out) as
    & LoadResult
    & { trials: { ratePerS: number; holds: boolean }[] };
  assert.equal(code, 0, err);
  assert(isValid && ends.completed === requests && requests >= 900, err);
  // All of them were answered, by the server.
  assert(statuses.length > 1000 && statuses.every((status) => status === 200));
  const rates = (holds: boolean) =>
    trials.filter((trial) => trial.holds === holds)
      .map(({ ratePerS }) => ratePerS);
  const most = Math.max(...rates(true));
  // Equally spaced, they hold up to the capacity and, as the queue grows, not a percent beyond it.
  assert(most <= 1.01 * CAPACITY_PER_S, `${most} of ${CAPACITY_PER_S}`);
  assert(1.05 * most >= CAPACITY_PER_S, `${most} of ${CAPACITY_PER_S}`);
  assert(Math.min(...rates(false)) <= 1.05 * most, `${rates(false)}`);
  running.signal("SIGTERM");
  assert.equal(await running.ended, 0, running.err);
});

/** A search against a server that does not exist. */
async function searched(
  args: readonly string[],
  serve: (nth: number) => Served,
) {
  const clock = new VirtualClock();
  const { code, out, err } = await captured(() =>
    clock.run(load(
      [
        ...["http://localhost", "--search", "--slo-ms", "50", "--json"],
        ...["--percentile", "90", "--warm-up", "1", ...args],
      ],
      {
        clock,
        connect: () => fakeWire(clock, serve),
        watchMachine: () => () => ({ ownCores: 0, busyShare: 0, cores: 2 }),
      },
    ))
  );
  const told = JSON.parse(out) as
    & LoadResult
    & { trials: { ratePerS: number; holds: boolean; result: LoadResult }[] };
  const [whole] = told.checks;
  return { ...told, code, err, whole };
}

Deno.test("shoal load --search tries for as long as enough clients stay", async () => {
  const leaving = (leave: string) =>
    searched(
      [
        ...["--rate", "5", "--arrivals", "interval", "--seconds", "1"],
        ...["--precision", "2", "--leave", leave],
      ],
      // Most of those who may leave have left by then.
      (nth) => ({ tookNs: nth < 500 ? 45e6 : 60e6 }),
    );
  const { verdict, err } = await leaving("0.7");
  assert.equal(verdict?.holds, true, err);
  await assert.rejects(leaving("1"), {
    message: /^A trial at 5\.00\/s takes Infinity requests, /,
  });
});

Deno.test("shoal load --search that is interrupted tells of the trials before", async () => {
  const interrupted = (at: number) =>
    searched(
      ["--rate", "40", "--arrivals", "interval", "--seconds", "10"],
      (nth) => {
        if (nth === at) process.emit("SIGINT");
        return { tookNs: nth < 2000 ? 45e6 : 60e6 };
      },
    );
  const late = await interrupted(2500);
  assert.deepEqual(
    late.trials.slice(0, 3).map(({ ratePerS, holds }) => [ratePerS, holds]),
    [[40, true], [80, true], [160, false]],
  );
  // The one that was under way says nothing.
  assert(late.trials.every(({ ratePerS }) => ratePerS > 100 || ratePerS <= 80));
  assert.match(late.err, /95\.1\/s was stopped: /);
  assert.equal(late.requests, 800);
  assert.equal(late.verdict?.holds, true);
  assert.deepEqual(late.whole, {
    ...{ name: "whole", ok: false },
    found: "the search ended before its end: it was stopped",
  });
  assert(!late.isValid && late.code === 1);
  // The trial itself is as valid as it was.
  assert(late.trials[1].result.isValid);
  // Where there is none, what there is of the first.
  const early = await interrupted(100);
  assert.equal(early.trials.length, 1);
  assert(early.requests < 100 && !early.isValid && early.code === 1);
});

Deno.test("shoal load --search tells of the trials before one that a trace is too short for", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-search-"));
  try {
    const trace = join(folder, "short.csv");
    const lines = Array.from({ length: 600 }, (_, i) => `${i / 10},1,1`);
    const header = "t_seconds,input_tokens,output_tokens";
    writeFileSync(trace, [header, ...lines].join("\n"));
    const { trials, whole, code } = await searched(
      ["--rate", "40", "--arrivals", trace, "--seconds", "60"],
      () => ({ tookNs: 45e6 }),
    );
    assert(trials.length > 1 && trials.every(({ holds }) => holds));
    assert.match(
      whole.found,
      /^the search ended before its end: .*short\.csv \S+ has \d+ requests behind the warm-up/,
    );
    assert.equal(code, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
