/** Our own policy beside threads: how far ahead of them it goes. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import type { Model } from "../../src/graph/model.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import type { Advance } from "../../src/policy/common/frontier.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

const STEPS = staticChain({ cells: ["S*"] });

/** Of a task that is not over before the host hears of another one. */
const LONG_NS = 1e7;

/** Most tasks that a worker has under so many requests that come at once. */
function mostAhead(
  { count, isRemote = true, taskNs = LONG_NS, model = STEPS, request = {} }: {
    count: number;
    isRemote?: boolean;
    taskNs?: number;
    model?: Model<unknown>;
    request?: { input?: unknown; stepsFixed?: number };
  },
): number {
  const policy = auto({ profile: () => taskNs, batchSizeMax: 2 });
  let queued = 0;
  told({
    policy: {
      ...policy,
      schedule(view) {
        queued = Math.max(queued, view.workers[0].queued);
        return policy.schedule({ ...view, isRemote });
      },
    },
    models: [model],
    requests: Array.from({ length: count }, () => ({
      arrivalNs: 0,
      input: { steps: 3 },
      ...request,
    })),
    cost: constantCost(taskNs),
  });
  return queued;
}

Deno.test("beside threads a worker has a task ahead, and more the more wait", () => {
  assert.equal(mostAhead({ count: 64, isRemote: false }), 1);
  assert.equal(mostAhead({ count: 2 }), 2);
  const most = mostAhead({ count: 64 });
  assert(most >= 4, `${most}`);
});

Deno.test("beside threads a worker has four tasks more ahead where tasks are short, fewer where they are longer", () => {
  const alone = { count: 1, request: { input: { steps: 20 } } };
  assert.equal(mostAhead({ ...alone, taskNs: 10, isRemote: false }), 1);
  assert.equal(mostAhead({ ...alone, taskNs: 10 }), 6);
  assert.equal(mostAhead({ ...alone, taskNs: 400_000 }), 4);
  assert.equal(mostAhead({ ...alone, taskNs: LONG_NS }), 2);
});

Deno.test("beside threads a worker has few tasks ahead where results say who goes on, however many wait", () => {
  const input = { tokens: [0, 0, 0, 0], maxSteps: 8 };
  const model = seq2seq({ hidden: 1, sourceVocabulary: 3 }) as Model<unknown>;
  const grows = { model, request: { input, stepsFixed: 8 } };
  const [few, many, others] = [
    mostAhead({ ...grows, count: 16 }),
    mostAhead({ ...grows, count: 256 }),
    mostAhead({ count: 256 }),
  ];
  assert(few < many, `${few} ${many}`);
  // A pass may take an encoder's last step and a decoder's first.
  assert(many <= 7, `${many}`);
  assert(others >= 14, `${others}`);
});

/** So many who cannot be in time and wait, and newcomers all two tasks' time who can: what a worker has ahead then. */
function aheadBesideLost(count: number): number {
  const policy = auto({
    profile: () => LONG_NS,
    batchSizeMax: 2,
    slaNs: 6 * LONG_NS,
  });
  let queued = 0;
  told({
    policy: {
      ...policy,
      schedule(view) {
        if (view.nowNs > 120 * LONG_NS && view.nowNs < 145 * LONG_NS) {
          queued = Math.max(queued, view.workers[0].queued);
        }
        return policy.schedule({ ...view, isRemote: true });
      },
    },
    models: [STEPS],
    requests: [
      ...Array.from({ length: count }, () => ({
        arrivalNs: 0,
        input: { steps: 100 },
      })),
      ...Array.from({ length: 25 }, (_, i) => ({
        arrivalNs: (100 + 2 * i) * LONG_NS,
        input: { steps: 3 },
      })),
    ],
    cost: constantCost(LONG_NS),
  });
  return queued;
}

Deno.test("beside threads those who cannot be in time give a worker no more ahead of those who can", () => {
  assert(aheadBesideLost(64) <= 2, `${aheadBesideLost(64)}`);
});

Deno.test("beside threads a decoder has several steps ahead, as an encoder has, also where a step is several cells", () => {
  const model = gnmt({ hidden: 1, layers: 2, sourceVocabulary: 3 });
  const cells = model.cells.filter(({ phase }) => phase === "decoder").length;
  const policy = auto({ profile: () => 10, batchSizeMax: 2 });
  const most = new Map<string, number>();
  told({
    policy: {
      ...policy,
      schedule(view) {
        const decision = policy.schedule({ ...view, isRemote: true });
        if (decision.kind !== "launch") return decision;
        // A pass may begin with an encoder's last step and go on with the first of the decoder.
        const first = new Map<unknown, [string, Advance]>();
        for (const { cell: { phase }, nodes } of decision.launch.steps) {
          for (const { graph: { owner } } of nodes) {
            if (first.has(owner)) continue;
            first.set(owner, [phase, owner.tag as Advance]);
          }
        }
        for (const [phase, { underWay }] of first.values()) {
          most.set(phase, Math.max(most.get(phase) ?? 0, underWay));
        }
        return decision;
      },
    },
    models: [model],
    requests: Array.from({ length: 64 }, () => ({
      arrivalNs: 0,
      input: { tokens: [0, 0, 0, 0, 0, 0, 0, 0], maxSteps: 8 },
      stepsFixed: 8,
    })),
    cost: constantCost(10),
  });
  assert(most.get("decoder")! > cells, `${most.get("decoder")}`);
  assert(most.get("encoder")! > 1, `${most.get("encoder")}`);
});

Deno.test("beside threads short passes have four rows for each task ahead: who launches them has to keep up", () => {
  const first = (
    {
      rowNs,
      input = { steps: 1 },
      model = STEPS,
      count = 100,
      isRemote = true,
    }: {
      rowNs: number;
      input?: unknown;
      model?: Model<unknown>;
      count?: number;
      isRemote?: boolean;
    },
  ) => {
    const policy = auto({ profile: (_cell, rows) => rows * rowNs });
    const [task] = told({
      policy: {
        ...policy,
        schedule: (view) => policy.schedule({ ...view, isRemote }),
      },
      models: [model],
      requests: Array.from({ length: count }, () => ({ arrivalNs: 0, input })),
      cost: constantCost(10),
    });
    return /:(.*)$/.exec(task)![1].split(",").length;
  };
  // Rows save nothing together.
  assert.equal(first({ rowNs: 10_000, isRemote: false }), 1);
  assert.equal(first({ rowNs: 10_000 }), 28);
  assert.equal(first({ rowNs: 10_000, input: { steps: 3 } }), 28);
  assert.equal(first({ rowNs: 10_000, count: 10 }), 4);
  assert.equal(first({ rowNs: 10_000, count: 3 }), 3);
  // Half a millisecond is enough, whoever waits.
  assert.equal(first({ rowNs: 50_000 }), 10);
  assert.equal(first({ rowNs: 1e6 }), 1);
  // Eight leaves are rows enough.
  const model = treeLstm({ hidden: 1, vocabulary: 1 }) as Model<unknown>;
  const tree = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]];
  const wide = { rowNs: 10_000, model, input: { tree } };
  assert.equal(first({ ...wide, count: 10 }), 1);
  // Two cells are two tasks, of a row each.
  const both = gnmt({ hidden: 1, layers: 2, sourceVocabulary: 3 });
  const input = { tokens: [0, 0], maxSteps: 1 };
  const ways = { rowNs: 10_000, model: both as Model<unknown>, input };
  assert.equal(first({ ...ways, count: 10 }), 4);
});
