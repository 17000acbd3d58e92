/** A server that is told to end, in a process of its own, `GRACE_MS LAME_DUCK_MS`: requests take as long as they say. */
import { endOnSignal } from "../../src/cli/serve/ending.ts";
import { cellular } from "../../src/mod.ts";
import { isReady, takesRequests } from "../../src/server/host/host_state.ts";
import {
  createServer,
  EngineHost,
  listen,
  type Protocol,
} from "../../src/server.ts";

/** What `GET /slow/MS` answers after so long, as a request that a host has. */
function slow(under: Set<Promise<void>>): Protocol {
  return {
    name: "slow",
    routes: [{
      method: "GET",
      path: "/slow/{ms}",
      scope: "infer",
      async handle({ host, params }) {
        if (!takesRequests(host.state)) {
          return new Response("", { status: 503 });
        }
        const done = new Promise<void>((resolve) =>
          setTimeout(resolve, Number(params["ms"]))
        );
        under.add(done);
        await done;
        return new Response("done");
      },
    }, {
      method: "GET",
      path: "/ready",
      scope: "open",
      handle: ({ host }) =>
        new Response("", { status: isReady(host) ? 200 : 503 }),
    }],
    errorBody: ({ message }) => ({ message }),
  };
}

const [graceMs, lameDuckMs] = Deno.args.map(Number);
const under = new Set<Promise<void>>();
const host = await EngineHost.create({ policy: () => cellular() });
const server = createServer(host, { protocols: [slow(under)] });
const listener = await listen(server, { port: 0 });
console.log(listener.url);
Deno.exit(
  await endOnSignal({
    server: {
      leave: server.leave,
      async close() {
        const closed = server.close();
        await Promise.all(under);
        await closed;
      },
    },
    listener,
    lameDuckMs,
    graceMs,
    tell: console.log,
  }),
);
