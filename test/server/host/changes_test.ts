/** What a host says of its engines while models come and go, and of changes that are none. */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";

const ENGINE = { workers: 0, warmUp: false } as const;
const model = lstm({ hidden: 6, vocabulary: 10 });
const [first, second] = ["1", "2"].map((version) =>
  servedTokens(model, { name: "sentences", version })
);

Deno.test("a host's figures have the requests of versions that were replaced, and engines until they are closed", async () => {
  let isHeld = true;
  const host = await EngineHost.create({
    models: [first],
    engine: ENGINE,
    policy() {
      const policy = cellular();
      const { schedule } = policy;
      return {
        ...policy,
        schedule: (view) =>
          isHeld
            ? { kind: "wait", untilNs: view.nowNs + 1e6, why: "held" }
            : schedule.call(policy, view),
      };
    },
  });
  const counts: number[][] = [];
  const count = () => counts.push([host.engines, host.active]);
  const asked = host.run(first, { tokens: [3, 1, 4] });
  await host.change(() => [second]);
  count();
  isHeld = false;
  await asked;
  while (host.engines > 1) await new Promise((r) => setTimeout(r));
  const closed = host.close();
  count();
  await closed;
  count();
  assert.deepEqual(counts, [[2, 1], [1, 0], [0, 0]]);
});

Deno.test("a change to what are no served models says so, and changes nothing", async () => {
  const host = await EngineHost.create({
    models: [first],
    engine: ENGINE,
    policy: () => cellular(),
  });
  const lost = () => Promise.reject(new Error("lost"));
  for (
    const [edit, message] of [
      [lost, /"edit" of a host's change returned a promise/],
      [() => undefined, /"models" is an array, got undefined/],
      [() => [first, null], /"models\[1\]" is a served model, .*, got null/],
    ] as const
  ) {
    await assert.rejects(host.change(edit as never), {
      name: "TypeError",
      message,
    });
  }
  assert.equal(host.find("sentences"), first);
  assert.equal(host.engines, 1);
  await host.close();
});

Deno.test("a host's policy that is made by an async function is refused, whatever becomes of it", async () => {
  await assert.rejects(
    EngineHost.create({
      models: [first],
      engine: ENGINE,
      policy: () => Promise.reject(new Error("lost")) as never,
    }),
    /"policy" of a host returned a promise/,
  );
});
