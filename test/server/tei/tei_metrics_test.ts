/** Figures under the names of Text Embeddings Inference, of the requests that its clients send. */
import assert from "node:assert/strict";
import {
  CellError,
  DeadlineError,
  WorkerError,
} from "../../../src/engine/core/errors.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import {
  ForbiddenError,
  OverloadedError,
  UnavailableError,
} from "../../../src/server/host/errors.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { exposition } from "../../../src/server/observe/exposition.ts";
import { PendingRequests } from "../../../src/server/observe/pending_requests.ts";
import { TeiMetrics } from "../../../src/server/tei/tei_metrics.ts";
import { samples } from "../observe/samples.ts";
import {
  type Ask,
  TEXT_MODELS,
  TOKENS_MAX,
  withTextServer,
} from "../text_models.ts";

const LONG = "a ".repeat(2 * TOKENS_MAX);

/** A server that is asked, and what its figures are then. */
async function withFigures(
  run: (
    ask: Ask,
    figures: () => Promise<(name: string) => Record<string, number>>,
  ) => Promise<void>,
  admission?: Admission,
): Promise<void> {
  const monitor = new Monitor({ compatible: ["tei"] });
  const host = {
    observers: monitor.observers,
    ...(admission && { admission }),
  };
  await withTextServer(
    (ask) =>
      run(ask, async () => {
        const text = await (await ask("/metrics")).text();
        assert.doesNotMatch(text, /\bnv_/);
        return (name) => samples(text, name);
      }),
    TEXT_MODELS,
    { monitor, host },
  );
}

function sumOf(found: Record<string, number>, part = ""): number {
  return Object.entries(found).reduce(
    (sum, [labels, value]) => labels.includes(part) ? sum + value : sum,
    0,
  );
}

Deno.test("requests are counted by whether they bring a list, at every door", async () => {
  await withFigures(async (ask, figures) => {
    const texts = ["fish swim", "birds fly"];
    const doors: [path: string, body: object, method: "single" | "batch"][] = [
      ["/embed", { inputs: texts[0] }, "single"],
      ["/embed", { inputs: [1, 4, 2] }, "single"],
      ["/embed", { inputs: texts.slice(1) }, "batch"],
      ["/models/embedder/embed", { inputs: texts }, "batch"],
      ["/embed_all", { inputs: texts[0] }, "single"],
      [
        "/similarity",
        { inputs: { source_sentence: texts[0], sentences: [texts[1]] } },
        "batch",
      ],
      ["/models/classifier/predict", { inputs: texts[0] }, "single"],
      ["/models/classifier/predict", { inputs: [[texts[0]]] }, "batch"],
      ["/models/classifier", { inputs: texts[0] }, "single"],
      ["/models/reranker/rerank", { query: "fish", texts }, "batch"],
      ["/v1/embeddings", { model: "embedder", input: texts[0] }, "single"],
      ["/v1/embeddings", { model: "embedder", input: [1, 4, 2] }, "single"],
      ["/v1/embeddings", { model: "embedder", input: texts }, "batch"],
    ];
    const expected = { single: 0, batch: 0 };
    for (const [path, body, method] of doors) {
      const response = await ask(path, body);
      assert.equal(response.status, 200, path);
      expected[method]++;
      const of = await figures();
      for (const name of ["te_request_count", "te_request_success"]) {
        const { single, batch } = expected;
        assert.deepEqual(of(name), {
          'method="single"': single,
          ...(batch > 0 && { 'method="batch"': batch }),
        }, `${name} after ${path}`);
      }
    }
    // What runs no model is in none of them.
    await ask("/tokenize", { inputs: "fish" });
    const completion = { model: "writer", prompt: "a", max_tokens: 2 };
    assert.equal((await ask("/v1/completions", completion)).status, 200);
    const of = await figures();
    const ours = (name: string) =>
      sumOf(of(name)) - sumOf(of(name), 'model="writer"');
    const requests = doors.length;
    assert.equal(sumOf(of("te_request_count")), requests);
    for (const time of ["", "_tokenization", "_queue", "_inference"]) {
      assert.equal(of(`te_request${time}_duration_count`)[""], requests, time);
    }
    // Every text is a request to the engine.
    assert.equal(
      of("te_request_input_length_count")[""],
      ours("shoal_requests_served_total"),
    );
    for (const part of ["sum", "count"]) {
      assert.equal(
        of(`te_batch_next_size_${part}`)[""],
        ours(`shoal_batch_size_${part}`),
      );
    }
    assert.deepEqual(of("te_request_failure"), {});
    assert.equal(of("te_queue_size")[""], 0);
  });
});

Deno.test("times and lengths are those of the answer's headers", async () => {
  await withFigures(async (ask, figures) => {
    const inputs = ["fish swim in water", "birds fly", "a b c d"];
    const { headers } = await ask("/embed", { inputs });
    const of = await figures();
    for (
      const [name, header] of [
        ["te_request_duration", "x-total-time"],
        ["te_request_tokenization_duration", "x-tokenization-time"],
        ["te_request_queue_duration", "x-queue-time"],
        ["te_request_inference_duration", "x-inference-time"],
      ]
    ) {
      const ms = 1000 * of(`${name}_sum`)[""];
      const told = Number(headers.get(header));
      // Headers are cut to whole milliseconds; seconds lose the last digits.
      assert(ms > 0 && ms > told - 1e-6, `${name} ${ms} ${told}`);
      assert(ms < told + 1 + 1e-6, `${name} ${ms} ${told}`);
    }
    const tokens = Number(headers.get("x-compute-tokens"));
    assert.equal(tokens, 16);
    assert.equal(of("te_request_input_length_sum")[""], tokens);
    // The batches together have every token, once for each cell that has tokens.
    const inBatches = of("te_batch_next_tokens_sum")[""];
    assert(inBatches > 0 && inBatches % tokens === 0, `${inBatches}`);
    const lengths = of("te_request_input_length_bucket");
    assert.deepEqual(
      ["4", "8", "524288", "+Inf"].map((le) => lengths[`le="${le}"`]),
      [1, 3, 3, 3],
    );
  });
});

Deno.test("times of a request are means of its texts'", () => {
  const tei = new TeiMetrics(new PendingRequests());
  const cost = {
    tokens: 3,
    tokenizationNs: 1e6,
    queueNs: 2e9,
    inferenceNs: 3e9,
  };
  const other = {
    tokens: 5,
    tokenizationNs: 3e6,
    queueNs: 0,
    inferenceNs: 5e9,
  };
  tei.began(true)({ costs: [cost, other], totalNs: 9e9 });
  const text = exposition(tei.families());
  const sum = (name: string) => samples(text, `te_request_${name}_sum`)[""];
  assert.equal(sum("duration"), 9);
  assert.equal(sum("tokenization_duration"), 0.002);
  assert.equal(sum("queue_duration"), 1);
  assert.equal(sum("inference_duration"), 4);
  assert.equal(sum("input_length"), 8);
});

Deno.test("buckets are the router's, to the digit", async () => {
  await withFigures(async (ask, figures) => {
    await ask("/embed", { inputs: "fish" });
    const of = await figures();
    const bounds = (name: string) =>
      Object.keys(of(`${name}_bucket`)).map((label) => label.slice(4, -1));
    // As prometheus.rs has it; Rust and JavaScript write the shortest digits that are read as the same number.
    const seconds: string[] = [];
    let value = 0.00001;
    for (let i = 0; i < 35; i++) seconds.push(`${value *= 1.5}`);
    for (const time of ["", "_tokenization", "_queue", "_inference"]) {
      const name = `te_request${time}_duration`;
      assert.deepEqual(bounds(name), [...seconds, "+Inf"]);
    }
    const powers = (count: number) => [
      ...Array.from({ length: count }, (_, x) => `${2 ** x}`),
      "+Inf",
    ];
    assert.deepEqual(bounds("te_request_input_length"), powers(20));
    assert.deepEqual(bounds("te_batch_next_size"), powers(13));
    assert.deepEqual(bounds("te_batch_next_tokens"), powers(21));
  });
});

Deno.test("a failure is counted once, under the router's word for it", async () => {
  await withFigures(async (ask, figures) => {
    const batch = Array.from({ length: 33 }, () => "a");
    const cases: [path: string, body: object, err: string][] = [
      ["/embed", { inputs: [] }, "validation"],
      ["/embed", { inputs: ["a", ""] }, "validation"],
      ["/embed", { inputs: "a", dimensions: 99 }, "validation"],
      ["/embed", { inputs: batch }, "batch_size"],
      ["/embed", { inputs: [LONG, LONG], truncate: false }, "tokenization"],
      ["/models/writer/embed", { inputs: "a" }, "model_type"],
      ["/models/nobody/embed", { inputs: "a" }, "model_type"],
      // Two models could do it.
      ["/predict", { inputs: "a" }, "model_type"],
      ["/v1/embeddings", { model: "writer", input: "a" }, "model_type"],
      ["/v1/embeddings", { model: "embedder", input: LONG }, "tokenization"],
    ];
    const expected: Record<string, number> = {};
    for (const [path, body, err] of cases) {
      const { status } = await ask(path, body);
      assert(status >= 400, path);
      expected[`err="${err}"`] = (expected[`err="${err}"`] ?? 0) + 1;
      const of = await figures();
      assert.deepEqual(of("te_request_failure"), expected, path);
    }
    // A body that cannot be read is not counted, there as here.
    assert.equal((await ask("/embed", { input: "a" })).status, 422);
    const of = await figures();
    assert.deepEqual(of("te_request_failure"), expected);
    assert.equal(sumOf(of("te_request_count")), cases.length);
    assert.deepEqual(of("te_request_success"), {});
  });
});

Deno.test("one that is shed is a failure, whether or not its body was read", async () => {
  let isFull = false;
  const admission: Admission = {
    admit() {
      throw new OverloadedError("It is full", 1500, "late");
    },
    refusal: () => isFull ? new OverloadedError("It is full", 1) : undefined,
  };
  await withFigures(async (ask, figures) => {
    const inputs = ["fish", "birds"];
    assert.equal((await ask("/embed", { inputs })).status, 429);
    const read = await figures();
    assert.deepEqual(read("te_request_failure"), { 'err="overloaded"': 1 });
    assert.deepEqual(read("te_request_count"), { 'method="batch"': 1 });
    const label =
      'model="embedder",version="1",policy="cellular",reason="late"';
    // The first text was refused, and with it the other one.
    assert(read("shoal_requests_refused_total")[label] >= 1);
    isFull = true;
    for (const path of ["/embed", "/models/embedder/embed", "/", "/models/a"]) {
      assert.equal((await ask(path, { inputs })).status, 429);
    }
    const body = { model: "embedder", input: "a" };
    assert.equal((await ask("/v1/embeddings", body)).status, 429);
    // Neither of these is one of the router's.
    await ask("/tokenize", { inputs });
    await ask("/v2/models/embedder/infer", {});
    const unread = await figures();
    assert.deepEqual(unread("te_request_failure"), { 'err="overloaded"': 6 });
    assert.equal(sumOf(unread("te_request_count")), 1);
    assert.deepEqual(unread("shoal_requests_refused_unread_total"), {
      'reason="full"': 7,
    });
  }, admission);
});

Deno.test("a client that leaves is dropped", async () => {
  const left = new AbortController();
  const admission: Admission = {
    admit: ({ signal }) =>
      new Promise((_, reject) => {
        signal!.addEventListener("abort", () => reject(signal!.reason));
        left.abort();
      }),
  };
  await withFigures(async (ask, figures) => {
    const body = JSON.stringify({ inputs: "fish" });
    await ask("/embed", undefined, {
      method: "POST",
      body,
      signal: left.signal,
    });
    const of = await figures();
    assert.deepEqual(of("te_request_failure"), { 'err="dropped"': 1 });
  }, admission);
});

Deno.test("what fails behind the tokenizer has a word of its own", () => {
  const cases: [error: unknown, err: string][] = [
    [new CellError("a row"), "inference"],
    [new WorkerError("it died"), "inference"],
    [new Error("a bug"), "inference"],
    [new OverloadedError("displaced", 1, "displaced"), "overloaded"],
    // The router has no word for these.
    [new OverloadedError("its share", 1, "key"), "key"],
    [new ForbiddenError("not this model"), "key"],
    [new DeadlineError("late", "start"), "deadline"],
    [new UnavailableError("it ends"), "unavailable"],
  ];
  for (const [error, err] of cases) {
    const tei = new TeiMetrics(new PendingRequests());
    tei.began(false)({ error, isEncoded: true });
    const found = samples(exposition(tei.families()), "te_request_failure");
    assert.deepEqual(found, { [`err="${err}"`]: 1 });
  }
});

Deno.test("off unless it is asked for: nothing hears, nothing is told", async () => {
  const monitor = new Monitor();
  assert.equal(monitor.observers.length, 3);
  assert.equal(monitor.texts, undefined);
  const both = new Monitor({ compatible: ["tei", "triton"] });
  assert.equal(both.observers.length, 6);
  const unknown = { compatible: ["torchserve"] } as never;
  assert.throws(
    () => new Monitor(unknown),
    /"compatible\[0\]" is one of triton, tei, got "torchserve"/,
  );
  await withTextServer(
    async (ask) => {
      assert.equal((await ask("/embed", { inputs: "a" })).status, 200);
      const text = await (await ask("/metrics")).text();
      assert.doesNotMatch(text, /\b(nv|te)_/);
    },
    TEXT_MODELS,
    { monitor, host: { observers: monitor.observers } },
  );
});
