/**
 * A process of its own, with `--expose-gc`: says how many models are held that were served once, by a server with all
 * observers there are, when each has answered a request and was replaced.
 */
import { setImmediate } from "node:timers/promises";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { AccessLog } from "../../../src/server/observe/access_log.ts";
import { createServer } from "../../../src/server/server.ts";
import { inferBody } from "../serving_host.ts";

const MODELS = 20;

const { gc } = globalThis as unknown as { gc(): void };
const monitor = new Monitor({ compatible: ["triton", "tei"] });
const host = await EngineHost.create({
  policy: () => cellular(),
  engine: { workers: 0, warmUp: false, slotBytes: 2 ** 20 },
  admission: new CostAdmission({ sloMs: 10_000 }),
  observers: monitor.observers,
});
const server = createServer(host, {
  monitor,
  observers: [new AccessLog(() => {})],
});
const models: WeakRef<object>[] = [];
let answered = 0;

async function serveAnother(version: string): Promise<void> {
  const model = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
  models.push(new WeakRef(model));
  await host.change(() => [servedTokens(model, { name: "m", version })]);
  const response = await server.fetch(
    new Request("http://localhost/v2/models/m/infer", {
      method: "POST",
      body: inferBody([3, 1, 4]),
    }),
  );
  if (response.ok) answered++;
  await response.text();
}

for (let i = 0; i < MODELS; i++) await serveAnother(`${i}`);
await host.change(() => []);
while (host.engines > 0) await setImmediate();
// A reference that was looked at holds until the turn is over.
for (let i = 0; i < 3; i++) {
  await setImmediate();
  gc();
}
const held = models.filter((model) => model.deref()).length;
console.log(JSON.stringify({ models: models.length, answered, held }));
await server.close();
