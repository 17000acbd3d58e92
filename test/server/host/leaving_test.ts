/** A host that is about to end, and takes requests still. */
import assert from "node:assert/strict";
import type { HostState } from "../../../src/server/host/host_state.ts";
import { LoadAgent } from "../../../src/server/observe/load_agent.ts";
import { inferBody, withServer } from "../serving_host.ts";

const INFER = "/v2/models/intents/infer";

Deno.test("a server that leaves is not ready, serves as before, and asks clients to leave", async () => {
  await withServer({}, async (ask, server) => {
    const { host } = server;
    const states: HostState[] = [];
    const told = async () => {
      states.push(host.state);
      const infer = await ask(INFER, { method: "POST", body: inferBody() });
      const { outputs } = await infer.json();
      const ready = await ask("/v2/health/ready");
      const model = await ask("/v2/models/intents/ready");
      return {
        ...{
          outputs,
          statuses: [infer, ready, model].map(({ status }) => status),
        },
        closes: [infer, ready].map(({ headers }) => headers.get("connection")),
      };
    };
    const before = await told();
    assert.deepEqual(before.statuses, [200, 200, 200]);
    assert.deepEqual(before.closes, [null, null]);
    server.leave();
    const leaving = await told();
    assert.deepEqual(leaving.statuses, [200, 503, 503]);
    assert.deepEqual(leaving.closes, ["close", "close"]);
    assert(leaving.outputs);
    assert.deepEqual(leaving.outputs, before.outputs);
    assert.equal(new LoadAgent().line(host.state), "drain\n");
    // Models may come and go as long as requests are taken.
    await host.change((models) => models.slice(0, 1));
    server.leave();
    const closed = server.close();
    // It does not come back.
    server.leave();
    assert.deepEqual((await told()).statuses, [503, 503, 503]);
    await closed;
    server.leave();
    await told();
    assert.deepEqual(states, ["serving", "leaving", "draining", "closed"]);
  });
});
