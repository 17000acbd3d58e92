/**
 * DVABatch under random interleavings: reduction laws, conservation, and a pipeline driven step by step
 * whose buffers a naive observer watches.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type {
  Item,
  Query,
  SplitManner,
} from "../../src/policy/dvabatch/query_table.ts";
import { Pipeline, type Work } from "../../src/policy/dvabatch/pipeline.ts";
import type { DvaSchedule } from "../../src/policy/dvabatch/schedule.ts";
import {
  dvabatch,
  type DvaBatchOptions,
} from "../../src/policy/dvabatch/dvabatch.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy } from "../../src/policy/lazybatching/lazy.ts";
import { propertyRuns } from "../property_runs.ts";
import { letters, simulateStatic, staticChain } from "./static_chain.ts";

const requests = fc.array(fc.nat(6), { minLength: 1, maxLength: 14 }).map(
  (gaps) => {
    let arrivalNs = 0;
    return gaps.map((gap) => ({ arrivalNs: arrivalNs += gap }));
  },
);
const batchSizeMax = fc.integer({ min: 1, max: 5 });
const profile = () => 1;

Deno.test("one stage, window 0, Policy I off, a pair per worker: dvabatch launches what ZeroBatch launches", () => {
  const models = [
    staticChain({ cells: letters(3) }),
    staticChain({ name: "other", cells: ["P"] }),
  ];
  const mixed = fc.tuple(requests, fc.array(fc.boolean(), { minLength: 14 }))
    .map(([requests, other]) =>
      requests.map((request, i) => ({
        ...request,
        model: models[Number(other[i])],
      }))
    );
  fc.assert(
    fc.property(
      mixed,
      batchSizeMax,
      fc.integer({ min: 1, max: 3 }),
      (requests, batchSizeMax, workers) => {
        assert.deepEqual(
          simulateStatic(
            dvabatch({
              stages: 1,
              policy: "none",
              batchSizeMax,
              pairs: workers,
            }),
            models,
            requests,
            { workers },
          ),
          simulateStatic(graph({ batchSizeMax }), models, requests, {
            workers,
          }),
        );
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("one stage per node, stretch only, one slot, one outstanding stretch: dvabatch launches what lazy without nested preemption launches", () => {
  fc.assert(
    fc.property(
      requests,
      batchSizeMax,
      fc.integer({ min: 1, max: 5 }),
      (requests, batchSizeMax, nodes) => {
        const models = [staticChain({ cells: letters(nodes) })];
        assert.deepEqual(
          simulateStatic(
            dvabatch({
              stages: nodes,
              policy: "III",
              batchSizeMax,
              pairs: 2,
              compWaitNs: Infinity,
            }),
            models,
            requests,
          ),
          simulateStatic(
            lazy({
              batchSizeMax,
              nestedPreemption: false,
              slaNs: Infinity,
              profile,
            }),
            models,
            requests,
          ),
        );
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("dvabatch completes every request once, whatever the stages, pairs, workers and costs", () => {
  const options: fc.Arbitrary<DvaBatchOptions> = fc.record({
    batchSizeMax,
    stages: fc.integer({ min: 1, max: 6 }),
    policy: fc.constantFrom("none", "I", "II", "III", "II+III"),
    windowNs: fc.constantFrom(0, 3, 9),
    compWaitNs: fc.constantFrom("profile" as const, 0, 4, Infinity),
    pairs: fc.integer({ min: 1, max: 4 }),
    splitManner: fc.constantFrom("serial", "parallel"),
  });
  fc.assert(
    fc.property(
      requests,
      options,
      fc.integer({ min: 1, max: 7 }),
      fc.array(fc.nat(4), { minLength: 6, maxLength: 6 }),
      fc.boolean(),
      (requests, options, workers, times, isFull) => {
        const model = staticChain({ cells: letters(6) });
        const latencyNs = ({ name }: { name: string }, rows: number) =>
          times[name.charCodeAt(0) - 65] * (isFull ? rows : 1);
        const { departNs } = simulateStatic(
          dvabatch({ ...options, profile: latencyNs }),
          [model],
          requests,
          { workers, cost: { latencyNs } },
        );
        assert.equal(departNs.length, requests.length + 1);
      },
    ),
    { numRuns: propertyRuns(1500) },
  );
});

/** A pipeline, what runs on it, and who owns which buffer, told from the outside. */
interface Stand {
  readonly pipeline: Pipeline;
  /** By split: the queries of each part. */
  readonly splits: (readonly Query[])[][];
  readonly running: Work[];
  arrived: number;
  done: number;
}

/**
 * Buffer `pair` before stage s belongs to the item whose rows it holds. At rest an item owns one; while
 * it runs, that and the one behind. A buffer with two owners is written before it was read, or read
 * before it was written.
 */
function assertOwners({ pipeline, running }: Stand): void {
  const owners = new Map<string, Item>();
  const own = (stage: number, item: Item) => {
    const buffer = `${stage}/${item.pair}`;
    assert(!owners.has(buffer), `buffer ${buffer} has one owner`);
    owners.set(buffer, item);
  };
  const { queues, held } = pipeline.table;
  queues.forEach((queue, stage) => {
    for (const item of queue) if (item.pair >= 0) own(stage, item);
  });
  held.forEach((items, stage) => {
    for (const item of items) own(stage + 1, item);
  });
  for (const { stage, taken, state } of pipeline.executors.flat()) {
    if (taken && state !== "working") own(stage, taken);
  }
  for (const { executor, item } of running) {
    own(executor.stage, item);
    own(executor.stage + 1, item);
  }
}

/** Nobody of a split's later part runs before everybody of the earlier ones has left. */
function assertInTurn({ splits, running }: Stand): void {
  for (const parts of splits) {
    const first = parts.findIndex((part) => part.some(({ ended }) => !ended));
    const later = new Set(parts.slice(first + 1).flat());
    for (const { queries } of running) {
      assert(!queries.some((query) => later.has(query)), "parts run in turn");
    }
  }
}

/** Stretches and splits wherever that is allowed, as drawn. */
function anySchedule(sizes: readonly number[], stretch: boolean): DvaSchedule {
  return {
    admit: ({ waiting, stretchable, canStart }) => {
      const queries = [...waiting];
      if (stretch && stretchable) {
        const taken = queries.slice(0, stretchable.room);
        return { op: "stretch", queries: taken, why: "" };
      }
      if (!canStart) return undefined;
      return { op: "new", groups: [queries.slice(0, 6)], why: "" };
    },
    split: (size, stage) => {
      const first = sizes[(size + stage) % sizes.length];
      return first > 0 && first < size ? [first, size - first] : [size];
    },
  };
}

type Step = { kind: "arrive"; count: number } | {
  kind: "finish";
  which: number;
};

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("arrive" as const),
      count: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ kind: fc.constant("finish" as const), which: fc.nat(9) }),
  ),
  { maxLength: 40 },
);

const stands = fc.record({
  stages: fc.integer({ min: 1, max: 5 }),
  pairs: fc.integer({ min: 1, max: 3 }),
  sizes: fc.array(fc.nat(3), { minLength: 1, maxLength: 5 }),
  stretch: fc.boolean(),
  splitManner: fc.constantFrom("serial" as const, "parallel" as const),
  steps,
});

interface Drawn {
  stages: number;
  pairs: number;
  sizes: number[];
  stretch: boolean;
  splitManner: SplitManner;
  steps: Step[];
}

/** Drives a pipeline until all that arrived is done. */
function drive(drawn: Drawn, tamper: (pipeline: Pipeline) => void): void {
  const model = staticChain({ cells: letters(drawn.stages) });
  const pipeline = new Pipeline({
    id: 0,
    stages: model.cells.map((cell) => [cell]),
    schedule: anySchedule(drawn.sizes, drawn.stretch),
    pairs: drawn.pairs,
    batchSizeMax: 6,
    workers: drawn.stages,
    splitManner: drawn.splitManner,
  });
  tamper(pipeline);
  const stand: Stand = {
    pipeline,
    splits: [],
    running: [],
    arrived: 0,
    done: 0,
  };
  const { table } = pipeline;
  const split = table.split.bind(table);
  table.split = (stage, item, sizes) => {
    const items = split(stage, item, sizes);
    stand.splits.push(items.map(({ batch }) => batch.queries));
    return items;
  };
  const start = () => {
    for (;;) {
      const busy = new Set(
        stand.running.map(({ executor }) => executor.worker),
      );
      const next = pipeline.next(0, (worker) => !busy.has(worker));
      if (!next || !("item" in next)) break;
      stand.running.push(next);
      assertOwners(stand);
    }
    if (drawn.pairs === 1) {
      assert(stand.running.length <= 1, "one pair: serial");
    }
    if (drawn.splitManner === "serial") assertInTurn(stand);
  };
  const finish = (which: number) => {
    const { length } = stand.running;
    if (length === 0) return;
    const [work] = stand.running.splice(which % length, 1);
    pipeline.finish(work);
    if (work.executor.stage === drawn.stages - 1) {
      for (const query of work.queries) {
        assert(!query.ended, "a query leaves once");
        query.ended = true;
        stand.done++;
      }
    }
    assertOwners(stand);
  };
  for (const step of drawn.steps) {
    if (step.kind === "arrive") {
      for (let i = 0; i < step.count; i++) {
        const request = { id: stand.arrived++ } as Query["request"];
        pipeline.waiting.push({ request, batched: false, ended: false });
      }
    } else finish(step.which);
    start();
  }
  while (stand.running.length > 0) {
    finish(0);
    start();
  }
  assert.equal(stand.done, stand.arrived, "nobody is left");
}

Deno.test("no buffer is written before it is read or read before it is written, and nobody is left", () => {
  fc.assert(fc.property(stands, (drawn) => drive(drawn, () => {})), {
    numRuns: propertyRuns(2000),
  });
});

const FAULTS: Record<string, (pipeline: Pipeline) => void> = {
  "an input buffer counts as available while it is invalid": ({ pairs }) => {
    pairs.isLegitimate = (stage, pair) =>
      !pairs.state(stage, pair).startsWith("in-") &&
      !pairs.state(stage + 1, pair).startsWith("in-");
  },
  "the executor before may go on as soon as this one has finished": (
    { pairs },
  ) => {
    const finish = pairs.finish.bind(pairs);
    pairs.finish = (stage, pair) => {
      finish(stage, pair);
      pairs.makeAvailable(stage - 1, pair);
      pairs.makeAvailable(stage, pair);
    };
  },
  "an output buffer is written while it is read": ({ pairs }) => {
    pairs.isLegitimate = (stage, pair) =>
      pairs.state(stage, pair) === "available";
    pairs.occupy = () => {};
  },
};

for (const [fault, tamper] of Object.entries(FAULTS)) {
  Deno.test(`a seeded fault is caught: ${fault}`, () => {
    const { failed } = fc.check(
      fc.property(stands, (drawn) => drive(drawn, tamper)),
      { numRuns: 2000, seed: 1, endOnFailure: true },
    );
    assert(failed);
  });
}
