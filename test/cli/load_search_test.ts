/**
 * `shoal load --search` against a `shoal serve` in a process of its own, on virtual time: every request goes to the
 * server and comes back from it, and what it takes there is a queue's with a known capacity. So the rate that is found
 * can be told beforehand, on any machine.
 */
import assert from "node:assert/strict";
import { load } from "../../src/cli/load.ts";
import { httpWire, type HttpWireOptions } from "../../src/load/http_wire.ts";
import type { LoadResult } from "../../src/load/result.ts";
import type { Wire } from "../../src/load/wire.ts";
import { fakeWire } from "../load/fake_wire.ts";
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

Deno.test("shoal load --search tries for as long as enough clients stay", async () => {
  const searched = async (leave: string) => {
    const clock = new VirtualClock();
    const { out, err } = await captured(() =>
      clock.run(load(
        [
          ...["http://localhost", "--search", "--rate", "5", "--slo-ms", "50"],
          ...["--arrivals", "interval", "--percentile", "90", "--json"],
          ...["--seconds", "1", "--warm-up", "1", "--precision", "2"],
          ...["--leave", leave],
        ],
        {
          clock,
          // Most of those who may leave have left by then.
          connect: () =>
            fakeWire(clock, (nth) => ({ tookNs: nth < 500 ? 45e6 : 60e6 })),
          watchMachine: () => () => ({ ownCores: 0, busyShare: 0, cores: 2 }),
        },
      ))
    );
    return { err, ...JSON.parse(out) as LoadResult };
  };
  const { verdict, err } = await searched("0.7");
  assert.equal(verdict?.holds, true, err);
  await assert.rejects(searched("1"), {
    message: /^A trial at 5\.00\/s takes Infinity requests, /,
  });
});
