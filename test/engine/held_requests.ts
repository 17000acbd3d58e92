/**
 * A process of its own, with `--expose-gc`: says how much of what requests and frames brought and got is held by an
 * engine when they are over: requests whose deadlines are far, behind one that goes on, and frames of parked streams.
 */
import { setImmediate } from "node:timers/promises";
import { Session } from "../../src/engine/core/session.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Model } from "../../src/graph/model.ts";
import { gpt } from "../../src/models/gpt.ts";
import { lstm } from "../../src/models/lstm.ts";
import { lstmStream } from "../../src/models/rnn_stream.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Policy } from "../../src/policy/policy.ts";

/** Fewer than a heap of deadlines keeps of requests that have ended. */
const REQUESTS = 100;
const STREAMS = 50;
const FRAMES = 4;

const { gc } = globalThis as unknown as { gc(): void };

/** Objects of one kind. */
class Watched {
  readonly #all: WeakRef<object>[] = [];

  add<T extends object>(one: T): T {
    this.#all.push(new WeakRef(one));
    return one;
  }

  /** How many there are still. */
  async held(): Promise<number> {
    // A reference that was looked at holds until the turn is over.
    for (let i = 0; i < 3; i++) {
      await setImmediate();
      gc();
    }
    return this.#all.filter((one) => one.deref()).length;
  }
}

const quick = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
const decoder = gpt({
  ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 10, positionsMax: 64 },
});
const never = lstm({ hidden: 4, vocabulary: 10 });
const streams = lstmStream({ hidden: 4, features: 8 });
const ENGINE = { workers: 0, warmUp: false, slotBytes: 2 ** 22 } as const;

/** A policy that leaves requests of a model alone. */
function without(model: Model, policy: Policy): Policy {
  return {
    ...policy,
    enqueue: (one) => one.model === model ? undefined : policy.enqueue(one),
    ended: (one) => one.model === model ? undefined : policy.ended?.(one),
  };
}

async function ofRequests(policy: Policy) {
  const [inputs, prompts, answers] = [
    ...[new Watched(), new Watched(), new Watched()],
  ];
  await using engine = await ServingEngine.create({
    ...ENGINE,
    models: [quick, decoder, never],
    policy: without(never, policy),
  });
  const left = new AbortController();
  // Its deadline is the nearest one, and keeps all others where they are.
  const first = engine.run(never, { tokens: [1] }, {
    finishMs: 1e6,
    signal: left.signal,
  });
  const options = { finishMs: 2e6 };
  let steps = 0;
  for (let i = 0; i < REQUESTS; i++) {
    const input = inputs.add({ tokens: [1, 2, 3] });
    answers.add((await engine.run(quick, input, options)).outputs.logits.data);
    const asked = prompts.add({ tokens: [1], maxSteps: 2 });
    for await (const _ of engine.stream(decoder, asked, options)) steps++;
  }
  const held = {
    steps,
    inputs: await inputs.held(),
    prompts: await prompts.held(),
    answers: await answers.held(),
  };
  left.abort();
  await first.catch(() => {});
  return held;
}

async function ofStreams() {
  const [frames, answers, copies] = [
    ...[new Watched(), new Watched(), new Watched()],
  ];
  const { copyOf } = Session.prototype;
  Session.prototype.copyOf = function (values) {
    const made = copyOf.call(this, values);
    made.forEach((one) => copies.add(one));
    return made;
  };
  await using engine = await ServingEngine.create({
    ...ENGINE,
    models: [streams],
    policy: cellular(),
  });
  const open = Array.from({ length: STREAMS }, () => engine.open(streams));
  let copied = 0;
  for (const stream of open) {
    const pushed = Array.from(
      { length: FRAMES },
      () => stream.push({ x: frames.add(new Float32Array(8)) }),
    );
    copied += stream.pending;
    for (const { outputs } of await Promise.all(pushed)) {
      answers.add(outputs.h.data);
    }
    await stream.park();
  }
  return {
    parked: open.filter(({ parked }) => parked).length,
    copied,
    frames: await frames.held(),
    answers: await answers.held(),
    copies: await copies.held(),
  };
}

console.log(JSON.stringify({
  step: await ofRequests(cellular()),
  end: await ofRequests(graph()),
  streams: await ofStreams(),
}));
