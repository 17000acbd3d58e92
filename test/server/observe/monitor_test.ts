/** What a server tells of itself: figures, explanations, its log, and spans. */
import assert from "node:assert/strict";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../../src/policy/baselines/serial.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { seq2seq } from "../../../src/models/seq2seq.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { createServer } from "../../../src/server/server.ts";
import { node, writeModel } from "../../onnx/write_model.ts";
import { DeadlineError } from "../../../src/engine/core/errors.ts";
import {
  OverloadedError,
  UnavailableError,
} from "../../../src/server/host/errors.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import { AccessLog } from "../../../src/server/observe/access_log.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { reasonOf } from "../../../src/server/observe/refusal_reason.ts";
import { runRequests } from "../../run_requests.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { samples } from "./samples.ts";

const INTENTS = 'model="intents",version="1",policy="cellular"';

Deno.test("figures count what was served, how long it took, and the batches", async () => {
  const monitor = new Monitor();
  const host = { observers: monitor.observers };
  await withServer({ monitor, host }, async (ask) => {
    const before = await (await ask("/metrics")).text();
    assert.deepEqual(samples(before, "shoal_requests_served_total"), {});
    const answers = await Promise.all(
      [[1, 2, 3], [4, 5]].map((tokens) =>
        ask("/v2/models/intents/infer", {
          method: "POST",
          body: inferBody(tokens),
        })
      ),
    );
    assert(answers.every(({ status }) => status === 200));
    const response = await ask("/metrics");
    assert.match(
      response.headers.get("content-type")!,
      /^text\/plain; version=/,
    );
    const text = await response.text();
    const one = (name: string) => samples(text, name)[INTENTS];
    assert.equal(one("shoal_requests_served_total"), 2);
    assert.equal(one("shoal_requests_running"), 0);
    assert.equal(one("shoal_requests_waiting"), 0);
    for (const time of ["queue", "execute", "request"]) {
      assert.equal(one(`shoal_${time}_seconds_count`), 2);
      assert(one(`shoal_${time}_seconds_sum`) > 0);
    }
    const queued = one("shoal_queue_seconds_sum");
    const executed = one("shoal_execute_seconds_sum");
    assert(queued + executed <= one("shoal_request_seconds_sum"));
    // Five steps and two heads, some of them of both.
    const batches = one("shoal_batch_size_count");
    assert(batches >= 4 && batches <= 7, `${batches}`);
    assert.equal(one("shoal_batch_size_sum"), 7);
    assert.equal(one("shoal_padding_ratio_count"), batches);
    assert(samples(text, "process_resident_memory_bytes")[""] > 1e6);
  });
});

Deno.test("steps ahead of an answer's end are no batches", async () => {
  const sizes = { hidden: 4, sourceVocabulary: 9, targetVocabulary: 9 };
  const input = { tokens: [1], maxSteps: 9 };
  const [endless] = runRequests(seq2seq({ ...sizes, eos: null }), [input]);
  // An answer of one token: a step more was queued by then.
  const [eos] = endless!["tokens"]?.data as Int32Array;
  const one = servedTokens(seq2seq({ ...sizes, eos: eos! }), { name: "s" });
  for (const policy of [serial, graph]) {
    const monitor = new Monitor();
    const host = await EngineHost.create({
      models: [one],
      policy: () => policy(),
      engine: { workers: 0, warmUp: false },
      observers: monitor.observers,
    });
    const server = createServer(host, { monitor });
    const { outputs } = await host.run(one, input);
    assert.equal(outputs["tokens"]?.data.length, 1);
    const figures = new Request("http://localhost/metrics");
    const text = await (await server.fetch(figures)).text();
    await server.close();
    for (const name of ["size_count", "size_sum"]) {
      assert.deepEqual(Object.values(samples(text, `shoal_batch_${name}`)), [
        2,
      ]);
    }
  }
});

Deno.test("what was not served is counted by its reason", async () => {
  const monitor = new Monitor();
  let refuses = true;
  const admission: Admission = {
    admit() {
      if (refuses) throw new OverloadedError("full", 10, "late");
      return () => {};
    },
  };
  const host = { observers: monitor.observers, admission };
  await withServer({ monitor, host }, async (ask, { host }) => {
    const intents = host.find("intents");
    await assert.rejects(host.run(intents, { tokens: [1] }));
    refuses = false;
    await assert.rejects(host.run(intents, { tokens: ["x"] }));
    const tokens = new Int32Array(5000);
    await assert.rejects(
      host.run(intents, { tokens }, { finishMs: 0.01 }),
      DeadlineError,
    );
    const text = await (await ask("/metrics")).text();
    assert.deepEqual(samples(text, "shoal_requests_refused_total"), {
      [`${INTENTS},reason="late"`]: 1,
      [`${INTENTS},reason="input"`]: 1,
    });
    assert.deepEqual(samples(text, "shoal_requests_failed_total"), {
      [`${INTENTS},reason="deadline"`]: 1,
    });
    assert.equal(samples(text, "shoal_requests_waiting")[INTENTS], 0);
    assert.equal(samples(text, "shoal_requests_running")[INTENTS], 0);
  });
  assert.equal(reasonOf(new DOMException("gone", "AbortError")), "cancelled");
  assert.equal(reasonOf("whatever"), "internal");
});

Deno.test("a model under two names, or of two versions, has the figures of each", async () => {
  const monitor = new Monitor({ compatible: ["triton"] });
  const model = lstm({ hidden: 8, vocabulary: 10 });
  const [one, two] = [
    servedTokens(model, { name: "one" }),
    servedTokens(model, { name: "two", version: "2" }),
  ];
  const host = { observers: monitor.observers, models: [one, two] };
  await withServer({ monitor, host }, async (ask, { host }) => {
    await host.run(two, { tokens: [1, 2, 3] });
    await host.run(one, { tokens: [1] });
    await host.change(() => [two]);
    await host.run(two, { tokens: [4, 5] });
    const text = await (await ask("/metrics")).text();
    const labels = ['model="one",version="1"', 'model="two",version="2"'];
    const read = (name: string, more = "") =>
      labels.map((of) => samples(text, name)[`${of}${more}`]);
    const own = ',policy="cellular"';
    assert.deepEqual(read("shoal_requests_served_total", own), [1, 2]);
    assert.deepEqual(read("shoal_request_seconds_count", own), [1, 2]);
    assert.deepEqual(read("shoal_requests_running", own), [0, 0]);
    assert.deepEqual(read("shoal_batch_size_count", own), [1, 5]);
    assert.deepEqual(read("nv_inference_request_success"), [1, 2]);
    assert.deepEqual(read("nv_inference_exec_count"), [1, 5]);
    const { statistics } = host;
    assert.deepEqual(
      [one, two].map((served) => statistics.of(served).executions),
      [1, 5],
    );
  });
});

Deno.test("of a request of many rows the last ones are explained", async () => {
  const file = writeModel({
    graph: {
      inputs: [{ name: "x", type: "float32", dims: ["rows", 1] }],
      outputs: [{ name: "y" }],
      initializers: {},
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });
  const served = servedOnnx(await loadOnnx(file), { name: "rows" });
  const monitor = new Monitor();
  const host = await EngineHost.create({
    models: [served],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    observers: monitor.observers,
  });
  const server = createServer(host, { monitor });
  for (const [id, rows] of [["few", 3], ["many", 500]] as const) {
    await host.run(served, { x: new Float32Array(rows) }, { id });
    const { requests, launches, text } = await (await server.fetch(
      new Request(`http://localhost/v2/models/rows/explain/${id}`),
    )).json();
    assert.equal(requests.length, Math.min(rows, 64));
    assert(launches.length > 0);
    const told = `of its ${rows} rows, the last 64:`;
    assert.equal(text.includes(told), rows > 64);
    assert.match(text.join("\n"), new RegExp(`request ${requests.at(-1)} `));
  }
  await server.close();
});

Deno.test("what is refused before its body is read is counted without a model", async () => {
  const monitor = new Monitor();
  const admission: Admission = {
    admit: () => () => {},
    refusal: () => new OverloadedError("full", 10),
  };
  const host = { observers: monitor.observers, admission };
  await withServer({ monitor, host }, async (ask) => {
    const path = "/v2/models/intents/infer";
    const response = await ask(path, { method: "POST", body: inferBody() });
    assert.equal(response.status, 503);
    const text = await (await ask("/metrics")).text();
    assert.deepEqual(samples(text, "shoal_requests_refused_unread_total"), {
      'reason="full"': 1,
    });
    assert.deepEqual(samples(text, "shoal_requests_refused_total"), {});
  });
});

Deno.test("what comes while the server ends is counted as refused", async () => {
  const monitor = new Monitor();
  let admit = () => {};
  const held = new Promise<void>((resolve) => admit = resolve);
  let come = () => {};
  const came = new Promise<void>((resolve) => come = resolve);
  const admission: Admission = {
    async admit() {
      come();
      await held;
      return () => {};
    },
  };
  const host = { observers: monitor.observers, admission };
  await withServer({ monitor, host }, async (ask, { host, close }) => {
    const infer = async () => {
      const init = { method: "POST", body: inferBody() };
      return (await ask("/v2/models/intents/infer", init)).status;
    };
    const before = infer();
    await came;
    const closed = close();
    assert.equal(await infer(), 503);
    const steps = host.stream(host.find("intents"), { tokens: [1] });
    await assert.rejects(steps.next(), UnavailableError);
    const counted = async () => {
      const text = await (await ask("/metrics")).text();
      const of = (what: string) => samples(text, `shoal_requests_${what}`);
      return [of("refused_total"), of("waiting")[INTENTS], of("served_total")];
    };
    const refused = { [`${INTENTS},reason="unavailable"`]: 2 };
    assert.deepEqual(await counted(), [refused, 1, {}]);
    admit();
    assert.equal(await before, 200);
    await closed;
    assert.deepEqual(await counted(), [refused, 0, { [INTENTS]: 1 }]);
  });
});

Deno.test("a request is explained: with whom it ran, and why", async () => {
  const monitor = new Monitor({ explainMax: 4 });
  const host = { observers: monitor.observers };
  await withServer({ monitor, host }, async (ask) => {
    const infer = (id: string, tokens: number[]) =>
      ask("/v2/models/intents/infer", {
        method: "POST",
        headers: { "x-request-id": id },
        body: inferBody(tokens),
      });
    const explained = async (id: string, model = "intents") => {
      const response = await ask(`/v2/models/${model}/explain/${id}`);
      return { status: response.status, ...await response.json() };
    };
    await Promise.all([infer("a", [1, 2, 3]), infer("b", [4, 5])]);
    const [a, b] = [await explained("a"), await explained("b")];
    assert.equal(a.outcome, "done");
    assert.equal(a.policy, "cellular");
    // A step for each word, and the head.
    assert.equal(a.launches.length, 4);
    assert.equal(b.launches.length, 3);
    // They came together, and swam together.
    const both = [...a.requests, ...b.requests].sort();
    assert.deepEqual(a.launches[0].requests, both);
    assert.deepEqual(a.launches[2].requests, a.requests);
    assert.equal(b.launches[0].launch, a.launches[0].launch);
    for (const { at_ms, ran_ms, why } of a.launches) {
      assert(at_ms >= 0 && ran_ms > 0 && at_ms + ran_ms <= a.took_ms + 1);
      assert.equal(typeof why, "string");
    }
    assert(a.text.some((line: string) => line.includes("in launch")));
    assert.equal((await explained("c")).status, 404);
    assert.equal((await explained("a", "others")).status, 404);
    // The last four are kept.
    for (const id of ["c", "d", "e", "f"]) await infer(id, [1]);
    assert.equal((await explained("b")).status, 404);
    assert.equal((await explained("c")).status, 200);
    await infer("bad", []);
    const bad = await explained("bad");
    assert.equal(bad.outcome, "refused");
    assert.equal(bad.reason, "input");
    assert.deepEqual(bad.launches, []);
  });
});

Deno.test("the access log has a line for each request, and nothing that it brought", async () => {
  const lines: string[] = [];
  const observers = [new AccessLog((line) => lines.push(line))];
  await withServer({ observers }, async (ask) => {
    await ask("/v2/models/intents/infer?secret=1", {
      method: "POST",
      headers: { "x-request-id": "mine", authorization: "Bearer secret" },
      body: inferBody(),
    });
    await ask("/secretless/path", { method: "POST", body: "secret" });
    await ask("/v2/models/intents/infer", { method: "POST", body: "{secret" });
  });
  const [done, missing, bad] = lines.map((line) => JSON.parse(line));
  const { time, took_ms, ...rest } = done;
  assert(!Number.isNaN(Date.parse(time)) && took_ms > 0);
  assert.deepEqual(rest, {
    ...{ id: "mine", method: "POST", path: "/v2/models/intents/infer" },
    ...{ status: 200, protocol: "oip", model: "intents" },
  });
  assert.equal(missing.status, 404);
  assert.equal(bad.status, 400);
  assert.match(bad.error, /Error$/);
  assert(lines.every((line) => !/secret(?!less)/.test(line)), lines.join("\n"));
});

Deno.test("an observer that throws changes no answer", async () => {
  const errors: unknown[] = [];
  const observers = [
    {
      began: () => () => {
        throw new Error("ended");
      },
    },
    {
      began() {
        throw new Error("began");
      },
    },
  ];
  const onError = (error: unknown) => void errors.push(error);
  await withServer({ observers, onError }, async (ask) => {
    assert.equal((await ask("/v2/health/live")).status, 200);
  });
  assert.deepEqual(errors.map(String), ["Error: began", "Error: ended"]);
});
