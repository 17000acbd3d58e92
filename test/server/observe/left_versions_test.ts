/** What is kept of versions that are served no more: of the last ones all, of others nothing. */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { createServer } from "../../../src/server/server.ts";
import { LiveFeed } from "../../../src/server/page/live_feed.ts";
import { samples } from "./samples.ts";

const model = lstm({ hidden: 2, vocabulary: 10, head: "classifier" });
/** A policy that batches it, and none of its versions. */
const refused = lstm({ hidden: 2, vocabulary: 10, head: "classifier" });
const VERSIONS = 50;

function versionOf(version: number, of = model): ServedModel {
  return servedTokens(of, { name: "m", version: `${version}` });
}

/** A host whose figures are all there are. */
async function served() {
  const monitor = new Monitor({ compatible: ["triton"] });
  const held = { isHeld: false };
  const host = await EngineHost.create({
    policy() {
      const policy = cellular();
      const { schedule } = policy;
      return {
        ...policy,
        supports: (of) => of === refused ? "it is refused" : undefined,
        schedule: (view) =>
          held.isHeld
            ? { kind: "wait", untilNs: view.nowNs + 1e6, why: "held" }
            : schedule.call(policy, view),
      };
    },
    engine: { workers: 0, warmUp: false, slotBytes: 2 ** 20 },
    observers: monitor.observers,
  });
  const server = createServer(host, { monitor });
  return {
    host,
    /** Whether requests wait, whatever comes. */
    held,
    /** Values of a figure by the version's number. */
    async figures(name: string): Promise<Map<number, number>> {
      const response = await server.fetch(
        new Request("http://localhost/metrics"),
      );
      const found = Object.entries(samples(await response.text(), name));
      return new Map(
        found.map(([labels, value]) => [
          Number(/version="(\d+)"/.exec(labels)![1]),
          value,
        ]),
      );
    },
    /** Serves a version alone, and has a request answered. */
    async serve(one: ServedModel): Promise<void> {
      await host.change(() => [one]);
      await host.run(one, { tokens: [1] });
      while (host.engines > 1) await new Promise((r) => setTimeout(r));
    },
    async [Symbol.asyncDispose]() {
      held.isHeld = false;
      await server.close();
    },
  };
}

Deno.test("of versions that left the last ones are told of, and no others; who comes back counts on, or anew", async () => {
  await using server = await served();
  const all = Array.from({ length: VERSIONS }, (_, i) => versionOf(i));
  for (const one of all) await server.serve(one);
  const names = [
    ...["shoal_requests_served_total", "shoal_requests_running"],
    ...["shoal_request_seconds_count", "shoal_batch_size_count"],
    "nv_inference_request_success",
  ];
  for (const name of names) {
    const told = [...(await server.figures(name)).keys()];
    // The one that is served, 32 before it, and the one that left last.
    assert.deepEqual(told, all.slice(-34).map(({ version }) => +version), name);
  }
  const first = all[0];
  const oldest = all[16];
  assert.equal(server.host.statistics.of(oldest).success.count, 1);
  assert.equal(server.host.statistics.of(first).success.count, 0);
  for (const one of [oldest, first, first]) await server.serve(one);
  const counts = await server.figures("shoal_requests_served_total");
  assert.equal(counts.get(0), 2);
  assert.equal(counts.get(16), 2);
  assert.equal(server.host.statistics.of(oldest).success.count, 2);
});

Deno.test("versions that could not be served leave as others do, and take nothing from those that are", async () => {
  await using server = await served();
  const there = versionOf(1000);
  await server.serve(there);
  for (let i = 0; i < VERSIONS; i++) {
    const change = server.host.change(() => [there, versionOf(i, refused)]);
    await assert.rejects(change, /it is refused/);
  }
  const told = await server.figures("nv_inference_request_success");
  assert.equal(told.size, 1 + 32);
  assert.equal(told.get(1000), 1);
  assert.equal(server.host.statistics.of(there).success.count, 1);
});

Deno.test("a version whose requests go on is not forgotten, however many come and go meanwhile", async () => {
  await using server = await served();
  const { host, held } = server;
  // Another one of its label has left before.
  const [before, first] = [versionOf(0), versionOf(0)];
  for (const one of [before, first]) await server.serve(one);
  held.isHeld = true;
  const asked = host.run(first, { tokens: [1] });
  for (let i = 1; i < VERSIONS; i++) await host.change(() => [versionOf(i)]);
  const running = await server.figures("shoal_requests_running");
  assert.equal(running.get(0), 1);
  held.isHeld = false;
  await asked;
  assert.equal((await server.figures("shoal_requests_running")).get(0), 0);
});

Deno.test("a version that is served again is not forgotten, however many come and go beside it", async () => {
  await using server = await served();
  const back = versionOf(0);
  for (const one of [back, versionOf(1)]) await server.serve(one);
  for (let i = 1; i < VERSIONS; i++) {
    await server.host.change(() => [back, versionOf(i)]);
  }
  assert.equal(server.host.statistics.of(back).success.count, 1);
});

Deno.test("the page has curves of cells of models that are there", async () => {
  const feed = new LiveFeed();
  const cells = ["a", "shared", "b"].map((name) => ({
    ...model.cells[0],
    name,
  }));
  const [first, second] = [cells.slice(0, 2), cells.slice(1)].map((of, i) => ({
    ...versionOf(i),
    model: { ...model, cells: of },
  }));
  const { task } = feed.engine(0, [first, second], "cellular");
  for (const { name: cell } of cells) {
    task!({ nodes: [] } as never, {
      ...{ worker: 0, cell, rows: 1, padding: 0, startNs: 0, endNs: 1 },
    } as never);
  }
  feed.forget(first);
  const reader = feed.read().getReader();
  const text = new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  const { curves } = JSON.parse(text.slice("data: ".length));
  assert.deepEqual(Object.keys(curves), ["shared", "b"]);
});
