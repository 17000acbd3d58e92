/** E2bird: worked examples to the digit, the slot ring against a naive model, reduction laws. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  combinations,
  engineConfiguration,
  RES152_CONFIGURATIONS,
  searchConfigurations,
  workerSizes,
} from "../../src/policy/e2bird/offline.ts";
import { SlotRing } from "../../src/policy/e2bird/slot_ring.ts";
import {
  IdleWorkers,
  totalBatchSize,
  workerCounts,
} from "../../src/policy/e2bird/idle_workers.ts";
import { eEbird } from "../../src/policy/e2bird/e_ebird.ts";
import type { Launch } from "../../src/policy/launch.ts";
import { nEbird } from "../../src/policy/e2bird/n_ebird.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { propertyRuns } from "../property_runs.ts";
import { letters, simulateStatic, staticChain } from "./static_chain.ts";

const model = staticChain({ cells: letters(2) });

/** Sizes of the launches at each time, in order. */
function launches(
  policy: Policy,
  arrivals: readonly number[],
  workers: number,
): Map<number, number[]> {
  const sizes = new Map<number, number[]>();
  simulateStatic(
    policy,
    [model],
    arrivals.map((arrivalNs) => ({ arrivalNs })),
    {
      workers,
      observer: {
        decided: (atNs, { paddedRows }: Launch) =>
          sizes.set(atNs, [...sizes.get(atNs) ?? [], paddedRows!]),
      },
    },
  );
  return sizes;
}

Deno.test("E2bird Fig. 10: of 12 inputs the worker of 8 takes the first 8 and the worker of 4 the others", () => {
  // Assumption: the figure's workers of 16 (if any) are too large for 12; MaxInf does not bind.
  const at0 = launches(nEbird(), new Array(12).fill(0), 6).get(0);
  assert.deepEqual(at0, [8, 4]);
});

Deno.test("E2bird section 7.2.1: workers 1, 1, 2, 4, 8, 16 compose every load up to 32", () => {
  assert.equal(totalBatchSize(workerCounts("", [1, 1, 2, 4, 8, 16])), 32);
  for (let load = 1; load <= 32; load++) {
    const sizes = launches(nEbird(), new Array(load).fill(0), 6).get(0)!;
    assert.equal(sizes.reduce((sum, size) => sum + size), load);
  }
});

Deno.test("n-ebird launches within min(N, MaxInf - CurInf) only", () => {
  const policy = nEbird({ workers: [1, 2, 4, 8], maxInf: 9 });
  assert.deepEqual(launches(policy, new Array(12).fill(0), 4).get(0), [8, 1]);
});

Deno.test("E2bird Table 4: the engine that has every mix is [1,1,2,2,1,0]", () => {
  assert.deepEqual(engineConfiguration(RES152_CONFIGURATIONS), [
    1,
    1,
    2,
    2,
    1,
    0,
  ]);
  for (const [total, counts] of Object.entries(RES152_CONFIGURATIONS)) {
    assert.equal(totalBatchSize(counts), Number(total));
  }
});

Deno.test("E2bird Eq. 6: combinations() lists every way to make up TotalBS once", () => {
  for (const totalBS of [1, 4, 7, 32]) {
    const found = combinations(totalBS, 6);
    assert(found.every((counts) => totalBatchSize(counts) === totalBS));
    assert.equal(new Set(found.map(String)).size, found.length);
  }
  // Binary partitions of 32: 202 of them.
  assert.equal(combinations(32, 6).length, 202);
  assert.equal(combinations(4, 6).length, 4);
});

Deno.test("searchConfigurations() keeps the mix with the lowest mean latency", () => {
  // Workers slow each other down by their number; large ones are slow by themselves.
  const latenciesNs = (sizes: readonly number[]) =>
    sizes.map((size) => size * size + 10 * sizes.length);
  const found = searchConfigurations({ totals: [4, 8], sizes: 4, latenciesNs });
  const naive = (totalBS: number) =>
    Math.min(
      ...combinations(totalBS, 4).map((counts) => {
        const latencies = latenciesNs(workerSizes(counts));
        return latencies.reduce((sum, ns) => sum + ns) / latencies.length;
      }),
    );
  for (const total of [4, 8]) {
    const latencies = latenciesNs(workerSizes(found[total]));
    assert.equal(
      latencies.reduce((sum, ns) => sum + ns) / latencies.length,
      naive(total),
    );
  }
});

const requests = fc.array(fc.nat(5), { minLength: 1, maxLength: 20 }).map(
  (gaps) => {
    let arrivalNs = 0;
    return gaps.map((gap) => ({ arrivalNs: arrivalNs += gap }));
  },
);
const workers = fc.integer({ min: 1, max: 6 });

Deno.test("one worker of size 1: n-ebird launches what serial launches", () => {
  fc.assert(
    fc.property(requests, (requests) => {
      assert.deepEqual(
        simulateStatic(nEbird({ workers: [1] }), [model], requests),
        simulateStatic(serial(), [model], requests),
      );
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("a constant configuration: e-ebird launches what n-ebird with these workers launches", () => {
  const counts = fc.tuple(
    fc.integer({ min: 1, max: 2 }),
    fc.integer({ min: 1, max: 2 }),
    fc.nat(2),
    fc.nat(1),
  );
  fc.assert(
    fc.property(requests, counts, workers, (requests, counts, workers) => {
      const maxInf = totalBatchSize(counts);
      const configurations = { 4: counts, [maxInf + 8]: counts };
      assert.deepEqual(
        simulateStatic(eEbird({ configurations, maxInf }), [model], requests, {
          workers,
        }),
        simulateStatic(
          nEbird({ workers: workerSizes(counts) }),
          [model],
          requests,
          {
            workers,
          },
        ),
      );
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("e-ebird leaves nobody waiting while a worker of its configuration that fits is idle", () => {
  const configurations = {
    2: [0, 1],
    4: [0, 0, 1],
    8: [1, 1, 1],
    16: [0, 2, 1, 1],
  };
  const maxInf = 16;
  fc.assert(
    fc.property(requests, (requests) => {
      const policy = eEbird({ configurations, maxInf });
      const busy = new Map<Launch, number>();
      let waiting = 0;
      const check = () => {
        const curInf = [...busy.values()].reduce((sum, size) => sum + size, 0);
        const [, counts] = Object.entries(configurations).find(([total]) =>
          Number(total) >= waiting
        ) ?? [, configurations[16]];
        const defaults = [1, 1, 0, 0];
        const most = Math.min(waiting, maxInf - curInf);
        for (let n = 0; 2 ** n <= most && n < 4; n++) {
          const has = Math.max(counts[n] ?? 0, defaults[n]);
          const used = [...busy.values()].filter((size) =>
            size === 2 ** n
          );
          assert(
            used.length >= has,
            `${most} may start, but a worker of ${2 ** n} is idle`,
          );
        }
      };
      const watched: Policy = {
        ...policy,
        enqueue(request) {
          waiting++;
          policy.enqueue(request);
        },
        schedule(view) {
          const decision = policy.schedule(view);
          if (decision.kind === "launch") {
            busy.set(decision.launch, decision.launch.paddedRows!);
            waiting -= decision.launch.paddedRows!;
          } else check();
          return decision;
        },
        finished(launch) {
          busy.delete(launch);
          policy.finished!(launch);
        },
      };
      simulateStatic(watched, [model], requests, { workers: 16 });
      assert.equal(waiting, 0);
    }),
    { numRuns: propertyRuns(500) },
  );
});

/** The ring as plain lists. */
interface RingModel {
  readonly capacity: number;
  /** Entries that wait, in order; undefined: a hole. */
  waiting: (number | undefined)[];
  places: Map<number, number>;
  batches: number[][];
  next: number;
}

type RingCommand = fc.Command<RingModel, SlotRing<number>>;

const push: RingCommand = {
  check: () => true,
  run(model, ring) {
    if (ring.isFull) return;
    const entry = model.next++;
    model.places.set(entry, ring.push(entry));
    model.waiting.push(entry);
    assert.equal(ring.ready, model.waiting.length);
  },
  toString: () => "push",
};

class Take implements RingCommand {
  constructor(readonly count: number) {}
  check = (model: RingModel) => model.waiting.length >= this.count;
  run(model: RingModel, ring: SlotRing<number>) {
    const { places, entries } = ring.take(this.count);
    const expected = model.waiting.splice(0, this.count);
    assert.deepEqual(entries, expected.filter((entry) => entry !== undefined));
    // A batch is a slice of neighbours.
    places.forEach((place, i) => assert.equal(place, places[0] + i));
    model.batches.push(places);
    while (model.waiting.length > 0 && model.waiting[0] === undefined) {
      model.waiting.shift();
    }
    assert.equal(ring.ready, model.waiting.length);
  }
  toString = () => `take(${this.count})`;
}

class Release implements RingCommand {
  constructor(readonly which: number) {}
  check = (model: RingModel) => model.batches.length > 0;
  run(model: RingModel, ring: SlotRing<number>) {
    const at = this.which % model.batches.length;
    for (const place of model.batches.splice(at, 1)[0]) ring.release(place);
    if (model.batches.length === 0 && model.waiting.length === 0) {
      assert(!ring.isFull, "an empty ring has room");
    }
  }
  toString = () => `release(${this.which})`;
}

class Cancel implements RingCommand {
  constructor(readonly which: number) {}
  check = (model: RingModel) => model.waiting.some((e) => e !== undefined);
  run(model: RingModel, ring: SlotRing<number>) {
    const alive = model.waiting.filter((entry) => entry !== undefined);
    const entry = alive[this.which % alive.length];
    ring.cancel(model.places.get(entry)!);
    model.waiting[model.waiting.indexOf(entry)] = undefined;
    while (model.waiting.length > 0 && model.waiting[0] === undefined) {
      model.waiting.shift();
    }
    while (model.waiting.length > 0 && model.waiting.at(-1) === undefined) {
      model.waiting.pop();
    }
    assert.equal(ring.ready, model.waiting.length);
  }
  toString = () => `cancel(${this.which})`;
}

Deno.test("the slot ring hands out neighbours in order, wraps around, takes slots back in any order", () => {
  const commands = fc.commands([
    fc.constant(push),
    fc.constant(push),
    fc.integer({ min: 1, max: 4 }).map((count) => new Take(count)),
    fc.nat(9).map((which) => new Release(which)),
    fc.nat(9).map((which) => new Cancel(which)),
  ], { maxCommands: 60 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 7 }),
      commands,
      (capacity, commands) => {
        fc.modelRun(() => ({
          model: {
            capacity,
            waiting: [],
            places: new Map(),
            batches: [],
            next: 0,
          },
          real: new SlotRing<number>(capacity),
        }), commands);
      },
    ),
    { numRuns: propertyRuns(1000) },
  );
});

Deno.test("the idle queue picks the largest idle worker that fits", () => {
  const queue = new IdleWorkers([1, 1, 0, 2]);
  assert.equal(queue.largestIdle(0), 0);
  assert.equal(queue.largestIdle(7), 2);
  assert.equal(queue.largestIdle(100), 8);
  queue.remove(8);
  queue.remove(8);
  assert.equal(queue.largestIdle(100), 2);
  queue.add(8);
  assert.equal(queue.largestIdle(100), 8);
  queue.configure([0, 1]);
  assert.equal(queue.largestIdle(100), 2);
});

Deno.test("n-ebird and e-ebird name what is wrong with their options", () => {
  assert.throws(() => nEbird({ workers: [1, 3] }), /sizes 1, 2, 4.*got 3/);
  assert.throws(() => nEbird({ workers: [2, 4] }), /worker of size 1/);
  assert.throws(() => nEbird({ maxInf: 0 }), RangeError);
  assert.throws(() => eEbird({ configurations: {} }), RangeError);
  assert.throws(() => eEbird({ configurations: { 4: [-1] } }), RangeError);
  assert.throws(() => eEbird({ configurations: { 0: [1] } }), RangeError);
  assert.throws(
    () => eEbird({ memState: "busy" as "pending" }),
    /"memState" of policy "e-ebird" is "pending" or "unanswered", got "busy"/,
  );
});

Deno.test("the idle queue, bits and all, is the paper's sorted queue", () => {
  const counts = fc.array(fc.nat(2), { minLength: 1, maxLength: 6 });
  const operation = fc.oneof(
    fc.record({ op: fc.constant("configure" as const), counts }),
    fc.record({ op: fc.constant("start" as const), most: fc.nat(70) }),
    fc.record({ op: fc.constant("finish" as const), which: fc.nat(9) }),
  );
  fc.assert(
    fc.property(counts, fc.array(operation), (first, operations) => {
      const queue = new IdleWorkers(first);
      let configured = first;
      const busy: number[] = [];
      /** Sizes of idle workers, the largest first. */
      const idle = () =>
        configured.flatMap((count, n) => {
          const used = busy.filter((size) => size === 2 ** n).length;
          return new Array<number>(Math.max(0, count - used)).fill(2 ** n);
        }).reverse();
      for (const each of operations) {
        if (each.op === "configure") {
          queue.configure(configured = each.counts);
        } else if (each.op === "start") {
          const size = idle().find((size) => size <= each.most) ?? 0;
          assert.equal(queue.largestIdle(each.most), size);
          if (size === 0) continue;
          queue.remove(size);
          busy.push(size);
        } else if (busy.length > 0) {
          queue.add(busy.splice(each.which % busy.length, 1)[0]);
        }
      }
    }),
    { numRuns: propertyRuns(500) },
  );
});
