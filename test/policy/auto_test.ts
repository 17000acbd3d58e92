/** Our own policy: whom, how many, who is set aside, and whether to wait, on small timelines. */
import assert from "node:assert/strict";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { isUniform } from "../../src/graph/cache.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { Prng } from "../../src/base/prng.ts";
import { mean } from "../../src/base/statistics.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

const A = staticChain({ cells: ["A"] });
const B = staticChain({ cells: ["B"] });
const STEPS = staticChain({ cells: ["S*"] });
const MODELS = [A, B, STEPS];

/** A batch takes so much, and so much for every row. */
const linear = (batchNs: number, rowNs: number) => {
  const cost: CostModel = {
    latencyNs: (_cell: Cell, rows: number) => batchNs + rowNs * rows,
  };
  return {
    cost,
    profile: (cell: Cell, rows: number) => cost.latencyNs(cell, rows),
  };
};
const one = (arrivalNs: number, model = A) => ({ arrivalNs, model });
const steps = (arrivalNs: number, steps: number) => ({
  arrivalNs,
  model: STEPS,
  input: { steps },
});
const rowsOf = (tasks: readonly string[]) =>
  tasks.map((task) => task.split(",").length);

Deno.test("on a flat curve everybody goes together, on a steep one one by one, between them the root of the number", () => {
  const sizes = (batchNs: number, rowNs: number) => {
    const { cost, profile } = linear(batchNs, rowNs);
    return rowsOf(told({
      policy: auto({ profile }),
      models: MODELS,
      requests: Array.from({ length: 16 }, () => one(0)),
      cost,
    }));
  };
  assert.deepEqual(sizes(10, 0), [16]);
  assert.deepEqual(sizes(0, 10), new Array(16).fill(1));
  // Of k that wait the root, where a batch costs what a row does: 4 of 16.
  assert.equal(sizes(10, 10)[0], 4);
});

Deno.test("where nothing keeps up with who comes, batches are as dense as can be, however long they take", () => {
  const { cost, profile } = linear(1e9, 1e7);
  const tasks = told({
    policy: auto({ profile }),
    models: MODELS,
    requests: Array.from({ length: 100 }, (_, i) => one(1e6 * i)),
    cost,
  });
  assert.deepEqual(rowsOf(tasks), [1, 64, 35]);
});

Deno.test("those who will come make batches denser than those who wait do", () => {
  const { cost, profile } = linear(100, 10);
  // A clock may have run for long before the first came.
  for (const beginNs of [0, 1e12]) {
    const tasks = told({
      policy: auto({ profile }),
      models: MODELS,
      requests: Array.from({ length: 40 }, (_, i) => one(beginNs + 2 * i)),
      cost,
    });
    // Of those who wait alone it would be the root of 39 * 10, about.
    assert.deepEqual(rowsOf(tasks), [1, 39]);
  }
});

Deno.test("without a deadline the shortest goes first, of several models the one that is done fastest", () => {
  const { cost, profile } = linear(0, 10);
  assert.deepEqual(
    told({
      policy: auto({ profile }),
      models: MODELS,
      requests: [steps(0, 4), steps(0, 2), one(0)],
      cost,
    }),
    [
      "0..10 w0 A:3",
      "10..20 w0 S:2",
      "20..30 w0 S:2",
      "30..40 w0 S:1",
      "40..50 w0 S:1",
      "50..60 w0 S:1",
      "60..70 w0 S:1",
    ],
  );
});

Deno.test("a long one is not passed for ever", () => {
  const { cost, profile } = linear(0, 10);
  const tasks = told({
    policy: auto({ profile }),
    models: MODELS,
    requests: [
      steps(0, 5),
      ...Array.from({ length: 400 }, (_, i) => steps(10 * i, 1)),
    ],
    cost,
  });
  // It has 40 more left than the others, and gets a fiftieth of the time that it has waited for more than they have.
  const begins = tasks.findIndex((task) => task.endsWith(":1"));
  assert(begins > 100 && begins < 300, `${begins}`);
});

Deno.test("the most urgent go first, as many as are in time together", () => {
  const { cost, profile } = linear(10, 5);
  assert.deepEqual(
    told({
      policy: auto({ profile, slaNs: { A: 100, B: 26 } }),
      models: MODELS,
      requests: [one(0), one(0, B), one(0, B), one(0, B), one(0, B)],
      cost,
    }),
    [
      // Four would take 30; these leave the fourth late either way.
      "0..25 w0 B:2,3,4",
      "25..40 w0 A:1",
      "40..55 w0 B:5",
    ],
  );
});

Deno.test("where going together takes as long as one by one, nobody waits for those behind him", () => {
  const sizes = (batchNs: number, rowNs: number) => {
    const { cost, profile } = linear(batchNs, rowNs);
    return rowsOf(told({
      policy: auto({ profile, slaNs: 1000 }),
      models: MODELS,
      requests: Array.from({ length: 4 }, () => one(0)),
      cost,
    }));
  };
  // Four together take 0, 4 and 8 % less.
  assert.deepEqual(sizes(0, 100), [1, 1, 1, 1]);
  assert.deepEqual(sizes(5, 90), [1, 1, 1, 1]);
  assert.deepEqual(sizes(10, 80), [4]);
});

Deno.test("who is lost is set aside, and delays nobody who can be saved", () => {
  const { cost, profile } = linear(0, 10);
  assert.deepEqual(
    told({
      policy: auto({ profile, slaNs: { A: 35, S: 25 } }),
      models: MODELS,
      // Three steps of 10 are not done by 25.
      requests: [steps(0, 3), one(0), one(9), one(19)],
      cost,
    }),
    [
      "0..10 w0 A:2",
      "10..20 w0 A:3",
      "20..30 w0 A:4",
      "30..40 w0 S:1",
      "40..50 w0 S:1",
      "50..60 w0 S:1",
    ],
  );
});

Deno.test("a request's own deadlines count as well", () => {
  const { cost, profile } = linear(0, 10);
  assert.deepEqual(
    told({
      policy: auto({ profile }),
      models: MODELS,
      requests: [one(0), one(0), { ...one(0), finishNs: 15 }],
      cost,
    }),
    ["0..10 w0 A:3", "10..20 w0 A:1", "20..30 w0 A:2"],
  );
});

Deno.test("nobody waits for company, and what comes while a batch runs goes together", () => {
  const { cost, profile } = linear(30, 1);
  const run = (gapNs: number) =>
    told({
      policy: auto({ profile, slaNs: 90 }),
      models: MODELS,
      requests: Array.from({ length: 40 }, (_, i) => one(gapNs * i)),
      cost,
    });
  assert.deepEqual(new Set(rowsOf(run(40))), new Set([1]));
  assert.deepEqual(run(10).slice(0, 3), [
    "0..31 w0 A:1",
    "31..64 w0 A:2,3,4",
    "64..97 w0 A:5,6,7",
  ]);
});

Deno.test("an idle worker finds who comes behind all that others are busy with", () => {
  const { cost, profile } = linear(1000, 0);
  const tasks = told({
    policy: auto({ profile }),
    models: MODELS,
    requests: [...Array.from({ length: 4 * 64 }, () => one(0)), one(10)],
    cost,
    workers: 5,
  });
  assert.deepEqual(rowsOf(tasks), [64, 64, 64, 64, 1]);
  assert.equal(tasks[4], "10..1010 w4 A:257");
});

Deno.test("who is lost rides along where that takes no longer, and not where it does", () => {
  const batches = (rowNs: number) => {
    const { cost, profile } = linear(100, rowNs);
    return told({
      policy: auto({ profile, slaNs: 150 }),
      models: MODELS,
      requests: [one(0), one(20), one(90)],
      cost,
    });
  };
  assert.deepEqual(batches(0), ["0..100 w0 A:1", "100..200 w0 A:2,3"]);
  assert.deepEqual(batches(10), [
    "0..110 w0 A:1",
    "110..220 w0 A:3",
    "220..330 w0 A:2",
  ]);
});

Deno.test("who is lost does not make late who can be in time", () => {
  const { cost, profile } = linear(1000, 9);
  const tasks = told({
    policy: auto({ profile, slaNs: 1035 }),
    models: MODELS,
    requests: [one(0), ...Array.from({ length: 7 }, () => one(1)), one(1005)],
    cost,
  });
  // A row more is less than a hundredth each time, but the ninth has until 2040.
  assert.equal(tasks[1], "1009..2036 w0 A:2,3,9");
});

Deno.test("batches that turn out to gain nothing become small", () => {
  const { cost } = linear(0, 10);
  const tasks = told({
    policy: auto(),
    models: MODELS,
    requests: Array.from(
      { length: 20 },
      (_, i) => Array.from({ length: 8 }, () => one(1000 * i)),
    ).flat(),
    cost,
  });
  const sizes = rowsOf(tasks);
  assert.equal(sizes[0], 8);
  assert.equal(sizes.at(-1), 1);
});

/** Latencies by number of the request, from 1. */
function latenciesOf(
  tasks: readonly string[],
  arrivalsNs: readonly number[],
): number[] {
  const latencies: number[] = [];
  for (const task of tasks) {
    const [, end, ids] = /\.\.(\d+) w0 \w+:(.*)$/.exec(task)!;
    for (const id of ids.split(",").map(Number)) {
      latencies[id - 1] = Number(end) - arrivalsNs[id - 1];
    }
  }
  return latencies;
}

for (
  const [name, slaNs] of [["with a deadline", 550], [
    "without one",
    undefined,
  ]] as const
) {
  Deno.test(`ten times the load, and back: within 50 of the model's own times all is as if it had always been so, ${name}`, () => {
    const { cost, profile } = linear(100, 10);
    const aloneNs = 110;
    const latencies = (gapsNs: readonly number[], seed: number) => {
      const prng = new Prng(seed);
      let ns = 0;
      const arrivalsNs = gapsNs.map((gapNs) =>
        Math.round(ns += prng.exponential(1) * gapNs)
      );
      const tasks = told({
        policy: auto({ profile, ...(slaNs !== undefined && { slaNs }) }),
        models: MODELS,
        requests: arrivalsNs.map((arrivalNs) => one(arrivalNs)),
        cost,
      });
      return { arrivalsNs, latencies: latenciesOf(tasks, arrivalsNs) };
    };
    const low = new Array<number>(300).fill(500);
    const high = new Array<number>(600).fill(50);
    for (let seed = 1; seed <= 5; seed++) {
      const steady = (gaps: readonly number[]) =>
        mean(latencies(gaps, seed + 100).latencies.slice(gaps.length / 2));
      const { arrivalsNs, latencies: all } = latencies(
        [...low, ...high, ...low],
        seed,
      );
      for (
        const [from, to, gaps] of [[300, 900, high], [900, 1200, low]] as const
      ) {
        const recoveredNs = arrivalsNs[from] + 50 * aloneNs;
        const after = all.slice(from, to)
          .filter((_, i) => arrivalsNs[from + i] > recoveredNs);
        assert(after.length > 100, `${after.length}`);
        const expectedNs = steady([...gaps, ...gaps]);
        assert(
          mean(after) < 1.25 * expectedNs,
          `seed ${seed}: ${mean(after)} ns, ${expectedNs} ns`,
        );
        if (slaNs === undefined) continue;
        const inTime = after.filter((ns) => ns <= slaNs).length;
        assert(inTime >= 0.98 * after.length, `seed ${seed}: ${inTime}`);
      }
    }
  });
}

Deno.test("ten times the load, more than can be carried, and back: those who come 50 of the model's own times later are in time", () => {
  const { cost, profile } = linear(100, 10);
  const [low, high] = [200, 2000];
  for (let seed = 1; seed <= 5; seed++) {
    const prng = new Prng(seed);
    let ns = 0;
    const arrivalsNs = Array.from(
      { length: low + high + low },
      (_, i) =>
        Math.round(
          ns += prng.exponential(1) * (i < low || i >= low + high ? 60 : 6),
        ),
    );
    const latencies = latenciesOf(
      told({
        policy: auto({ profile, slaNs: 550 }),
        models: MODELS,
        requests: arrivalsNs.map((arrivalNs) => one(arrivalNs)),
        cost,
      }),
      arrivalsNs,
    );
    const recoveredNs = arrivalsNs[low + high] + 50 * 110;
    const after = latencies.filter((_, i) =>
      i >= low + high && arrivalsNs[i] > recoveredNs
    );
    assert(after.length > 50, `${after.length}`);
    const inTime = after.filter((ns) => ns <= 550).length;
    assert(
      inTime >= 0.98 * after.length,
      `seed ${seed}: ${inTime} of ${after.length}`,
    );
  }
});

Deno.test("a model with few requests gets a ninth of the time of one that could take all of it", () => {
  // One after the other, and on a flat curve, where the model with many gets ever more done for the time.
  for (const batchSizeMax of [1, 64]) {
    const cost: CostModel = {
      latencyNs: ({ name }: Cell) => name === "B" ? 20 : 10,
    };
    const few = 10;
    const tasks = told({
      policy: auto({
        profile: (cell: Cell, rows: number) => cost.latencyNs(cell, rows),
        batchSizeMax,
      }),
      models: MODELS,
      requests: Array.from(
        { length: 16_000 },
        (_, i) => one(0, i < few ? B : A),
      ),
      cost,
    });
    let ofB = 0;
    for (const task of tasks) {
      const [, start, end, cell] = /^(\d+)\.\.(\d+) w0 (\w+):/.exec(task)!;
      if (cell !== "B") continue;
      const rows = task.split(",").length;
      ofB += rows;
      // Of what passed until then it had at least a ninth, but for one turn.
      assert(
        Number(start) <= 9 * 20 * (ofB / rows + 1),
        `${batchSizeMax}: ${task}, ${end}`,
      );
    }
    assert.equal(ofB, few);
  }
});

for (const isProfiled of [true, false]) {
  const known = isProfiled ? "from a profile" : "only from what was seen";
  Deno.test(`where batches save little each goes alone, also under load, and many do where they save a third, ${known}`, () => {
    // Four at once, every 480 ns. Alone they take 400, together 382, or 640 and 400.
    const last = (batchNs: number, rowNs: number) => {
      const { cost, profile } = linear(batchNs, rowNs);
      const sizes = rowsOf(told({
        policy: auto(isProfiled ? { profile } : {}),
        models: MODELS,
        requests: Array.from(
          { length: 800 },
          (_, i) => steps(480 * Math.floor(i / 4), 1),
        ),
        cost,
      }));
      // At first they seem to come faster, as the first burst has no gap before it.
      return sizes.slice(sizes.length / 2);
    };
    assert.equal(Math.max(...last(6, 94)), 1);
    assert.equal(Math.min(...last(80, 80)), 4);
  });
}

Deno.test("what the host takes for a launch makes batches larger", () => {
  const rows = (hostNs: number) => {
    const { cost, profile } = linear(0, 10);
    const sizes = rowsOf(told({
      policy: auto({ profile }),
      models: MODELS,
      requests: Array.from(
        { length: 800 },
        (_, i) => steps(4000 * Math.floor(i / 8), 5),
      ),
      cost,
      submitNs: () => hostNs,
    }));
    return mean(sizes.slice(sizes.length / 2));
  };
  assert.equal(rows(1), 1);
  assert(rows(100) > 2, `${rows(100)}`);
});

Deno.test("how many go together hangs on how long their rows are", () => {
  const cell = defineCell({
    name: "R",
    tokensMax: 64,
    inputs: { x: f32(1) },
    body: (op, { x }) => ({ y: op.Tanh(x) }),
  });
  const model: Model<{ length: number }> = {
    name: "ragged",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold({ length }, graph) {
      const rows = graph.rows(new Array<number>(length).fill(0));
      const node = graph.node(cell, { x: graph.row(rows, 0, 1) }, { length });
      graph.result("y", graph.output(node, "y"));
    },
  };
  // As long as for 64 tokens in any case.
  const ns = (tokens: number) => 10 * Math.max(64, tokens);
  const cost: CostModel = {
    latencyNs: (_cell, rows, extents) =>
      ns(
        isUniform(extents!)
          ? rows * extents.length
          : extents!.reduce((sum, { length }) => sum + length, 0),
      ),
  };
  const sizes = (lengths: readonly number[]) =>
    rowsOf(told({
      policy: auto({
        profile: (_cell, rows, extent) => ns(rows * extent!.length),
      }),
      models: [model],
      requests: lengths.map((length) => ({ arrivalNs: 0, input: { length } })),
      cost,
    }));
  const alike = (length: number) => new Array<number>(16).fill(length);
  assert.deepEqual(sizes(alike(4)), [16]);
  assert.deepEqual(sizes(alike(64)), new Array(16).fill(1));
  // Of 8 in the mean 8 fill it, however long the last is.
  assert.equal(sizes([...alike(4).slice(1), 64])[0], 8);
});
