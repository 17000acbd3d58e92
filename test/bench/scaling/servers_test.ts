/** Several simulated servers behind one balancer. */
import assert from "node:assert/strict";
import { type Route, ROUTES } from "../../../bench/scaling/route.ts";
import {
  simulateServers,
  type SpreadOptions,
} from "../../../bench/scaling/servers.ts";
import { Prng } from "../../../src/base/prng.ts";
import { LSTM_STEP_V100 } from "../../../src/cost/published.ts";

const lengths = [1, 2, 3, 4, 10, 10, 30];

function route(name: string, servers: number, models = 1): Route {
  return ROUTES[name]({ servers, models, lengths, prng: new Prng(1) });
}

const waiting = (...counts: number[]) => counts.map((waiting) => ({ waiting }));

Deno.test("least waiting is where the fewest wait, any of those that are equal", () => {
  const least = route("least waiting", 3);
  assert.equal(least({ tokens: 1, model: 0 }, waiting(3, 1, 2)), 1);
  const seen = new Set<number>();
  for (let i = 0; i < 50; i++) {
    seen.add(least({ tokens: 1, model: 0 }, waiting(1, 5, 1)));
  }
  assert.deepEqual([...seen].sort(), [0, 2]);
});

Deno.test("by length gives each server the same tokens, the short ones to the first", () => {
  // 60 tokens: 30 are of one request.
  const by = route("by length", 2);
  const to = (tokens: number) => by({ tokens, model: 0 }, waiting(0, 0));
  assert.deepEqual([1, 4, 10].map(to), [0, 0, 0]);
  assert.deepEqual([11, 30, 99].map(to), [1, 1, 1]);
});

Deno.test("by model keeps a model's requests on its own servers", () => {
  const by = route("by model", 4, 2);
  const to = (model: number, ...counts: number[]) =>
    by({ tokens: 1, model }, waiting(...counts));
  assert.equal(to(0, 9, 0, 3, 0), 2);
  assert.equal(to(1, 0, 9, 0, 3), 3);
  assert.equal(
    route("by model", 2, 4)({ tokens: 1, model: 3 }, waiting(0, 9)),
    1,
  );
});

const common: Omit<SpreadOptions, "servers" | "route"> = {
  ...{ policy: "cellular", batchSizeMax: 512, models: 1, ratePerS: 10_000 },
  ...{ requests: 2000, seed: 1, cost: LSTM_STEP_V100 },
  corpus: "europarl-v7.de-en",
};

Deno.test("the same load on four servers makes batches a quarter as large, and four times the work", () => {
  const [one, four] = [1, 4].map((servers) =>
    simulateServers({ ...common, servers, route: "least waiting" })
  );
  assert.equal(four.metrics.requests.done, 2000);
  const rows = one.metrics.batch.meanRows / four.metrics.batch.meanRows;
  assert(rows > 3 && rows < 5, `${rows}`);
  const work = four.deviceNsPerRequest / one.deviceNsPerRequest;
  assert(work > 3 && work < 5, `${work}`);
});

Deno.test("routing by length takes padding away, routing by model the turns", () => {
  const run = (options: Partial<SpreadOptions>) =>
    simulateServers({
      ...common,
      servers: 4,
      route: "least waiting",
      ...options,
    });
  const padded = { policy: "graph", ratePerS: 30_000 };
  assert(
    run({ ...padded, route: "by length" }).metrics.paddingShare <
      0.6 * run(padded).metrics.paddingShare,
  );
  // Four models take turns on a device, so that batches are as large, but each step waits for three others.
  const p50Ns = (route: string) =>
    run({ models: 4, route }).metrics.latency.p50Ns;
  assert(2 * p50Ns("by model") < p50Ns("least waiting"));
});
