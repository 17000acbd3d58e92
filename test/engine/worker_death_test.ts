/**
 * Threads of a serving engine die, at every point of their protocol, loudly or silently; requests are answered with
 * the bits of serial execution all the same, and close() always ends.
 */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { turn } from "./engine_under_test.ts";
import { DEATHS } from "./fuse.ts";
import { unlessItHangs } from "./hang_guard.ts";
import {
  type Birth,
  type MortalWorker,
  withMortalWorkers,
} from "./mortal_workers.ts";
import { type Played, SERVED } from "./served_models.ts";
import { sameBits } from "./serving_oracle.ts";
import { ask } from "./ask.ts";

/** A request and its serial answer. */
interface Known {
  readonly model: Model<Played>;
  readonly input: Played;
  readonly answer: Result;
}

/** The n-th request of a model that is answered, from 0 on. */
function known(name: string, nth: number): Known {
  const { model, cases } = SERVED[name];
  const { input, answer } = cases.filter(({ fate }) => fate === "done")[nth];
  return { model, input: { input }, answer: answer! };
}

const CHAIN = known("lstm", 4);
const TRANSLATION = known("seq2seq", 8);
/** Two tokens, then twenty steps; and other tokens, so that no answer is found where it was left earlier. */
const DECODING = known("seq2seq", 5);
const OTHER = known("seq2seq", 11);
const FEW = [CHAIN, TRANSLATION, known("fragile", 1), known("treelstm", 2)];

/** The first of the accesses to shared memory that serving them takes; each of dozens of tasks takes some. */
const SWEEP = Array.from({ length: 24 }, (_, i) => i + 1);
const SHORT_SWEEP = SWEEP.slice(0, 8);
/** For teams, which make more accesses for a task and are slower to replace. */
const TEAM_SWEEP = SWEEP.filter((accesses) => accesses % 2 === 1);

function create(
  options: Partial<ServingOptions> = {},
): Promise<ServingEngine> {
  return ServingEngine.create({
    models: ["lstm", "seq2seq", "fragile", "treelstm"].map((name) =>
      SERVED[name].model
    ),
    policy: cellular(),
    slotBytes: 2 ** 16,
    warmUp: false,
    // Whoever has nothing to do sleeps: the first access is to the first task.
    spinMs: 0,
    team: { leastNs: 0, wakeNs: 0 },
    // Whatever it would give up waiting for is to hang here.
    patienceMs: 3_600_000,
    // Every death would be told of.
    onError: () => {},
    ...options,
  });
}

function run(engine: ServingEngine, { model, input }: Known): Promise<Result> {
  return unlessItHangs(
    () => `a request to "${model.name}"`,
    ask(engine, model, input),
  );
}

async function assertServed(
  engine: ServingEngine,
  requests: readonly Known[] = FEW,
): Promise<void> {
  const results = await Promise.all(requests.map((one) => run(engine, one)));
  results.forEach((result, i) =>
    assert.deepStrictEqual(result, requests[i].answer)
  );
  assert.equal(engine.active, 0);
}

function closed(
  engine: ServingEngine,
  pending?: "finish" | "reject",
): Promise<void> {
  return unlessItHangs(() => "close()", engine.close(pending));
}

function isGone({ ended, dead }: MortalWorker): boolean {
  return ended || dead;
}

/** Lets the event loop turn until there is what `find` looks for. */
async function until<T>(
  what: string,
  find: () => T | undefined,
): Promise<T> {
  const looking = { over: false };
  const look = async () => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (looking.over) throw new Error(`nobody waits for ${what}`);
      await turn();
    }
  };
  try {
    return await unlessItHangs(() => what, look());
  } finally {
    looking.over = true;
  }
}

function untilDead(thread: MortalWorker): Promise<true> {
  const what = `thread ${thread.name} to die`;
  return until(what, () => thread.dead || undefined);
}

/** Threads of this role that are alive, once there are so many: those that died are replaced in the background. */
function untilAlive(
  workers: readonly MortalWorker[],
  role: string,
  count = 1,
): Promise<MortalWorker[]> {
  return until(`${count} threads to be alive as ${role}`, () => {
    const alive = workers.filter((one) => one.role === role && !isGone(one));
    return alive.length >= count ? alive : undefined;
  });
}

/** A test of threads that die in one way, and one of those that die in the other. */
function testDeaths(
  name: string,
  body: (
    death: (typeof DEATHS)[number],
    workers: readonly MortalWorker[],
  ) => Promise<void>,
  birth?: (death: (typeof DEATHS)[number]) => (index: number) => Birth,
): void {
  for (const death of DEATHS) {
    const how = death === "throw" ? "by an error" : "silently";
    Deno.test({
      name: `${name} (${how})`,
      fn: () =>
        withMortalWorkers((workers) => body(death, workers), birth?.(death)),
    });
  }
}

const SWEEPS = {
  // Decoder steps count, in shared memory: executed twice, they must be counted once.
  "a request that decodes is": {
    requests: [DECODING],
    sweep: SWEEP,
    // One place for all slots.
    slotBytes: 640,
  },
  "many requests are": {
    requests: FEW,
    sweep: SHORT_SWEEP.map((accesses) => 3 * accesses),
    slotBytes: 2 ** 16,
  },
};

for (
  const [who, { requests, sweep, slotBytes }] of Object.entries(SWEEPS)
) {
  testDeaths(
    `${who} answered wherever in its protocol the worker dies`,
    async (death, workers) => {
      const engine = await create({ slotBytes });
      for (const accesses of sweep) {
        const [worker] = await untilAlive(workers, "worker");
        assert(worker);
        worker.light(death, accesses, "writes");
        await assertServed(engine, requests);
        assert(worker.dead, `it dies at write ${accesses}`);
        assert(workers.at(-1) !== worker, "another takes its place");
        await assertServed(engine, [OTHER]);
      }
      await closed(engine);
      assert(workers.every(isGone));
    },
  );
}

testDeaths(
  "requests are answered wherever one of two workers dies",
  async (death, workers) => {
    const engine = await create({ workers: 2 });
    for (const accesses of SHORT_SWEEP) {
      const alive = await untilAlive(workers, "worker", 2);
      const worker = alive[accesses % 2];
      worker.light(death, accesses);
      // Which of the two gets something to do is for the policy to say.
      do await assertServed(engine, [...FEW, ...FEW, ...FEW]); while (
        !isGone(worker)
      );
    }
    await closed(engine);
    assert(workers.every(isGone));
  },
);

for (const role of ["worker", "helper"]) {
  testDeaths(
    `requests are answered wherever in a team's calls the ${role} dies`,
    async (death, workers) => {
      const engine = await create({ threadsPerWorker: 2 });
      for (const accesses of TEAM_SWEEP) {
        const [thread] = await untilAlive(workers, role);
        assert(thread);
        thread.light(
          death,
          accesses,
          accesses % 3 === 0 ? undefined : "writes",
        );
        // A helper that is late takes no part in some calls.
        do await assertServed(engine); while (!isGone(thread));
      }
      await closed(engine);
      assert(workers.every(isGone));
    },
  );
}

testDeaths("an idle worker may die", async (death, workers) => {
  const engine = await create({ spinMs: Infinity });
  for (let times = 0; times < 5; times++) {
    const [worker] = await untilAlive(workers, "worker");
    assert(worker);
    worker.light(death, 10);
    await untilDead(worker);
    await assertServed(engine);
  }
  await closed(engine);
  assert(workers.every(isGone));
});

testDeaths("an idle helper may die", async (death, workers) => {
  const team = { leastNs: 0, wakeNs: 0, spinLoads: Infinity };
  const engine = await create({ threadsPerWorker: 2, team });
  for (let times = 0; times < 5; times++) {
    const [helper] = await untilAlive(workers, "helper");
    assert(helper);
    helper.light(death, 10);
    await untilDead(helper);
    await assertServed(engine);
  }
  await closed(engine);
  assert(workers.every(isGone));
});

for (const pending of ["finish", "reject"] as const) {
  testDeaths(
    `close("${pending}") ends wherever the worker dies, with requests in the system`,
    async (death, workers) => {
      for (const accesses of SHORT_SWEEP) {
        const engine = await create();
        workers.at(-1)!.light(death, accesses);
        const requests = FEW.map((one) => run(engine, one));
        const settled = Promise.allSettled(requests);
        await closed(engine, pending);
        for (const [i, end] of (await settled).entries()) {
          if (pending === "finish") {
            assert(end.status === "fulfilled");
            assert.deepStrictEqual(end.value, FEW[i].answer);
          } else {
            assert(end.status === "rejected");
            assert.equal(end.reason.name, "ClosedError");
          }
        }
        assert.equal(engine.active, 0);
        assert(workers.every(isGone));
      }
    },
  );
}

testDeaths(
  "close() ends wherever a thread dies of being told to stop",
  async (death, workers) => {
    for (const threadsPerWorker of [1, 2]) {
      for (const accesses of SHORT_SWEEP) {
        const engine = await create({ threadsPerWorker });
        await assertServed(engine);
        workers.at(-1)!.light(death, accesses);
        await closed(engine);
        assert(workers.every(isGone));
      }
    }
  },
);

/** Writes at which an engine's only thread dies, and the one that takes its place. */
const PAIRS = [1, 2, 3].flatMap((first) =>
  [1, 2].map((second) => ({ first, second }))
);

for (const death of DEATHS) {
  Deno.test(`a task that kills two workers is given up, with its rows (${death})`, async () => {
    for (const { first, second } of PAIRS) {
      await withMortalWorkers(
        async (workers) => {
          // Full batches alone, so that nothing depends on when requests arrive.
          const policy = graph({ batchSizeMax: 3, windowNs: 1e15 });
          const engine = await create({ policy, models: [CHAIN.model] });
          workers[0].light(death, first, "writes");
          const batch = Array.from({ length: 3 }, () => run(engine, CHAIN));
          const later = Array.from({ length: 3 }, () => run(engine, CHAIN));
          const fate = fateOf(await Promise.allSettled(batch));
          // Whoever dies at its first write has completed nothing.
          const expected = second === 1 ? "WorkerError" : "answered";
          assert.equal(fate, expected, `deaths at ${first} and ${second}`);
          assert.equal(fateOf(await Promise.allSettled(later)), "answered");
          await assertServed(engine, [CHAIN, CHAIN, CHAIN]);
          await closed(engine);
          assert(workers.every(isGone));
        },
        (index) =>
          index === 1
            ? { dies: { death, accesses: second, which: "writes" } }
            : {},
      );
    }
  });
}

/** The one fate of all requests of a batch of CHAIN, "answered" or an error's name. */
function fateOf(batch: readonly PromiseSettledResult<Result>[]): string {
  const fates = batch.map((end) => {
    if (end.status === "rejected") {
      assert.equal(end.reason.name, "WorkerError", String(end.reason));
      return "WorkerError";
    }
    assert(sameBits(end.value, CHAIN.answer));
    return "answered";
  });
  assert.equal(new Set(fates).size, 1, `one batch, one fate: ${fates}`);
  return fates[0];
}

testDeaths(
  "an engine whose threads all die rejects everything, and close() ends",
  async (death, workers) => {
    const engine = await create({ spinMs: Infinity });
    workers[0].light(death, 10);
    await untilDead(workers[0]);
    // Each request may be given up by itself, until the engine gives up as a whole.
    let last: unknown;
    for (let after = 0; after < 3;) {
      const [end] = await Promise.allSettled([run(engine, CHAIN)]);
      assert(end.status === "rejected", "nobody is there to answer");
      assert(end.reason instanceof Error);
      assert.notEqual(end.reason.name, "HangError", end.reason.message);
      if (end.reason.name === "WorkerError") continue;
      last ??= end.reason;
      assert.equal(end.reason, last, "one error for everybody");
      after++;
    }
    assert.equal(engine.active, 0);
    await closed(engine);
    assert(workers.every(isGone));
  },
  (death) => (index) => index > 0 ? { dies: { death, accesses: 1 } } : {},
);

/** More than a task that was begun may cost, and fewer than the engine bears. */
const UNLOADED = 5;

for (const threadsPerWorker of [1, 2]) {
  testDeaths(
    `requests are answered when threads die while they load the kernels, ${threadsPerWorker} a worker`,
    async (_death, workers) => {
      const engine = await create({ threadsPerWorker });
      await assertServed(engine);
      await untilDead(workers[0]);
      await assertServed(engine);
      await closed(engine);
      assert(workers.every(isGone));
    },
    (death) => (index) => index === 0 ? { unloaded: death } : {},
  );
}

testDeaths(
  "a task that nobody had begun outlives many workers that die while they load the kernels",
  async (_death, workers) => {
    const engine = await create();
    await assertServed(engine);
    assert(workers.slice(0, UNLOADED).every(isGone));
    assert.equal(workers.length, UNLOADED + 1);
    await closed(engine);
    assert(workers.every(isGone));
  },
  (death) => (index) => index < UNLOADED ? { unloaded: death } : {},
);

testDeaths(
  "an engine whose threads all die while they load the kernels rejects everything, and close() ends",
  async (_death, workers) => {
    const engine = await create();
    const [end] = await Promise.allSettled([run(engine, CHAIN)]);
    assert(end.status === "rejected", "nobody is there to answer");
    assert.notEqual(end.reason.name, "HangError", end.reason.message);
    await closed(engine);
    assert(workers.every(isGone));
  },
  (death) => () => ({ unloaded: death }),
);

const STILLBORN: Record<string, Birth> = {
  "says nothing": { stillborn: true },
  "dies of an error": {
    stillborn: true,
    dies: { death: "throw", accesses: 1 },
  },
  "dies silently": { stillborn: true, dies: { death: "exit", accesses: 1 } },
};

for (const [what, birth] of Object.entries(STILLBORN)) {
  Deno.test({
    name: `create() rejects when a thread ${what} at its start, and ends all`,
    fn: () =>
      withMortalWorkers(async (workers) => {
        const creating = create({
          workers: 2,
          threadsPerWorker: 2,
          patienceMs: 300,
        });
        await assert.rejects(
          unlessItHangs(() => "create()", creating),
          (error) => error instanceof Error && error.name !== "HangError",
        );
        assert.equal(workers.length, 4);
        assert(workers.every(isGone));
      }, (index) => index === 2 ? birth : {}),
  });

  Deno.test({
    name: `requests are answered when a dead worker's successor ${what}`,
    fn: () =>
      withMortalWorkers(async (workers) => {
        // All that others take to start, and what one is waited for that does not.
        const engine = await create({ patienceMs: 3000 });
        workers[0].light("throw", 3);
        await assertServed(engine, [CHAIN]);
        await closed(engine);
        assert(workers.every(isGone));
      }, (index) => index === 1 ? birth : {}),
  });
}
