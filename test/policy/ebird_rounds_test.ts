/**
 * E2bird's Algorithms 1 and 2 line by line: which workers are launched in a round, of which configuration,
 * for which requests; what MemState, MaxInf and the memory pool's slots decide.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { constantCost } from "../../src/cost/table_cost.ts";
import { eEbird } from "../../src/policy/e2bird/e_ebird.ts";
import { nEbird } from "../../src/policy/e2bird/n_ebird.ts";
import { RES152_CONFIGURATIONS } from "../../src/policy/e2bird/offline.ts";
import type { Launch } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { runSimulated } from "../engine/harness.ts";
import { propertyRuns } from "../property_runs.ts";
import { letters, simulateStatic, staticChain } from "./static_chain.ts";

const model = staticChain({ cells: letters(2) });

/** Worker sizes, and requests by number from 1, launched at each time. */
interface Rounds {
  readonly sizes: Record<number, number[]>;
  readonly requests: Record<number, number[][]>;
  readonly departNs: number[];
}

interface RoundsOptions {
  /** Of the device; default: enough. */
  readonly workers?: number;
  /** Number of the model that a request is for; default: of one model. */
  readonly models?: readonly (typeof model)[];
  /** When requests are cancelled, by number. */
  readonly cancelAtNs?: Readonly<Record<number, number>>;
}

/** Batches take 2 ns each, whatever their size. */
function rounds(
  policy: Policy,
  arrivalsNs: readonly number[],
  { workers = 32, models = [model], cancelAtNs = {} }: RoundsOptions = {},
): Rounds {
  const found: Rounds = { sizes: {}, requests: {}, departNs: [] };
  const { records } = runSimulated({
    models: [...new Set(models)],
    policy,
    workers,
    cost: constantCost(1),
    arrivals: arrivalsNs.map((arrivalNs, i) => ({
      model: models[i % models.length],
      input: {},
      arrivalNs,
      ...(cancelAtNs[i + 1] !== undefined &&
        { cancelAtNs: cancelAtNs[i + 1] }),
    })),
    observer: {
      decided(atNs, { paddedRows, steps }: Launch) {
        (found.sizes[atNs] ??= []).push(paddedRows!);
        (found.requests[atNs] ??= []).push(
          steps[0].nodes.map(({ graph }) => graph.owner!.id + 1),
        );
      },
    },
  });
  for (const { id, endNs } of records) found.departNs[id + 1] = endNs;
  return found;
}

const at0 = (count: number) => new Array<number>(count).fill(0);

Deno.test("E2bird section 8.4: of 32 inputs E-Ebird makes 16, 8, 8 where N-Ebird makes 16, 8, 4, 2, 1, 1", () => {
  assert.deepEqual(rounds(eEbird(), at0(32)).sizes[0], [16, 8, 8]);
  assert.deepEqual(rounds(nEbird(), at0(32)).sizes[0], [16, 8, 4, 2, 1, 1]);
});

Deno.test("E2bird Table 4: every load is served by its own mix, and by what is kept by default", () => {
  const sizes = (load: number) => rounds(eEbird(), at0(load)).sizes[0];
  assert.deepEqual(sizes(1), [1]);
  assert.deepEqual(sizes(3), [2, 1]);
  assert.deepEqual(sizes(4), [4]);
  assert.deepEqual(sizes(8), [8]);
  assert.deepEqual(sizes(12), [8, 4]);
  assert.deepEqual(sizes(16), [8, 4, 4]);
  assert.deepEqual(sizes(40), [16, 8, 8]); // beyond the largest TotalBS its mix serves
});

Deno.test("E2bird Algorithm 2: within a round neither workers nor R are chosen anew, between rounds they are", () => {
  // 20: the mix for 32 makes 16, and 2 and 1 of the defaults. The one that is left finds no worker idle.
  assert.deepEqual(rounds(eEbird(), at0(20)).sizes[0], [16, 2, 1]);
  // 7: the mix for 8 makes 2 and 1; of the four that are left, the next round's mix makes 4.
  assert.deepEqual(rounds(eEbird(), at0(7)).sizes[0], [2, 1, 4]);
});

Deno.test("E2bird section 7.3.3: MemState is what waits, not what is in computation", () => {
  const arrivalsNs = [...at0(8), ...new Array<number>(8).fill(1)];
  // Eight wait: the mix for 8, whose worker of 8 is busy at 1 and too large at 2. With the eight in
  // computation: the mix for 16.
  const pending = rounds(eEbird(), arrivalsNs).sizes;
  assert.deepEqual(pending, { 0: [8], 1: [2, 1], 3: [2, 1], 5: [2] });
  const unanswered =
    rounds(eEbird({ memState: "unanswered" }), arrivalsNs).sizes;
  assert.deepEqual(unanswered, { 0: [8], 1: [4, 4] });
});

Deno.test("a change of the configuration is noted once, with the load it is for", () => {
  const whys: string[] = [];
  simulateStatic(
    eEbird(),
    [model],
    [0, 0, 0, 0, 0, 9].map((arrivalNs) => ({ arrivalNs })),
    {
      workers: 32,
      observer: {
        decided: (_atNs, { notes = [] }: Launch) =>
          whys.push(...notes.map(({ op, why }) => `${op}: ${why}`)),
      },
    },
  );
  // 5 waiting: 2 and 1; 2 left: no worker of the mix for 4, which brings back the first configuration.
  assert.deepEqual(whys, [
    "reconfigure: 5 requests in the pool: workers [1,1,0,1,0,0]",
    "reconfigure: 2 requests in the pool: workers [1,1,1,0,0,0]",
  ]);
});

Deno.test("E2bird Fig. 10: the first eight inputs are one slice of the pool, the other four the next", () => {
  const { requests } = rounds(nEbird(), at0(12));
  assert.deepEqual(requests[0], [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12]]);
});

Deno.test("E2bird Algorithm 1, line 3: alive inferences count against MaxInf until their worker is done", () => {
  const policy = () => nEbird({ workers: [1, 2, 4, 8], maxInf: 9 });
  const { sizes } = rounds(policy(), [...at0(8), 1, 1, 1]);
  // One more may be alive beside the eight; when those are done, eight more: two are left.
  assert.deepEqual(sizes, { 0: [8], 1: [1], 2: [2] });
  const enhanced = eEbird({ configurations: { 8: [1, 1, 1, 1] }, maxInf: 5 });
  assert.deepEqual(rounds(enhanced, at0(8)).sizes, { 0: [4, 1], 2: [2, 1] });
});

Deno.test("E2bird section 5.1: inputs enter the pool when it has a slot, which a batch gives back at its end", () => {
  const engine = { workers: [1, 1, 2, 4], maxInf: 8 };
  const all = rounds(nEbird({ ...engine, slots: 12 }), at0(12)).sizes;
  assert.deepEqual(all, { 0: [4, 2, 1, 1], 2: [4] });
  const few = rounds(nEbird({ ...engine, slots: 5 }), at0(12)).sizes;
  assert.deepEqual(few, { 0: [4, 1], 2: [4, 1], 4: [2] });
});

Deno.test("who gives up in the middle leaves a hole that no batch starts with", () => {
  // 4, 5 and 6 wait while 1 to 3 run; 5 gives up. Of three idle workers the third has nothing to do.
  const { requests } = rounds(nEbird({ workers: [1, 1, 1] }), at0(6), {
    cancelAtNs: { 5: 1 },
  });
  assert.deepEqual(requests, { 0: [[1], [2], [3]], 2: [[4], [6]] });
  const padded = rounds(nEbird({ workers: [1, 2] }), at0(6), {
    cancelAtNs: { 5: 1 },
  });
  assert.deepEqual(padded.sizes, { 0: [2, 1], 2: [2, 1] });
  assert.deepEqual(padded.requests[2], [[4], [6]]);
});

Deno.test("every model has a pool and an engine of its own; they take turns at the device's workers", () => {
  const other = staticChain({ name: "other", cells: letters(2) });
  const { requests } = rounds(
    nEbird({ workers: [1, 1] }),
    at0(8),
    { models: [model, other], workers: 2 },
  );
  assert.deepEqual(requests, {
    0: [[1], [2]],
    2: [[3], [4]],
    4: [[5], [6]],
    6: [[7], [8]],
  });
});

/** What Algorithm 2 launches at one instant, transcribed. */
interface State {
  pending: number;
  /** Sizes of busy workers. */
  busy: number[];
}

interface Rules {
  readonly engineConfs: readonly (readonly [number, readonly number[]])[];
  readonly maxInf: number;
  readonly memState: "pending" | "unanswered";
}

function algorithm2(state: State, rules: Rules): number[] {
  const { engineConfs, maxInf, memState } = rules;
  const run: number[] = [];
  const sum = (sizes: readonly number[]) => sizes.reduce((a, b) => a + b, 0);
  while (true) {
    const before = run.length;
    const load = state.pending +
      (memState === "unanswered" ? sum(state.busy) : 0);
    const curConf = (engineConfs.find(([total]) => total >= load) ??
      engineConfs[engineConfs.length - 1])[1];
    const q: number[] = [];
    for (let n = Math.max(curConf.length, 2) - 1; n >= 0; n--) {
      const kept = Math.max(curConf[n] ?? 0, n < 2 ? 1 : 0);
      const busy = state.busy.filter((size) => size === 2 ** n).length;
      for (let i = busy; i < kept; i++) q.push(2 ** n);
    }
    let r = Math.min(state.pending, maxInf - sum(state.busy));
    for (const worker of q) {
      if (r < worker) continue;
      run.push(worker);
      state.busy.push(worker);
      state.pending -= worker;
      r -= worker;
    }
    if (run.length === before) return run;
  }
}

Deno.test("e-ebird launches what Algorithm 2, transcribed, launches", () => {
  const counts = fc.array(fc.nat(2), { minLength: 1, maxLength: 5 });
  const scenario = fc.record({
    engineConfs: fc.uniqueArray(
      fc.tuple(fc.integer({ min: 1, max: 20 }), counts),
      {
        minLength: 1,
        maxLength: 4,
        selector: ([total]) => total,
      },
    ).map((confs) => confs.sort(([a], [b]) => a - b)),
    maxInf: fc.integer({ min: 1, max: 24 }),
    memState: fc.constantFrom("pending" as const, "unanswered" as const),
    bursts: fc.array(
      fc.record({
        gapNs: fc.integer({ min: 1, max: 6 }),
        count: fc.integer({ min: 1, max: 12 }),
      }),
      { minLength: 1, maxLength: 8 },
    ),
    perRowNs: fc.nat(3),
  });
  fc.assert(
    fc.property(scenario, ({ bursts, perRowNs, ...rules }) => {
      const { engineConfs, maxInf, memState } = rules;
      const policy = eEbird({
        configurations: Object.fromEntries(engineConfs),
        maxInf,
        memState,
        slots: 500,
      });
      const state: State = { pending: 0, busy: [] };
      let expected: number[] | undefined;
      const watched: Policy = {
        ...policy,
        enqueue(request) {
          state.pending++;
          policy.enqueue(request);
        },
        schedule(view) {
          expected ??= algorithm2(state, rules);
          const decision = policy.schedule(view);
          if (decision.kind === "launch") {
            assert.equal(decision.launch.paddedRows, expected.shift());
          } else {
            assert.deepEqual(expected, []);
            expected = undefined;
          }
          return decision;
        },
        finished(launch) {
          state.busy.splice(state.busy.indexOf(launch.paddedRows!), 1);
          policy.finished!(launch);
        },
      };
      let arrivalNs = 0;
      simulateStatic(
        watched,
        [model],
        bursts.flatMap(({ gapNs, count }) => {
          arrivalNs += gapNs;
          return new Array(count).fill({ arrivalNs });
        }),
        {
          workers: 64,
          cost: { latencyNs: (_cell, rows) => 1 + perRowNs * rows },
        },
      );
      assert.deepEqual(state, { pending: 0, busy: [] });
    }),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("Table 4's mixes are the default, and what they hold may be alive", () => {
  const explicit = eEbird({
    configurations: RES152_CONFIGURATIONS,
    maxInf: 32,
    slots: 128,
  });
  const arrivalsNs = [...at0(50), ...new Array<number>(20).fill(1)];
  assert.deepEqual(
    rounds(eEbird(), arrivalsNs),
    rounds(explicit, arrivalsNs),
  );
});
