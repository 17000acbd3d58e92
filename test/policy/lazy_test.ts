/** LazyBatching's worked examples, to the digit; inputs that had to be inferred are marked. */
import assert from "node:assert/strict";
import { TableCost } from "../../src/cost/table_cost.ts";
import {
  BatchTable,
  Member,
  SubBatch,
} from "../../src/policy/lazybatching/batch_table.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { decTimesteps, execTime } from "../../src/policy/common/exec_time.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy, oracle } from "../../src/policy/lazybatching/lazy.ts";
import {
  conservative,
  equation2,
} from "../../src/policy/lazybatching/slack.ts";
import type { LazyOptions } from "../../src/policy/lazybatching/lazy_options.ts";
import type { Note } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Request } from "../../src/policy/request.ts";
import { runSimulated } from "../engine/harness.ts";
import {
  letters,
  runsAt,
  simulateStatic,
  staticChain,
} from "./static_chain.ts";

const UNLIMITED = Infinity;
const profile = () => 1;

/**
 * Fig. 10: eight nodes, one unit each. Stated: Req1 is pushed at 2, Req2 arrives while Req1 executes B
 * (from 3 to 4), Req3 while Req2 executes A (from 4 to 5); SLA 30, T_wait of Req1 is 2.
 * Assumption: another request occupies the processor until 2; here it is a chain of one node.
 */
const FIG_10 = {
  model: staticChain({ cells: letters(8) }),
  before: staticChain({ name: "before", cells: ["Z"] }),
};

for (const policy of [lazy, oracle]) {
  Deno.test(`LazyBatching Fig. 10: ${policy.name} pushes at 2, 4, 5 and merges at 6 (B) and 7 (C)`, () => {
    const { model, before } = FIG_10;
    const notes: { atNs: number; note: Note }[] = [];
    const timeline = simulateStatic(
      policy({ slaNs: UNLIMITED, profile, nestedPreemption: true }),
      [model, before],
      [
        { arrivalNs: 0, model: before },
        { arrivalNs: 0 },
        { arrivalNs: 3.5 },
        { arrivalNs: 4.5 },
      ],
      {
        cost: {
          latencyNs: (cell) => cell.name === "Z" ? 2 : 1,
        },
        observer: {
          decided: (atNs, { notes: all = [] }) => {
            for (const note of all) notes.push({ atNs, note });
          },
        },
      },
    );
    // Requests are numbered from 1 and the first is the one that occupies the processor: Req n is n + 1.
    assert.equal(runsAt(timeline, 2), "A:2");
    assert.equal(runsAt(timeline, 3), "B:2");
    assert.equal(runsAt(timeline, 4), "A:3");
    assert.equal(runsAt(timeline, 5), "A:4");
    assert.equal(runsAt(timeline, 6), "B:3,4");
    assert.equal(runsAt(timeline, 7), "C:2,3,4");
    assert.deepEqual(timeline.departNs.slice(2), [13, 13, 13]);
    const merges = notes.filter(({ note }) => note.op === "merge");
    assert.deepEqual(
      merges.map(({ atNs, note }) => [atNs, note.requests]),
      [[6, [3]], [7, [2, 3]]],
    );
  });
}

/** A request of FIG_10's model that arrived at 0, as it is issued at 2. */
function issuedAt2(predictor: typeof conservative): SubBatch {
  const { model } = FIG_10;
  const graph = new CellGraph<Request>(model);
  model.unfold({}, graph);
  const request = { model, graph } as unknown as Request;
  const member = new Member(
    request,
    execTime(request, { profile, decTimesteps: 1 }),
  );
  member.limitNs = predictor.limitNs({ arrivalNs: 0, slaNs: 30 }, 2);
  const pending = new SubBatch(model, model.cells[0]);
  pending.begin(member);
  return pending;
}

for (
  const [reading, predictor] of Object.entries({ conservative, equation2 })
) {
  Deno.test(`LazyBatching Eq. 1: the slack of Req1 in Fig. 10 is 30 - (2 + 8) = 20 (${reading})`, () => {
    const slackNs = predictor.slackNs(
      new BatchTable(),
      issuedAt2(predictor),
      2,
    );
    assert.equal(slackNs, 20);
  });

  Deno.test(`LazyBatching Eq. 2: with Req2 batched it is 30 - (2 + 16) = 12 (${reading})`, () => {
    const table = new BatchTable();
    table.push(issuedAt2(predictor));
    assert.equal(predictor.slackNs(table, issuedAt2(predictor), 2), 12);
  });
}

Deno.test("LazyBatching Eq. 2: N requests count with the sum of their single-input times", () => {
  // Eight nodes each. At 1 the first has 7 left: with a second 15 are left and 1 has passed, with a third 24 in all.
  const run = (slaNs: number) =>
    simulateStatic(lazy({ slaNs, profile }), [FIG_10.model], [
      { arrivalNs: 0 },
      { arrivalNs: 1 },
      { arrivalNs: 1 },
    ]);
  assert.equal(runsAt(run(15), 1), "B:1");
  assert.equal(runsAt(run(16), 1), "A:2");
  assert.equal(runsAt(run(23), 1), "A:2");
  assert.equal(runsAt(run(24), 1), "A:2,3");
});

Deno.test("lazy() issues what waits as one batch when nothing runs, whatever its slack", () => {
  // Section IV-B asks for the slack of the active batch; there is none.
  const run = (emptyTable: "issue" | "check") =>
    simulateStatic(
      lazy({ slaNs: 16, profile, emptyTable }),
      [FIG_10.model],
      [{ arrivalNs: 0 }, { arrivalNs: 0 }, { arrivalNs: 0 }],
    );
  assert.equal(runsAt(run("issue"), 0), "A:1,2,3");
  assert.equal(runsAt(run("issue"), 7), "H:1,2,3");
  // Eight nodes each: two fit an SLA of 16 when neither waits, a third does not.
  assert.equal(runsAt(run("check"), 0), "A:1,2");
  assert.equal(runsAt(run("check"), 7), "H:1,2");
  assert.equal(runsAt(run("check"), 8), "A:3");
});

/**
 * A request of eight nodes with an SLA of 30; from 1 to 600 a request of a co-located model, of one node, arrives
 * every unit. Who looks only at those in the table sees 9 units of work and 21 of slack for ever.
 */
function departureBelowAStream(policy: Policy): number {
  const other = staticChain({ name: "other", cells: ["Z"] });
  const stream = Array.from(
    { length: 600 },
    (_, i) => ({ arrivalNs: i + 1, model: other }),
  );
  return simulateStatic(
    policy,
    [FIG_10.model, other],
    [{ arrivalNs: 0 }, ...stream],
  ).departNs[1];
}

Deno.test("lazy() protects a request below a stream of others; Eq. 2 to the letter forgets it", () => {
  const sla = {
    profile,
    slaNs: { [FIG_10.model.name]: 30, other: UNLIMITED },
  };
  // One node before the stream, then at 22 there are 30 - 22 - 7 - 1 = 0 left, at 23 none.
  assert.equal(departureBelowAStream(lazy(sla)), 30);
  assert.equal(departureBelowAStream(oracle(sla)), 30);
  assert.equal(
    departureBelowAStream(lazy({ ...sla, elapsedTime: "ignore" })),
    608,
  );
});

/** Two cells around one that recurs: requests of unlike lengths come apart behind it. */
const APART = staticChain({ cells: ["A", "B*", "C"] });

Deno.test("lazy(): what slack has refused stays refused for all parts of a batch that comes apart", () => {
  // At 1: 1 + (2 + 4) + 3 = 10 > 9, refused. At 2 it would be 2 + (1 + 3) + 3 = 9, and allowed.
  const timeline = simulateStatic(
    lazy({ slaNs: 9, profile }),
    [APART],
    [
      { arrivalNs: 0, steps: 1 },
      { arrivalNs: 0, steps: 3 },
      { arrivalNs: 1, steps: 1 },
    ],
  );
  assert.equal(runsAt(timeline, 1), "B:1,2");
  assert.equal(runsAt(timeline, 2), "B:2");
  assert.equal(runsAt(timeline, 3), "B:2");
  assert.equal(runsAt(timeline, 4), "C:1,2");
  assert.equal(runsAt(timeline, 5), "A:3");
});

Deno.test("lazy(): what slack has refused stays refused for a batch that merges", () => {
  // At 3: 3 + (6 + 7 + 7) + 8 = 31 > 30, refused above Req1. At 4 it would be 4 + (6 + 6 + 6) + 8 = 30, and allowed.
  const timeline = simulateStatic(
    lazy({ slaNs: 30, profile }),
    [FIG_10.model],
    [0, 1.5, 1.5, 2.5].map((arrivalNs) => ({ arrivalNs })),
  );
  assert.equal(runsAt(timeline, 2), "A:2,3");
  assert.equal(runsAt(timeline, 3), "B:2,3");
  assert.equal(runsAt(timeline, 4), "C:1,2,3");
  assert.equal(runsAt(timeline, 5), "D:1,2,3");
  assert.equal(runsAt(timeline, 10), "A:4");
});

Deno.test("lazy() without nested preemption lets a sub-batch that preempted catch up first", () => {
  const timeline = simulateStatic(
    lazy({ slaNs: UNLIMITED, profile, nestedPreemption: false }),
    [FIG_10.model],
    [0, 1.5, 2.5].map((arrivalNs) => ({ arrivalNs })),
  );
  assert.equal(runsAt(timeline, 2), "A:2");
  assert.equal(runsAt(timeline, 3), "B:2");
  assert.equal(runsAt(timeline, 4), "A:3");
});

Deno.test("lazy() lets nobody preempt who could not merge: sub-batches of a model share the maximum", () => {
  const timeline = simulateStatic(
    lazy({ slaNs: UNLIMITED, profile, batchSizeMax: 2 }),
    [FIG_10.model],
    [0, 1, 1].map((arrivalNs) => ({ arrivalNs })),
  );
  assert.equal(runsAt(timeline, 1), "A:2");
  assert.equal(runsAt(timeline, 2), "B:1,2");
  assert.equal(runsAt(timeline, 9), "A:3");
});

Deno.test("lazy() merges at once whom it issues at the node that the active batch stands at", () => {
  const timeline = simulateStatic(
    lazy({ slaNs: UNLIMITED, profile }),
    [staticChain({ cells: ["A*", "B"] })],
    [{ arrivalNs: 0, steps: 3 }, { arrivalNs: 1, steps: 2 }],
  );
  assert.equal(runsAt(timeline, 1), "A:1,2");
  assert.equal(runsAt(timeline, 3), "B:1,2");
});

Deno.test("oracle() knows what batches take: it allows what the sum of times alone forbids", () => {
  // A node takes 1 for any number of rows. At 1 the sum is 1 + 7 + 8 = 16; really it is 1 + 1 + 7 = 9.
  const at1 = (policy: Policy) =>
    runsAt(
      simulateStatic(policy, [FIG_10.model], [
        { arrivalNs: 0 },
        { arrivalNs: 1 },
      ]),
      1,
    );
  assert.equal(at1(lazy({ slaNs: 15, profile })), "B:1");
  assert.equal(at1(oracle({ slaNs: 15, profile })), "A:2");
  assert.equal(at1(oracle({ slaNs: 9, profile })), "A:2");
  assert.equal(at1(oracle({ slaNs: 8, profile })), "B:1");
});

/** Algorithm 1 with an encoder and a decoder. */
const SEQ2SEQ = seq2seq({ hidden: 1, sourceVocabulary: 2, eos: null });

Deno.test("LazyBatching Algorithm 1: encoders count as long as the input, decoders dec_timesteps", () => {
  const graph = new CellGraph<Request>(SEQ2SEQ);
  SEQ2SEQ.unfold({ tokens: [0, 1, 0], maxSteps: 50 }, graph);
  const [encoder] = SEQ2SEQ.cells;
  const { execNs, work } = execTime(
    { model: SEQ2SEQ, graph } as unknown as Request,
    { profile: (cell) => cell === encoder ? 10 : 7, decTimesteps: 5 },
  );
  assert.deepEqual(work, [3, 5]);
  assert.equal(execNs, 3 * 10 + 5 * 7);
});

Deno.test("lazy() expects decoders to take dec_timesteps, not what they will take", () => {
  const firstOfReq2 = (decTimesteps: number) => {
    let startNs = NaN;
    runSimulated({
      models: [SEQ2SEQ],
      policy: lazy({ slaNs: 12, profile, decTimesteps }),
      arrivals: [0, 1].map((arrivalNs) => ({
        model: SEQ2SEQ,
        arrivalNs,
        input: { tokens: [0, 1], maxSteps: 20 },
        stepsFixed: 8,
      })),
      cost: new TableCost({ "*": [[1, 1]] }),
      observer: {
        request: (_request, record) => {
          if (record.id === 1) startNs = record.startNs;
        },
      },
    });
    return startNs;
  };
  // At 1: 1 + 3 + 4 = 8 fits 12; 1 + 9 + 10 = 20 does not, though both really take 10.
  assert.equal(firstOfReq2(2), 1);
  assert.equal(firstOfReq2(8), 10);
});

Deno.test("lazy() lets the active batch complete uninterrupted once slack has refused", () => {
  // SLA 17. At 1 Req2 leaves 17 - (1 + 7 + 8) = 1; at 2 Req3 would leave 17 - (2 + 14 + 8) = -7.
  const timeline = simulateStatic(
    lazy({ slaNs: 17, profile }),
    [FIG_10.model],
    [{ arrivalNs: 0 }, { arrivalNs: 1 }, { arrivalNs: 2 }],
  );
  assert.deepEqual(timeline.departNs.slice(1, 3), [9, 9]);
  assert.equal(runsAt(timeline, 1), "A:2");
  assert.equal(runsAt(timeline, 2), "B:1,2");
  assert.equal(runsAt(timeline, 9), "A:3");
});

/**
 * Fig. 8: five nodes A to E. Stated: Req1-2 are preempted at 6, Req3-5 have executed A and B by 8, all go
 * on with C. Assumption: Req1-2 arrive at 4, Req3-5 at 6; the slack predictor agrees.
 */
const FIG_8 = [4, 4, 6, 6, 6].map((arrivalNs) => ({ arrivalNs }));

Deno.test("LazyBatching Fig. 8: Req1-2 are preempted at 6, Req3-5 catch up by 8, all merge at C", () => {
  const timeline = simulateStatic(
    lazy({ slaNs: UNLIMITED, profile }),
    [staticChain({ cells: letters(5) })],
    FIG_8,
  );
  assert.equal(runsAt(timeline, 5), "B:1,2");
  assert.equal(runsAt(timeline, 6), "A:3,4,5");
  assert.equal(runsAt(timeline, 7), "B:3,4,5");
  assert.equal(runsAt(timeline, 8), "C:1,2,3,4,5");
  assert.deepEqual(timeline.departNs.slice(1), [11, 11, 11, 11, 11]);
});

Deno.test("LazyBatching Fig. 8: the baseline serializes Req1-2 and Req3-5", () => {
  const { departNs } = simulateStatic(
    graph(),
    [staticChain({ cells: letters(5) })],
    FIG_8,
  );
  assert.deepEqual(departNs.slice(1), [9, 9, 14, 14, 14]);
});

/**
 * Fig. 4. Stated: Req2 arrives at 4, Req3 at 12; a window of 4 instead of 2 makes no batch larger and
 * only delays Req1 and Req2. Assumption: Req1 arrives at 0; a batch executes in 2, so that none is waited
 * for; a window of 4 is over just before 4, as otherwise Req2 would arrive in time and be batched.
 */
Deno.test("LazyBatching Fig. 4: a window of 4 instead of 2 gains nothing and delays Req1 and Req2", () => {
  const run = (windowNs: number) =>
    simulateStatic(
      graph({ windowNs }),
      [staticChain({ cells: letters(2) })],
      [0, 4, 12].map((arrivalNs) => ({ arrivalNs })),
    );
  const narrow = run(2);
  const wide = run(3.999);
  const sizes = ({ tasks }: typeof narrow) =>
    tasks.map(({ requests }) => requests.length);
  assert.deepEqual(sizes(narrow), sizes(wide));
  assert(wide.departNs[1] > narrow.departNs[1]);
  assert(wide.departNs[2] > narrow.departNs[2]);
});

/**
 * Fig. 7: two convolutions, a recurrent layer, two fully connected layers. Stated: Req3-5 cannot join
 * Req1-2 and wait until they have ended. Assumption: Req1-2 have 4 steps, Req3-5 arrive at 3 with 4.
 */
const FIG_7 = {
  model: staticChain({ cells: ["CONV1", "CONV2", "RNN*", "FC1", "FC2"] }),
  requests: [0, 0, 3, 3, 3].map((arrivalNs) => ({ arrivalNs, steps: 4 })),
};

Deno.test("LazyBatching Fig. 7: cellular batching read so serializes Req1-2 and Req3-5", () => {
  const { departNs } = simulateStatic(
    cellular({ nonRecurrent: "serialize", maxTasksToSubmit: 1 }),
    [FIG_7.model],
    FIG_7.requests,
  );
  assert.deepEqual(departNs.slice(1), [8, 8, 16, 16, 16]);
});

Deno.test("LazyBatching Fig. 7: BatchMaker's Algorithm 1 itself batches Req3-5 with Req1-2 at the recurrent layer", () => {
  const timeline = simulateStatic(
    cellular({ maxTasksToSubmit: 1 }),
    [FIG_7.model],
    FIG_7.requests,
  );
  const together = timeline.tasks.filter(({ requests }) =>
    requests.includes(1) && requests.includes(3)
  );
  assert.equal(together[0].cell, "RNN");
  assert.deepEqual(timeline.departNs.slice(1), [11, 11, 11, 11, 11]);
});

Deno.test("LazyBatching Fig. 7: lazy merges Req3-5 into the recurrent layer that Req1-2 stand at", () => {
  const timeline = simulateStatic(
    lazy({ slaNs: UNLIMITED, profile }),
    [FIG_7.model],
    FIG_7.requests,
  );
  assert.equal(runsAt(timeline, 3), "CONV1:3,4,5");
  assert.equal(runsAt(timeline, 5), "RNN:1,2,3,4,5");
});

Deno.test("lazy() under overload: what is lost is issued together, or one by one, or limits nobody", () => {
  const model = staticChain({ cells: letters(4) });
  const late = Array.from({ length: 6 }, () => ({ arrivalNs: 0 }));
  const first = { arrivalNs: 0, model: FIG_10.before };
  const sizes = (options: LazyOptions) =>
    simulateStatic(
      lazy({ slaNs: { [model.name]: 5 }, profile, ...options }),
      [model, FIG_10.before],
      [first, ...late],
      { cost: new TableCost({ Z: [[1, 2]], "*": [[1, 1]] }) },
    ).tasks.filter(({ cell }) => cell === "A").map(({ requests }) =>
      requests.length
    );
  assert.deepEqual(sizes({}), [6]);
  assert.deepEqual(sizes({ emptyTable: "check" }), [1, 1, 1, 1, 1, 1]);
  assert.deepEqual(
    sizes({ emptyTable: "check", negativeSlack: "ignore" }),
    [6],
  );
});

Deno.test("lazy(): a request that is lost when it is issued lets nobody join, or limits nobody", () => {
  // Req1 takes 8; Req2 takes 2, arrives at 1 and has all the time in the world.
  const other = staticChain({ name: "other", cells: ["Y", "Z"] });
  const at1 = (slaNs: number, negativeSlack: "refuse" | "ignore") =>
    runsAt(
      simulateStatic(
        lazy({
          slaNs: { [FIG_10.model.name]: slaNs, other: UNLIMITED },
          profile,
          negativeSlack,
        }),
        [FIG_10.model, other],
        [{ arrivalNs: 0 }, { arrivalNs: 1, model: other }],
      ),
      1,
    );
  assert.equal(at1(5, "refuse"), "B:1");
  assert.equal(at1(5, "ignore"), "Y:2");
  // Not lost, and without room for two more nodes.
  assert.equal(at1(9, "ignore"), "B:1");
  assert.equal(at1(10, "ignore"), "Y:2");
});

Deno.test("lazy() asks for the slack of co-located models' requests", () => {
  const a = staticChain({ name: "a", cells: letters(4) });
  const b = staticChain({ name: "b", cells: ["P", "Q"] });
  const requests = [{ arrivalNs: 0, model: a }, { arrivalNs: 1, model: b }];
  const run = (slaNs: number) =>
    simulateStatic(
      lazy({ slaNs: { a: slaNs, b: 100 }, profile }),
      [a, b],
      requests,
    ).departNs.slice(1);
  assert.deepEqual(run(6), [6, 3]);
  assert.deepEqual(run(5), [4, 6]);
});

Deno.test("decTimesteps() is the smallest length that covers the share", () => {
  const lengths = [[1, 5], [2, 4], [7, 1]] as const;
  assert.equal(decTimesteps(lengths, 0.5), 1);
  assert.equal(decTimesteps(lengths, 0.9), 2);
  assert.equal(decTimesteps(lengths, 1), 7);
  // 7 of 25 are 28 %, although 0.28 * 25 is a little more than 7 in floating point.
  assert.equal(decTimesteps([[1, 7], [2, 18]], 0.28), 1);
  assert.equal(decTimesteps([[1, 7], [2, 18]], 0.2800000001), 2);
  assert.equal(decTimesteps([[1, 1], [2, 1e15 - 1]], 1e-15), 1);
  assert.throws(() => decTimesteps(lengths, 0), RangeError);
  assert.throws(() => decTimesteps([], 0.9), RangeError);
});
