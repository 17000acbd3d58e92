/** Requests of several rows, of a model that says how it is taken apart. */
import assert from "node:assert/strict";
import { lstm } from "../../src/models/lstm.ts";
import { runRows } from "../../src/engine/wall/run_rows.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Model } from "../../src/graph/model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";

/** Sentences in one request; what comes out is a list of their last states. */
function sentences(): Model {
  const one = lstm({ hidden: 8, vocabulary: 20 });
  return {
    ...one,
    rows: {
      split(input) {
        const { lists } = input as { lists?: number[][] };
        return lists?.map((tokens) => ({ tokens }));
      },
      join: (results) => ({
        h: {
          shape: [results.length, 8],
          data: Float32Array.from(
            results.flatMap(({ h }) => Array.from(h.data, Number)),
          ),
        },
      }),
    },
  };
}

async function withEngine(
  options: { queueMax?: number },
  use: (engine: ServingEngine, model: Model) => Promise<void>,
): Promise<void> {
  const model = sentences();
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
    workers: 0,
    ...options,
  });
  await use(engine, model);
  assert.equal(engine.active, 0);
}

Deno.test("rows are requests of their own, in one batch; one request stays one", async () => {
  await withEngine({}, async (engine, model) => {
    const lists = [[1, 2, 3], [4, 5], [6]];
    const { outputs, timing } = await engine.run(model, { lists }, {
      batches: true,
    });
    assert.deepEqual(outputs["h"].shape, [3, 8]);
    const alone = [];
    for (const tokens of lists) {
      alone.push(...(await engine.run(model, { tokens })).outputs["h"].data);
    }
    assert.deepEqual([...outputs["h"].data], alone);
    assert.equal(timing.batchCount, 6);
    assert(timing.batches!.some(({ batchSize }) => batchSize === 3));
  });
});

Deno.test("a row that fails ends the others, and so does the caller", async () => {
  await withEngine({}, async (engine, model) => {
    await assert.rejects(
      engine.run(model, { lists: [[1], [99], [2]] }),
      /99/,
    );
    assert.equal(engine.active, 0);
    const stop = new AbortController();
    const running = engine.run(model, { lists: [[1, 2], [3, 4]] }, {
      signal: stop.signal,
    });
    stop.abort(new Error("enough"));
    await assert.rejects(running, /enough/);
    assert.equal(engine.active, 0);
    await assert.rejects(
      engine.run(model, { lists: [[1], [2]] }, { signal: stop.signal }),
      /enough/,
    );
    await assert.rejects(
      engine.run(model, { lists: [[1], [2]] }, { signal: {} as AbortSignal }),
      /"signal" is an AbortSignal/,
    );
    await assert.rejects(
      engine.run(model, { lists: [[1], [2]] }, { nothing: 1 } as never),
      /nothing/,
    );
  });
});

Deno.test("options of a class are those of every row", async () => {
  class Options {
    get label() {
      return "mine";
    }
    get batches() {
      return true;
    }
  }
  await withEngine({}, async (engine, model) => {
    const options = new Options();
    const { timing } = await engine.run(model, { lists: [[1], [2]] }, options);
    assert.equal(timing.batchCount, 2);
    await assert.rejects(
      engine.run(model, { lists: [[1]] }, Object.create({ finishMs: 0 })),
      /"finishMs" is positive, got 0/,
    );
  });
});

Deno.test("every row has a place in the queue", async () => {
  await withEngine({ queueMax: 2 }, async (engine, model) => {
    await assert.rejects(engine.run(model, { lists: [[1], [2], [3]] }), {
      name: "QueueFullError",
    });
    assert.equal(engine.active, 0);
  });
});

Deno.test("a request has more rows than a call has arguments", async () => {
  const count = 200_000;
  const model = {
    ...sentences(),
    rows: {
      split: () => Array.from({ length: count }).keys().toArray(),
      join: (rows: readonly unknown[]) => ({
        rows: { shape: [], data: Int32Array.of(rows.length) },
      }),
    },
  };
  const { outputs, timing } = await runRows(
    model,
    {},
    {},
    (row) =>
      Promise.resolve({
        outputs: {},
        timing: { queuedMs: 5 + Number(row), ranMs: 1 },
      }),
  );
  assert.deepEqual([...outputs["rows"].data], [count]);
  assert.deepEqual(timing, { queuedMs: 5, ranMs: count });
});

Deno.test("what a model throws of its rows rejects the call; rows that are none are refused", async () => {
  await withEngine({}, async (engine, model) => {
    const throwing = {
      ...model,
      rows: {
        ...model.rows!,
        split: (): never => {
          throw new RangeError("no rows");
        },
      },
    };
    await assert.rejects(engine.run(throwing, { tokens: [1] }), /no rows/);
    await assert.rejects(
      engine.run(model, { lists: [] }),
      /^RangeError: A request to "\w+" is a list of rows, at least one, got \[\] of "rows.split"/,
    );
    const odd = {
      ...model,
      rows: { ...model.rows!, split: () => "one" as never },
    };
    await assert.rejects(engine.run(odd, { tokens: [1] }), /got "one" of/);
  });
  await assert.rejects(
    ServingEngine.create({
      models: [{ ...sentences(), rows: { split: 1 } as never }],
      policy: cellular(),
      workers: 0,
    }),
    /"rows" of model "\w+" has the functions split and join/,
  );
});

Deno.test("functions of rows that return a promise reject the call, whatever becomes of it", async () => {
  const model = sentences();
  const lost = () => Promise.reject(new Error("lost")) as never;
  const { split, join } = model.rows!;
  const splits = { ...model, rows: { split: lost, join } };
  const joins = { ...model, rows: { split, join: lost } };
  await using engine = await ServingEngine.create({
    models: [splits, joins],
    policy: cellular(),
    workers: 0,
  });
  const input = { lists: [[1], [2, 3]] };
  const message = (name: string) =>
    new RegExp(`"rows.${name}" of model "\\w+" returned a promise`);
  await assert.rejects(engine.run(splits, input), message("split"));
  await assert.rejects(engine.run(joins, input), message("join"));
  const growing = { ...splits, grow() {} };
  assert.throws(() => engine.stream(growing, input), message("split"));
});
