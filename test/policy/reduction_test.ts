/** Reduction laws: with degenerate options a policy launches what a simpler one launches. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { bucketed } from "../../src/policy/baselines/bucketed.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { late } from "../../src/policy/late_batching/late.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { propertyRuns } from "../property_runs.ts";
import { type ChainRequest, simulateChain } from "./timeline.ts";

const LONGEST = 8;

/** Requests to a one-cell model, in order of arrival, executed on one worker. */
const requests: fc.Arbitrary<ChainRequest[]> = fc.array(
  fc.record({ gap: fc.nat(6), length: fc.integer({ min: 1, max: LONGEST }) }),
  { minLength: 1, maxLength: 12 },
).map((drawn) => {
  let arrivalNs = 0;
  return drawn.map(({ gap, length }) => ({
    arrivalNs: arrivalNs += gap,
    length,
  }));
});

const limit = fc.integer({ min: 1, max: 6 });

function sameTimeline(
  left: Policy,
  a: readonly ChainRequest[],
  right: Policy,
  b = a,
): void {
  assert.deepEqual(simulateChain(left, a), simulateChain(right, b));
}

function law(
  name: string,
  check: (requests: ChainRequest[], limit: number) => void,
): void {
  Deno.test(
    name,
    () =>
      fc.assert(fc.property(requests, limit, check), {
        numRuns: propertyRuns(200),
      }),
  );
}

law(
  "one cell, one worker, batch limit 1: graph launches what serial launches",
  (requests) => {
    sameTimeline(graph({ batchSizeMax: 1 }), requests, serial());
  },
);

law(
  "one cell, one worker, batch limit 1: late launches what serial launches, however far ahead",
  (requests, ahead) => {
    sameTimeline(
      late({ batchSizeMax: 1, pushAhead: ahead }),
      requests,
      serial(),
    );
  },
);

law(
  "one cell, one worker, batch limit 1: cellular launches what serial launches",
  (requests, tasks) => {
    sameTimeline(
      cellular({ batchSizeMax: 1, maxTasksToSubmit: tasks }),
      requests,
      serial(),
    );
  },
);

law(
  "one cell, one worker, batch limit 1: merged launches what serial launches",
  (requests) => {
    sameTimeline(merged({ batchSizeMax: 1 }), requests, serial());
  },
);

law(
  "bucketed with one bucket is graph with every request as long as the bucket's edge",
  (requests, limit) => {
    const padded = requests.map((request) => ({ ...request, length: LONGEST }));
    const timing = ({ departNs, tasks }: ReturnType<typeof simulateChain>) => ({
      departNs,
      launches: tasks.filter((_, i) => i % LONGEST === 0).map((
        { startNs, requests },
      ) => [startNs, requests]),
      tasks: tasks.length,
    });
    assert.deepEqual(
      timing(
        simulateChain(
          bucketed({ bucketWidth: LONGEST, batchSizeMax: limit }),
          requests,
        ),
      ),
      timing(simulateChain(graph({ batchSizeMax: limit }), padded)),
    );
  },
);

law(
  "requests of one length: merged launches what graph with window 0 launches",
  (requests, limit) => {
    const equal = requests.map((request) => ({ ...request, length: 5 }));
    sameTimeline(
      merged({ batchSizeMax: limit }),
      equal,
      graph({ batchSizeMax: limit }),
    );
  },
);

law(
  "one cell, one worker, one task at a time: cellular launches what late launches",
  (requests, limit) => {
    sameTimeline(
      cellular({ batchSizeMax: limit, maxTasksToSubmit: 1 }),
      requests,
      late({ batchSizeMax: limit, pushAhead: 1 }),
    );
  },
);
