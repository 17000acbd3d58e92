/** Commands of the model-based test of the serving engine, each as often as it is worth. */
import fc from "fast-check";
import { DEATHS } from "./fuse.ts";
import { type EngineUnderTest, HOOKS, turn } from "./engine_under_test.ts";
import { CALLBACKS, SERVED } from "./served_models.ts";
import {
  type RequestSpec,
  SIGNALS,
  type Trick,
  TRICKS,
} from "./served_request.ts";
import type { Oracle } from "./serving_oracle.ts";

export type Command = fc.AsyncCommand<Oracle, EngineUnderTest>;

/** A command that is printed as it was drawn. */
function command(
  name: string,
  data: unknown,
  run: (engine: EngineUnderTest) => void | Promise<void>,
): Command {
  return {
    check: () => true,
    async run(oracle, engine) {
      await run(engine);
      oracle.check();
    },
    toString: () => `${name}(${fc.stringify(data)})`,
  };
}

/** Prints well. */
function record<T>(
  fields: { [Name in keyof T]: fc.Arbitrary<T[Name]> },
): fc.Arbitrary<T> {
  return fc.record(fields, { noNullPrototype: true });
}

const index = fc.nat(30);

function anyInput(model: string): fc.Arbitrary<number> {
  const { cases } = SERVED[model];
  const good = cases.filter(({ fate }) => fate === "done").length;
  return fc.oneof(
    { weight: 7, arbitrary: fc.nat(good - 1) },
    { weight: 1, arbitrary: fc.nat(cases.length - 1) },
  );
}

const CLOSING: Trick[] = ["close", "reject"];

const anyTrick = record({
  at: fc.constantFrom(...CALLBACKS),
  call: fc.nat(3),
  does: fc.oneof(
    {
      weight: 40,
      arbitrary: fc.constantFrom(
        ...TRICKS.filter((trick) => !CLOSING.includes(trick)),
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom(...CLOSING) },
  ),
});

const anySignal = fc.constantFrom(...SIGNALS);

function anySpec(models: readonly string[]): fc.Arbitrary<RequestSpec> {
  const signal = fc.constantFrom("none" as const, "sound" as const);
  const plain = fc.constantFrom(...models).chain((model) =>
    record({ model: fc.constant(model), input: anyInput(model), signal })
  );
  const withMore = <More>(more: fc.Arbitrary<More>) =>
    fc.tuple(plain, more).map(([spec, more]) => ({ ...spec, ...more }));
  return fc.oneof(
    { weight: 30, arbitrary: plain },
    {
      weight: 6,
      arbitrary: withMore(record({
        deadlineMs: fc.constantFrom(1e-6, 0.01, 0.3, 600_000, Infinity, 0, NaN),
      })),
    },
    {
      weight: 6,
      arbitrary: withMore(record({
        finishMs: fc.constantFrom(1e-6, 0.05, 0.5, 3, 600_000, Infinity, NaN),
      })),
    },
    {
      weight: 2,
      arbitrary: withMore(record({
        deadlineMs: fc.constantFrom(0.01, 0.3),
        finishMs: fc.constantFrom(0.01, 0.3, 3),
      })),
    },
    {
      weight: 3,
      arbitrary: withMore(record({
        stepsFixed: fc.constantFrom(0, 1, 2, 5, 50),
      })),
    },
    { weight: 2, arbitrary: withMore(fc.constant({ whenFull: "refuse" })) },
    { weight: 4, arbitrary: withMore(record({ signal: anySignal })) },
    { weight: 6, arbitrary: withMore(record({ trick: anyTrick })) },
    { weight: 1, arbitrary: withMore(fc.constant({ model: "none" })) },
  );
}

const cancel = index.map((i) =>
  command("cancel", i, (engine) => engine.cancel(i))
);

const awaitOne = index.map((i) =>
  command("await", i, (engine) => engine.await(i))
);

const turns = fc.integer({ min: 1, max: 12 }).map((times) =>
  command("turns", times, async () => {
    for (let i = 0; i < times; i++) await turn();
  })
);

const close = fc.constantFrom("finish" as const, "reject" as const).map(
  (pending) => command("close", pending, (engine) => engine.close(pending)),
);

const observer = record({
  hook: fc.constantFrom(...HOOKS),
  does: fc.constantFrom("throw" as const, "run" as const),
}).map((trick) =>
  command("observer", trick, (engine) => engine.trickObserver(trick))
);

const death = record({
  thread: fc.nat(3),
  death: fc.constantFrom(...DEATHS),
  which: fc.constantFrom(undefined, "writes" as const),
  accesses: fc.oneof(
    fc.integer({ min: 1, max: 10 }),
    fc.integer({ min: 1, max: 1000 }),
  ),
}).map((data) =>
  command(
    "kill",
    data,
    (engine) => engine.kill(data.thread, data.death, data.accesses, data.which),
  )
);

/** One command for requests to these models. */
export function anyCommand(
  models: readonly string[],
): fc.Arbitrary<Command> {
  const spec = anySpec(models);
  const run = spec.map((spec) =>
    command("run", spec, (engine) => engine.submit(spec))
  );
  const flood = fc.array(spec, { minLength: 4, maxLength: 20, size: "max" })
    .map((specs) =>
      command("flood", specs, (engine) => {
        for (const spec of specs) engine.submit(spec);
      })
    );
  return fc.oneof(
    { weight: 500, arbitrary: run },
    { weight: 100, arbitrary: cancel },
    { weight: 140, arbitrary: turns },
    { weight: 100, arbitrary: awaitOne },
    { weight: 15, arbitrary: flood },
    { weight: 3, arbitrary: close },
    { weight: 2, arbitrary: observer },
    { weight: 1, arbitrary: death },
  );
}
