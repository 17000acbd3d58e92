/** A policy of one's own can be anything: what it does wrong is said, and ends its engine at most. */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ServingOptions } from "../../src/engine/wall/serving_options.ts";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Decision, Policy, WorkerView } from "../../src/policy/policy.ts";
import type { Step, Tail } from "../../src/policy/launch.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import type { Request } from "../../src/policy/request.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { DecisionLog } from "../../src/report/decision_log.ts";
import { runRequests } from "../run_requests.ts";
import { withWatchedWorkers } from "../watched_workers.ts";
import { ask } from "./ask.ts";

const model = lstm({ hidden: 12, vocabulary: 20, head: "classifier" });
const [cell, head] = model.cells;
const input = { tokens: [1, 2, 3] };
const expected = runRequests(model, [input])[0];

function create(options: Partial<ServingOptions>): Promise<ServingEngine> {
  return ServingEngine.create({
    models: [model],
    slotBytes: 2 ** 22,
    ...options,
  });
}

const luck = new Error("out of luck");
const throws = () => {
  throw luck;
};

Deno.test("every policy serves one engine only", async () => {
  for (const [name, { build }] of Object.entries(POLICIES)) {
    const policy = build();
    await using _first = await create({ policy });
    await withWatchedWorkers(async (workers) => {
      await assert.rejects(create({ policy }), {
        name: "TypeError",
        message: new RegExp(`Policy "${name}" serves another engine`),
      });
      assert.equal(workers.length, 0, "no worker was started for it");
    });
  }
});

Deno.test("an engine whose policy throws or does nothing can be closed", async () => {
  const idle: Policy = {
    name: "idle",
    supports: () => undefined,
    enqueue() {},
    schedule: () => ({ kind: "idle" }),
  };
  const lost = await create({ policy: idle });
  const waiting = assert.rejects(
    ask(lost, model, input),
    /Policy "idle" leaves 1 requests waiting for nothing/,
  );
  await lost.close();
  await waiting;
  for (const member of ["enqueue", "schedule", "submitted", "ended"] as const) {
    const broken = await create({
      policy: { ...cellular(), [member]: throws },
    });
    const first = ask(broken, model, input);
    // A result that was there already is delivered.
    if (member === "ended") assert.deepStrictEqual(await first, expected);
    else await assert.rejects(first, luck);
    await assert.rejects(ask(broken, model, input), luck);
    await broken.close();
  }
});

Deno.test("an engine whose policy does nothing but wait can be closed", async () => {
  let asked = 0;
  const dozing: Policy = {
    ...serial(),
    schedule({ nowNs }) {
      asked++;
      return { kind: "wait", untilNs: nowNs + 1 };
    },
  };
  const engine = await create({ policy: dozing, workers: 0 });
  const waiting = assert.rejects(
    ask(engine, model, input),
    /Policy "serial" leaves 1 requests waiting through 1000 of its waits/,
  );
  await engine.close();
  await waiting;
  assert(asked > 1000);
  // One of which the last wait ends in a launch is none.
  let waits = 0;
  const inner = serial();
  const patient: Policy = {
    ...inner,
    schedule: (view) =>
      waits++ < 500
        ? { kind: "wait", untilNs: view.nowNs + 1 }
        : inner.schedule(view),
  };
  const other = await create({ policy: patient, workers: 0 });
  const answer = ask(other, model, input);
  await other.close();
  assert.deepStrictEqual(await answer, expected);
});

Deno.test("an engine whose policy throws what is nothing ends all the same", async () => {
  for (const nothing of [undefined, null, 0, ""]) {
    for (const member of ["enqueue", "schedule", "submitted"] as const) {
      const broken = await create({
        policy: {
          ...cellular(),
          [member]() {
            throw nothing;
          },
        },
      });
      for (let i = 0; i < 2; i++) {
        await assert.rejects(ask(broken, model, input), {
          message: `The engine was ended by ${nothing}, which is no error`,
        });
      }
      await broken.close();
    }
  }
});

Deno.test("an engine whose policy answers something else than a decision ends, instead of asking for ever", async () => {
  const answers = [undefined, null, 5, {}, { kind: "nap" }];
  for (const answer of [...answers, Promise.resolve({ kind: "idle" })]) {
    const engine = await create({
      policy: { ...cellular(), schedule: () => answer as Decision },
    });
    await assert.rejects(ask(engine, model, input), {
      name: "TypeError",
      message:
        /"schedule" of policy "cellular" returns a launch, a wait or idle, got /,
    });
    await engine.close();
  }
});

Deno.test("a policy's hooks are functions, and it looks ahead of itself by 1 or more", async () => {
  for (const most of [0, NaN, -1, "5", {}]) {
    const policy: Policy = { ...cellular(), lookahead: () => most as number };
    await assert.rejects(create({ policy }), {
      name: "RangeError",
      message: /^"lookahead" of policy "cellular" is 1 or more, got .* "lstm"$/,
    });
  }
  for (
    const hook of ["lookahead", "submitted", "completed", "finished", "ended"]
  ) {
    const policy = { ...cellular(), [hook]: 5 } as Policy;
    await assert.rejects(create({ policy }), {
      name: "TypeError",
      message: `"${hook}" of policy "cellular" is a function, got 5`,
    });
  }
  // As many as there may be.
  const policy = { ...cellular(), lookahead: () => Infinity };
  await using engine = await create({ policy });
  assert.deepStrictEqual(await ask(engine, model, input), expected);
});

Deno.test("a policy's functions that return a promise end the engine, or are refused before there is one", async () => {
  const members = ["enqueue", "submitted", "completed", "finished", "ended"];
  for (const member of [...members, "supports", "lookahead"]) {
    const message =
      `"${member}" of policy "cellular" returned a promise; it has to be done when it returns`;
    const refused = { name: "TypeError", message };
    const policy = {
      ...cellular(),
      [member]: () => Promise.reject(luck),
    } as unknown as Policy;
    if (!members.includes(member)) {
      await assert.rejects(create({ policy }), refused);
      continue;
    }
    await using engine = await create({ policy });
    const first = ask(engine, model, input);
    // A result that was there already is delivered.
    if (member === "ended") assert.deepStrictEqual(await first, expected);
    else await assert.rejects(first, refused);
    await assert.rejects(ask(engine, model, input), refused);
  }
});

Deno.test("a launch or a wait that cannot be is named, and ends the engine", async () => {
  const wrong: [Record<string, unknown>, RegExp][] = [
    ...["0", 1, -1, 0.5, NaN, undefined].map((
      worker,
    ): [Record<string, unknown>, RegExp] => [
      { worker },
      /"worker" of 0 to 0,/,
    ]),
    [{ steps: undefined }, /one or more "steps", got undefined/],
    [{ steps: [] }, /one or more "steps", got \[\]/],
    ...[undefined, { nodes: [] }, { cell }, { cell, nodes: [] }].map((
      step,
    ): [Record<string, unknown>, RegExp] => [
      { steps: [step] },
      /steps of a "cell" and "nodes", got /,
    ]),
    // It would be asked for ever.
    [
      { steps: [{ cell, nodes: [] }], paddedRows: 4 },
      /a node in one of its steps, got 0/,
    ],
    [{ tail: null }, /a "tail" of "cells" and "requests", or none, got null/],
    [{ tail: { requests: [] } }, /a list of "cells", got undefined/],
    [
      { tail: { cells: [cell], requests: [7] } },
      /requests in its "tail", got 7/,
    ],
    [{ tokens: "a" }, /a list of "tokens", got "a"/],
    ...["a", null, { id: 1, access: "read" }, { id: "a", access: "w" }].map((
      token,
    ): [Record<string, unknown>, RegExp] => [
      { tokens: [token] },
      /tokens of "id" and "access", read or write, got /,
    ]),
    [{ notes: 7 }, /a list of "notes", got 7/],
    ...["merge", null, { op: "merge" }].map((
      note,
    ): [Record<string, unknown>, RegExp] => [
      { notes: [note] },
      /notes of "op", "requests" and "why", got /,
    ]),
    ...[7, null, undefined].map((
      node,
    ): [Record<string, unknown>, RegExp] => [
      { steps: [{ cell, nodes: [node] }] },
      new RegExp(`nodes of requests' graphs .* got ${node}`),
    ]),
    [
      { steps: [{ cell: "lstm_step", nodes: [] }], paddedRows: 4 },
      /steps of a "cell" and "nodes", got {"cell":"lstm_step"/,
    ],
    [{ release: "never" }, /"release" "step" or "end", got "never"/],
    ...["paddedRows", "paddedLength"].flatMap((key) =>
      [-1, 0.5, NaN, "8", 1e9].map((
        value,
      ): [Record<string, unknown>, RegExp] => [
        { [key]: value },
        new RegExp(`"${key}" of 0 to 1048576, got`),
      ])
    ),
  ];
  for (const [change, message] of wrong) {
    const inner = cellular();
    const policy: Policy = {
      ...inner,
      schedule(view) {
        const decision = inner.schedule(view);
        if (decision.kind !== "launch") return decision;
        return { ...decision, launch: { ...decision.launch, ...change } };
      },
    };
    // One that would look at what is not there.
    const errors: unknown[] = [];
    const observer = new DecisionLog(policy.name);
    const onError = (error: unknown) => void errors.push(error);
    await using engine = await create({ policy, observer, onError });
    await assert.rejects(ask(engine, model, input), {
      name: "TypeError",
      message,
    });
    assert.deepEqual(errors, []);
  }
  for (const untilNs of ["9e99", NaN, -Infinity, undefined]) {
    const waits = { kind: "wait", untilNs } as Decision;
    const policy = { ...cellular(), schedule: () => waits };
    await using engine = await create({ policy });
    await assert.rejects(ask(engine, model, input), {
      name: "TypeError",
      message: /^A wait of policy "cellular" has "untilNs" later than now, /,
    });
  }
});

Deno.test("a node that cannot be launched is named, and why", async () => {
  type Answer = (request: Request, before: Request | undefined) => Step;
  const inputs = "its inputs are neither done nor queued on worker 0 before it";
  const wrong: [Answer, string][] = [
    [
      ({ graph }) => ({ cell, nodes: [graph.nodes[1]] }),
      `node 1, of cell "lstm_step" and request 0: ${inputs}`,
    ],
    [
      ({ graph }) => ({ cell, nodes: [graph.nodes[0], graph.nodes[0]] }),
      'node 0, of cell "lstm_step" and request 0: it was launched before',
    ],
    [
      ({ graph }) => ({ cell: head, nodes: [graph.nodes[0]] }),
      'node 0, of cell "lstm_step" and request 0: the step is of cell "lstm_head"',
    ],
    [
      (_, before) => ({ cell, nodes: [before!.graph.nodes[0]] }),
      'node 0, of cell "lstm_step" and request 0: it is over, or another engine\'s',
    ],
  ];
  const requests: Request[] = [];
  const lazy: Policy = {
    ...cellular(),
    enqueue: (request) => void requests.push(request),
    schedule: () => ({ kind: "idle" }),
  };
  await using other = await create({ policy: lazy });
  const left = assert.rejects(ask(other, model, input), /leaves 1 requests/);
  for (const [step, which] of wrong) {
    const waiting: Request[] = [];
    await using engine = await create({
      policy: {
        ...lazy,
        enqueue: (request) => void waiting.push(request),
        schedule() {
          if (waiting.length === 0) return { kind: "idle" };
          const steps = [step(waiting[0], requests[0])];
          const launch = {
            worker: 0,
            steps,
            release: "step",
            why: "",
          } as const;
          return { kind: "launch", launch };
        },
      },
    });
    await assert.rejects(ask(engine, model, input), {
      name: "TypeError",
      message: `A launch of policy "cellular" has ${which}`,
    });
  }
  await other.close();
  await left;
});

Deno.test("a request that cannot be in a launch's tail is named, and why", async () => {
  const other = lstm({ hidden: 4, vocabulary: 20 });
  const over: Request[] = [];
  const tails: [(requests: Request[]) => Tail, string][] = [
    [
      () => ({ cells: [cell], requests: over }),
      'request 0 in its "tail": it is over, or another engine\'s',
    ],
    [
      (requests) => ({ cells: [cell], requests }),
      'request 2 in its "tail": it is to model "lstm", and the first to "lstm"',
    ],
    [
      ([request]) => ({ cells: [], requests: [request] }),
      'one or more "cells" of model "lstm" in its "tail", got []',
    ],
    [
      ([request]) => ({ cells: ["lstm_step"] as never, requests: [request] }),
      'one or more "cells" of model "lstm" in its "tail", got ["lstm_step"]',
    ],
  ];
  for (const [tail, which] of tails) {
    const waiting: Request[] = [];
    over.length = 0;
    const inner = serial();
    await using engine = await create({
      models: [model, other],
      workers: 0,
      policy: {
        ...inner,
        enqueue(request) {
          waiting.push(request);
          inner.enqueue(request);
        },
        schedule(view) {
          const decision = inner.schedule(view);
          if (decision.kind !== "launch" || over.length === 0) return decision;
          const launch = { ...decision.launch, tail: tail(waiting) };
          return { kind: "launch", launch };
        },
        ended: (request) => void over.push(...waiting.splice(0), request),
      },
    });
    await ask(engine, model, input);
    const asked = [ask(engine, model, input), ask(engine, other, input)];
    await Promise.all(asked.map((answer) =>
      assert.rejects(answer, {
        name: "TypeError",
        message: `A launch of policy "serial" has ${which}`,
      })
    ));
  }
});

Deno.test("the nodes of a request are to be read: who takes them out does not compile", () => {
  const reading: Policy["enqueue"] = ({ graph }) => void graph.nodes[0];
  // @ts-expect-error -- they are the engine's
  const taking: Policy["enqueue"] = ({ graph }) => void graph.nodes.shift();
  assert.notEqual(reading, taking);
});

Deno.test("a policy that sorts the workers of its view in place is told so", async () => {
  const inner = cellular();
  const policy: Policy = {
    ...inner,
    schedule(view) {
      (view.workers as WorkerView[]).sort((a, b) => b.id - a.id);
      return inner.schedule(view);
    },
  };
  await using engine = await create({ policy, workers: 2 });
  await assert.rejects(ask(engine, model, input), {
    name: "TypeError",
    message: /read only property/,
  });
});
