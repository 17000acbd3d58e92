/**
 * One of several servers: `replica.ts PORT AGENT_PORT`. Requests of priority 9 wait until their clients leave. SIGTERM:
 * takes no more requests, answers those it has, ends once balancers have had the time to hear of it.
 */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Admission } from "../../src/server/host/admission.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import { servedTokens } from "../../src/server/models/served_tokens.ts";
import { LoadAgent } from "../../src/server/observe/load_agent.ts";
import { listen } from "../../src/server/runtime/listen.ts";
import { listenAgent } from "../../src/server/runtime/listen_agent.ts";
import { createServer } from "../../src/server/server.ts";

/** Priority of requests that are there, and cost nothing. */
const PARKED = 9;

const admission: Admission = {
  admit({ priority, signal }) {
    if (priority !== PARKED) return () => {};
    return new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason))
    );
  },
};

const [port, agentPort] = process.argv.slice(2).map(Number);
const agent = new LoadAgent({ halfAt: 16 });
const host = await EngineHost.create({
  models: [
    servedTokens(lstm({ hidden: 64, vocabulary: 100 }), { name: "sentences" }),
  ],
  policy: () => cellular(),
  engine: { workers: 0, warmUp: false },
  observers: [agent],
  admission,
});
const server = createServer(host);
const agentListener = await listenAgent(() => agent.line(host.state), {
  port: agentPort,
});
const listener = await listen(server, { port });
process.on("SIGTERM", async () => {
  await server.close();
  await sleep(1000);
  await Promise.all([listener.close(), agentListener.close()]);
  process.exit(0);
});
console.log("listening");
