/** Sequences over HTTP: frames of streams, whose states stay in the server. */
import assert from "node:assert/strict";
import { QueueFullError } from "../../../src/engine/core/errors.ts";
import { lstmStream } from "../../../src/models/rnn_stream.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import { OverloadedError } from "../../../src/server/host/errors.ts";
import type { HostSession } from "../../../src/server/host/host_session.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import { KeyedAdmission } from "../../../src/server/keys/keyed_admission.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { Sequences } from "../../../src/server/oip/sequences.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { samples } from "../observe/samples.ts";
import { withLongTimers } from "../long_timers.ts";
import { answerOf, requestOf } from "./client.ts";
import { type Ask, withServer } from "./served.ts";

function gestures(version: string, config: Record<string, unknown> = {}) {
  const weights = seededWeights(Number(version));
  const model = lstmStream({ hidden: 4, features: 2, weights });
  return servedStream(model, { name: "gestures", version, config });
}

const X = { name: "x", datatype: "FP32", shape: [2], values: [0, 1] };

function ask1(
  ask: Ask,
  t: number,
  parameters: Record<string, unknown>,
  path = "/v2/models/gestures/infer",
) {
  const x = { name: "x", datatype: "FP32", shape: [2], values: [t, 1 - t] };
  return ask(path, requestOf([[x, "flat"]], { parameters }));
}

async function frame(
  ask: Ask,
  t: number,
  parameters: Record<string, unknown>,
  path?: string,
) {
  const { outputs: [{ values }] } = await answerOf(
    await ask1(ask, t, parameters, path),
  );
  return values;
}

/** What frames 0, 1, 2... come to, of one stream. */
async function expectedOf(version: string, count: number) {
  const all: unknown[] = [];
  await withServer([gestures(version)], async (_, host) => {
    const session = host.open(host.find("gestures"));
    for (let t = 0; t < count; t++) {
      const { outputs } = await session.push({ x: [t, 1 - t] });
      all.push([...outputs["h"].data]);
    }
  });
  return all;
}

Deno.test("frames of sequences go on where the last one ended, side by side", async () => {
  const expected = await expectedOf("1", 4);
  await withServer([gestures("1")], async (ask, host) => {
    const ids = [7, "a name", 2 ** 53 - 1];
    for (let t = 0; t < 4; t++) {
      const answers = await Promise.all(
        ids.map((sequence_id) =>
          frame(ask, t, {
            sequence_id,
            ...(t === 0 && { sequence_start: true }),
            ...(t === 3 && { sequence_end: true }),
          })
        ),
      );
      for (const answer of answers) assert.deepEqual(answer, expected[t]);
      assert.equal(Sequences.of(host).size, t < 3 ? 3 : 0);
    }
    const ended = await ask1(ask, 4, { sequence_id: 7 });
    assert.equal(ended.status, 400);
    assert.match((await ended.json()).error, /"7".*not open.*sequence_start/);
  });
});

Deno.test("frames that are sent at once are computed in the order in which they came", async () => {
  const expected = await expectedOf("1", 8);
  await withServer([gestures("1")], async (ask) => {
    const answers = await Promise.all(
      expected.map((_, t) =>
        frame(ask, t, { sequence_id: 1, sequence_start: t === 0 })
      ),
    );
    assert.deepEqual(answers, expected);
  });
});

Deno.test("a start begins again, a request of no sequence is one of one frame", async () => {
  const [first, second] = await expectedOf("1", 2);
  await withServer([gestures("1")], async (ask, host) => {
    const start = { sequence_id: 1, sequence_start: true };
    assert.deepEqual(await frame(ask, 0, start), first);
    assert.deepEqual(await frame(ask, 0, start), first);
    assert.deepEqual(await frame(ask, 1, { sequence_id: "1" }), second);
    assert.deepEqual(await frame(ask, 0, {}), first);
    assert.deepEqual(await frame(ask, 0, { sequence_id: 0 }), first);
    const whole = { ...start, sequence_id: 2, sequence_end: true };
    assert.deepEqual(await frame(ask, 0, whole), first);
    assert.equal(Sequences.of(host).size, 1);
  });
});

Deno.test("frames that wait for admission when their sequence begins again, or is of one frame, are answered", async () => {
  const [first, second, third] = await expectedOf("1", 3);
  const host = { admission: new CostAdmission({ runningMax: 1 }) };
  await withServer([gestures("1")], async (ask, host) => {
    const start = { sequence_id: 1, sequence_start: true };
    const answers = [
      frame(ask, 0, start),
      frame(ask, 1, { sequence_id: 1 }),
      frame(ask, 2, { sequence_id: 1 }),
      frame(ask, 0, start),
      frame(ask, 0, {}),
      frame(ask, 0, {}),
    ];
    while (host.active === 0) await new Promise((turn) => setTimeout(turn));
    const closed = host.close();
    assert.deepEqual(
      await Promise.all(answers),
      [first, second, third, first, first, first],
    );
    await closed;
  }, { host });
});

Deno.test("a sequence that began with a version goes on with it", async () => {
  const expected = await expectedOf("1", 4);
  const [fresh] = await expectedOf("2", 1);
  await withServer([gestures("1")], async (ask, host) => {
    const answers = [
      await frame(ask, 0, { sequence_id: 1, sequence_start: true }),
      await frame(ask, 1, { sequence_id: 1 }),
    ];
    await host.change(() => [gestures("2")]);
    answers.push(await frame(ask, 2, { sequence_id: 1 }));
    assert.deepEqual(
      await frame(ask, 0, { sequence_id: 2, sequence_start: true }),
      fresh,
    );
    answers.push(await frame(ask, 3, { sequence_id: 1, sequence_end: true }));
    assert.deepEqual(answers, expected);
  });
});

Deno.test("a sequence goes on whose version is in the path and is gone, and nothing else of that version", async () => {
  const path = "/v2/models/gestures/versions/1/infer";
  const expected = await expectedOf("1", 4);
  await withServer([gestures("1")], async (ask, host) => {
    const start = { sequence_id: 1, sequence_start: true };
    const answers = [await frame(ask, 0, start, path)];
    await host.change(() => [gestures("2")]);
    answers.push(await frame(ask, 1, { sequence_id: 1 }, path));
    for (const parameters of [{ ...start, sequence_id: 2 }, {}]) {
      assert.equal((await ask1(ask, 0, parameters, path)).status, 404);
    }
    const [two, three] = [2, 3].map((version) =>
      path.replace("1/infer", `${version}/infer`)
    );
    assert.equal((await ask1(ask, 1, { sequence_id: 1 }, two)).status, 400);
    assert.equal((await ask1(ask, 1, { sequence_id: 1 }, three)).status, 404);
    await host.change(() => []);
    answers.push(await frame(ask, 2, { sequence_id: 1 }));
    const end = { sequence_id: 1, sequence_end: true };
    answers.push(await frame(ask, 3, end, path));
    assert.deepEqual(answers, expected);
    assert.equal((await ask1(ask, 4, { sequence_id: 1 }, path)).status, 404);
  });
});

Deno.test("only so many sequences of a model are open", async () => {
  const config = {
    sequence_batching: { oldest: { max_candidate_sequences: 2 } },
  };
  const others = servedStream(lstmStream({ hidden: 4, features: 2 }), {
    name: "others",
    config,
  });
  await withServer([gestures("1", config), others], async (ask, host) => {
    const start = (sequence_id: number) =>
      ask1(ask, 0, { sequence_id, sequence_start: true });
    assert.equal((await start(1)).status, 200);
    assert.equal((await start(2)).status, 200);
    const refused = await start(3);
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /2 sequences of model .*gestures/);
    assert(refused.headers.has("retry-after"));
    // Another model has its own.
    const other = await ask(
      "/v2/models/others/infer",
      requestOf([[X, "flat"]], {
        parameters: { sequence_id: 1, sequence_start: true },
      }),
    );
    assert.equal(other.status, 200);
    assert.equal(Sequences.of(host).size, 3);
  });
});

Deno.test("a request that no stream can be opened for is counted as refused, once, and a sequence's when the server ends", async () => {
  const config = {
    sequence_batching: { oldest: { max_candidate_sequences: 1 } },
  };
  const monitor = new Monitor();
  // Room for few streams.
  const engine = { workers: 0, warmUp: false, slotBytes: 1024 };
  const host = { observers: monitor.observers, engine };
  await withServer([gestures("1", config)], async (ask, host) => {
    const counted = async () => {
      const text = await (await ask("/metrics")).text();
      const all = samples(text, "shoal_requests_refused_total");
      const waiting = samples(text, "shoal_requests_waiting");
      assert(Object.values(waiting).every((count) => count === 0));
      return Object.entries(all).map(([labels, count]) => [
        /reason="(.*)"/.exec(labels)![1],
        count,
      ]);
    };
    const asked = async (sequence_id: number, parameters: object = {}) => {
      const { status } = await ask1(ask, 0, { sequence_id, ...parameters });
      return status;
    };
    const start = { sequence_start: true };
    assert.equal(await asked(1, start), 200);
    assert.deepEqual(await counted(), []);
    // One more than may be open; and one of no sequence, for whose stream there is no room.
    assert.equal(await asked(2, start), 503);
    const held: HostSession[] = [];
    assert.throws(() => {
      for (;;) held.push(host.open(host.find("gestures")));
    }, QueueFullError);
    assert.equal(await asked(0), 503);
    assert.deepEqual(await counted(), [["full", 2]]);
    assert.equal(host.statistics.of(host.find("gestures")).fail.count, 2);
    await host.close();
    // It is open as its client knows, who is to go on elsewhere.
    assert.equal(await asked(1), 503);
    assert.equal(await asked(3, start), 503);
    assert.equal(await asked(0), 503);
    assert.deepEqual(await counted(), [["full", 2], ["unavailable", 3]]);
  }, { monitor, host });
});

Deno.test("an idle sequence is ended, and makes room", async () => {
  const config = {
    sequence_batching: {
      max_sequence_idle_microseconds: 20_000,
      oldest: { max_candidate_sequences: 1 },
    },
  };
  await withServer([gestures("1", config)], async (ask, host) => {
    const start = (sequence_id: number) =>
      ask1(ask, 0, { sequence_id, sequence_start: true });
    assert.equal((await start(1)).status, 200);
    while (Sequences.of(host).size > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal((await ask1(ask, 1, { sequence_id: 1 })).status, 400);
    assert.equal((await start(3)).status, 200);
  });
});

Deno.test("a sequence may be idle for longer than a timer can last", async () => {
  const days = 30;
  const idleMs = days * 24 * 3_600_000;
  const config = {
    sequence_batching: { max_sequence_idle_microseconds: idleMs * 1000 },
  };
  await withLongTimers(async (ring) => {
    await withServer([gestures("1", config)], async (ask, host) => {
      const start = { sequence_id: 1, sequence_start: true };
      assert.equal((await ask1(ask, 0, start)).status, 200);
      const first = ring();
      assert.equal(Sequences.of(host).size, 1);
      assert.equal(first + ring(), idleMs);
      assert.equal(Sequences.of(host).size, 0);
    });
  });
});

/** As `ask`, with a key. */
function withKey(ask: Ask, key: string): Ask {
  const authorization = `Bearer ${key}`;
  return (path, init) =>
    ask(path, { ...init, headers: { ...init?.headers, authorization } });
}

Deno.test("a key that may not use a model opens and ends no sequences of it", async () => {
  const config = {
    sequence_batching: { oldest: { max_candidate_sequences: 2 } },
  };
  const keys = new KeyRing([
    { name: "owner", sha256: await keySha256("owner") },
    { name: "other", sha256: await keySha256("other"), models: ["others"] },
  ]);
  const admission = new KeyedAdmission(keys, new CostAdmission());
  const [first, second] = await expectedOf("1", 2);
  await withServer([gestures("1", config)], async (ask, host) => {
    const [owner, other] = ["owner", "other"].map((key) => withKey(ask, key));
    const start = { sequence_id: 1, sequence_start: true };
    assert.deepEqual(await frame(owner, 0, start), first);
    for (
      const parameters of [
        start,
        { sequence_id: 1, sequence_end: true },
        { sequence_id: 2, sequence_start: true },
        {},
      ]
    ) {
      assert.equal((await ask1(other, 0, parameters)).status, 403);
      assert.equal(Sequences.of(host).size, 1);
    }
    assert.deepEqual(await frame(owner, 1, { sequence_id: 1 }), second);
  }, { keys, host: { admission } });
});

Deno.test("a first frame that is refused opens nothing, a last one ends nothing and may be sent again", async () => {
  const [first, second] = await expectedOf("1", 2);
  let isFull = false;
  let admitted: (() => void) | undefined;
  const admission: Admission = {
    admit() {
      if (isFull) throw new OverloadedError("No more", 1000);
      return () => {};
    },
  };
  await withServer([gestures("1")], async (ask, host) => {
    const sequences = Sequences.of(host);
    const start = { sequence_id: 1, sequence_start: true };
    const end = { sequence_id: 1, sequence_end: true };
    isFull = true;
    for (const parameters of [start, { ...start, ...end }]) {
      assert.equal((await ask1(ask, 0, parameters)).status, 503);
      assert.equal(sequences.size, 0);
    }
    isFull = false;
    assert.deepEqual(await frame(ask, 0, start), first);
    isFull = true;
    assert.equal((await ask1(ask, 1, end)).status, 503);
    assert.equal(sequences.size, 1);
    isFull = false;
    assert.deepEqual(await frame(ask, 1, end), second);
    assert.equal(sequences.size, 0);

    // Another one begins while the last frame waits, and is refused: it is gone.
    assert.deepEqual(await frame(ask, 0, start), first);
    const gate = new Promise<void>((resolve) => admitted = resolve);
    admission.admit = async () => {
      await gate;
      throw new OverloadedError("No more", 1000);
    };
    const ended = ask1(ask, 1, end);
    while (sequences.size > 0) await new Promise((turn) => setTimeout(turn));
    admission.admit = () => () => {};
    assert.deepEqual(await frame(ask, 0, start), first);
    admitted!();
    assert.equal((await ended).status, 503);
    assert.deepEqual(await frame(ask, 1, { sequence_id: 1 }), second);
    assert.equal(sequences.size, 1);
    await host.change(() => [gestures("2")]);
    assert.equal(host.engines, 2);
    assert.equal((await ask1(ask, 2, end)).status, 200);
    while (host.engines > 1) await new Promise((turn) => setTimeout(turn));
  }, { host: { admission } });
});

Deno.test("a last frame that is refused brings no more back than may be open", async () => {
  const config = {
    sequence_batching: { oldest: { max_candidate_sequences: 1 } },
  };
  const admission: Admission = { admit: () => () => {} };
  await withServer([gestures("1", config)], async (ask, host) => {
    const sequences = Sequences.of(host);
    const start = (sequence_id: number) =>
      frame(ask, 0, { sequence_id, sequence_start: true });
    await start(1);
    let refuse = () => {};
    admission.admit = () =>
      new Promise((_, reject) =>
        refuse = () => reject(new OverloadedError("No more", 1000))
      );
    const ended = ask1(ask, 1, { sequence_id: 1, sequence_end: true });
    while (sequences.size > 0) await new Promise((turn) => setTimeout(turn));
    admission.admit = () => () => {};
    await start(2);
    refuse();
    assert.equal((await ended).status, 503);
    assert.equal(sequences.size, 1);
    assert.equal((await ask1(ask, 1, { sequence_id: 1 })).status, 400);
  }, { host: { admission } });
});

Deno.test("what is no sequence is refused", async () => {
  const tokens = servedTokens(lstm({ hidden: 2, vocabulary: 4 }), {
    name: "tokens",
  });
  await withServer([gestures("1"), tokens], async (ask, host) => {
    for (
      const parameters of [
        { sequence_start: true },
        { sequence_id: -1, sequence_start: true },
        { sequence_id: 1.5, sequence_start: true },
        { sequence_id: "x".repeat(129), sequence_start: true },
        { sequence_id: 1, sequence_start: "yes" },
        { sequence_id: 1 },
        { sequence_id: 1, sequence_end: true },
      ]
    ) {
      const response = await ask1(ask, 0, parameters);
      assert.equal(response.status, 400, JSON.stringify(parameters));
    }
    // A first frame that does not fit opens nothing.
    const x = { name: "x", datatype: "FP32", shape: [3], values: [1, 2, 3] };
    const response = await ask(
      "/v2/models/gestures/infer",
      requestOf([[x, "flat"]], {
        parameters: { sequence_id: 1, sequence_start: true },
      }),
    );
    assert.equal(response.status, 400);
    assert.equal(Sequences.of(host).size, 0);
    const ids = { name: "tokens", datatype: "INT32", shape: [1], values: [1] };
    const none = await ask(
      "/v2/models/tokens/infer",
      requestOf([[ids, "flat"]], {
        parameters: { sequence_id: 1, sequence_start: true },
      }),
    );
    assert.match((await none.json()).error, /none of streams/);
  });
});
