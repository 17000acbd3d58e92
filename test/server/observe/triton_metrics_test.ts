/** Figures under Triton's names beside those under Shoal's own, of the same requests. */
import assert from "node:assert/strict";
import {
  CellError,
  DeadlineError,
  QueueFullError,
  WorkerError,
} from "../../../src/engine/core/errors.ts";
import { lstm } from "../../../src/models/lstm.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import {
  ForbiddenError,
  InputError,
  OverloadedError,
  UnavailableError,
} from "../../../src/server/host/errors.ts";
import type { HostEnding } from "../../../src/server/host/host_observer.ts";
import type { HostRequest } from "../../../src/server/host/host_request.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { exposition } from "../../../src/server/observe/exposition.ts";
import { PendingRequests } from "../../../src/server/observe/pending_requests.ts";
import { ServerMetrics } from "../../../src/server/observe/server_metrics.ts";
import { TritonMetrics } from "../../../src/server/oip/triton_metrics.ts";
import { requestOf } from "../oip/client.ts";
import { TAGGER, withServer as withModels } from "../oip/served.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { TEXT_MODELS, withTextServer } from "../text_models.ts";
import { samples } from "./samples.ts";

const INTENTS = 'model="intents",version="1"';

/** All reasons of a model, whether or not there was any. */
function failures(
  text: string,
  { model = "intents" }: { model?: string } = {},
): Record<string, number> {
  const found = samples(text, "nv_inference_request_failure");
  return Object.fromEntries(
    Object.entries(found).flatMap(([labels, value]) => {
      const match = /^model="(.*)",version="1",reason="(\w+)"$/.exec(labels);
      return match?.[1] === model ? [[match[2], value]] : [];
    }),
  );
}

Deno.test("what was served agrees with Shoal's own figures", async () => {
  const monitor = new Monitor({ compatible: ["triton"] });
  const host = { observers: monitor.observers };
  await withServer({ monitor, host }, async (ask) => {
    const before = await (await ask("/metrics")).text();
    for (const name of ["request_success", "count", "exec_count"]) {
      const found = samples(before, `nv_inference_${name}`);
      assert.deepEqual(found, {
        [INTENTS]: 0,
        [INTENTS.replace("intents", "others")]: 0,
      });
    }
    await Promise.all(
      [[1, 2, 3], [4, 5], [6]].map((tokens) =>
        ask("/v2/models/intents/infer", {
          method: "POST",
          body: inferBody(tokens),
        })
      ),
    );
    const text = await (await ask("/metrics")).text();
    const own = (name: string) =>
      samples(text, `shoal_${name}`)[`${INTENTS},policy="cellular"`];
    const triton = (name: string) =>
      samples(text, `nv_inference_${name}`)[INTENTS];
    assert.equal(triton("request_success"), own("requests_served_total"));
    assert.equal(triton("request_success"), 3);
    assert.equal(triton("count"), 3);
    assert.equal(triton("exec_count"), own("batch_size_count"));
    assert(triton("exec_count") >= 4);
    for (
      const [name, ours] of [
        ["request", "request"],
        ["queue", "queue"],
        ["compute_infer", "execute"],
      ]
    ) {
      const us = triton(`${name}_duration_us`);
      assert.equal(us, Math.round(1e6 * own(`${ours}_seconds_sum`)), name);
      assert(us > 0, name);
    }
    assert.equal(triton("pending_request_count"), 0);
    assert.deepEqual(failures(text), {
      ...{ REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
    });
    // Of what is not known there is nothing, not even 0.
    assert.doesNotMatch(text, /compute_(in|out)put/);
    assert.doesNotMatch(text, /\bte_/);
  });
});

Deno.test("rows of a request are an inference each, frames and texts a request each", async () => {
  const monitor = new Monitor({ compatible: ["triton"] });
  const host = { observers: monitor.observers };
  await withModels([TAGGER], async (ask) => {
    const ids = { name: "ids", datatype: "INT64" as const };
    const values = [1, 2, 3, 4, 5, 6];
    await ask(
      "/v2/models/tags/infer",
      requestOf([[{ ...ids, shape: [3, 2], values }, "flat"]]),
    );
    const text = await (await ask("/metrics")).text();
    const labels = 'model="tags",version="1"';
    assert.equal(samples(text, "nv_inference_request_success")[labels], 1);
    assert.equal(samples(text, "nv_inference_count")[labels], 3);
  }, { monitor, host });
  const another = new Monitor({ compatible: ["triton"] });
  await withTextServer(
    async (ask) => {
      await ask("/embed", { inputs: ["fish", "birds fly"] });
      const text = await (await ask("/metrics")).text();
      const labels = 'model="embedder",version="1"';
      assert.equal(samples(text, "nv_inference_request_success")[labels], 2);
    },
    TEXT_MODELS,
    { monitor: another, host: { observers: another.observers } },
  );
});

Deno.test("what was shed, cancelled, late or wrong is a failure, each under its reason", async () => {
  const monitor = new Monitor({ compatible: ["triton"] });
  let refuses = true;
  const admission: Admission = {
    admit() {
      if (refuses) throw new OverloadedError("full", 10, "full");
      return () => {};
    },
  };
  const hooks = { observers: monitor.observers, admission };
  await withServer({ monitor, host: hooks }, async (ask, { host }) => {
    const body = inferBody();
    const shed = await ask("/v2/models/intents/infer", {
      method: "POST",
      body,
    });
    assert.equal(shed.status, 503);
    refuses = false;
    const intents = host.find("intents");
    const tokens = new Int32Array(5000);
    await assert.rejects(host.run(intents, { tokens }, { finishMs: 0.01 }));
    const signal = AbortSignal.abort();
    await assert.rejects(host.run(intents, { tokens }, { signal }));
    await assert.rejects(host.run(intents, { tokens: ["x"] }));
    const text = await (await ask("/metrics")).text();
    assert.deepEqual(failures(text), {
      ...{ REJECTED: 2, CANCELED: 1, BACKEND: 0, OTHER: 1 },
    });
    const own = ["refused", "failed"].flatMap((how) =>
      Object.values(samples(text, `shoal_requests_${how}_total`))
    );
    assert.equal(own.reduce((sum, times) => sum + times), 4);
    assert.equal(samples(text, "nv_inference_count")[INTENTS], 0);
    assert.equal(samples(text, "nv_inference_request_duration_us")[INTENTS], 0);
  });
});

const SERVED = servedTokens(lstm({ hidden: 2, vocabulary: 4 }), {
  name: "intents",
});

function requestFor(served = SERVED): HostRequest {
  return {
    ...{ id: "a", label: "1", served, input: {}, arrivalNs: 0, priority: 0 },
    finishNs: Infinity,
  };
}

Deno.test("every reason of ours is one of Triton's", () => {
  const cases: [HostEnding["outcome"], unknown, string][] = [
    ["refused", new OverloadedError("", 1, "full"), "REJECTED"],
    ["refused", new OverloadedError("", 1, "late"), "REJECTED"],
    ["refused", new OverloadedError("", 1, "displaced"), "REJECTED"],
    ["refused", new OverloadedError("", 1, "key"), "OTHER"],
    ["refused", new QueueFullError(""), "REJECTED"],
    ["refused", new DeadlineError("", "start"), "REJECTED"],
    ["failed", new DeadlineError("", "finish"), "REJECTED"],
    ["failed", new DOMException("gone", "AbortError"), "CANCELED"],
    ["failed", new CellError(""), "BACKEND"],
    ["failed", new WorkerError(""), "BACKEND"],
    ["failed", new Error("a bug"), "BACKEND"],
    ["refused", new InputError(""), "OTHER"],
    ["refused", new ForbiddenError(""), "OTHER"],
    ["failed", new UnavailableError(""), "OTHER"],
    ["refused", new Error("a bug"), "OTHER"],
  ];
  for (const [outcome, error, reason] of cases) {
    const metrics = new ServerMetrics();
    const triton = new TritonMetrics(metrics, new PendingRequests());
    for (const observer of [metrics, triton]) {
      observer.engine(0, [SERVED], "cellular");
      if (observer instanceof ServerMetrics) observer.arrived(requestFor());
      observer.ended(requestFor(), { outcome, error, endNs: 1 });
    }
    assert.deepEqual(failures(exposition(triton.families())), {
      ...{ REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
      [reason]: 1,
    }, `${outcome} ${error}`);
  }
});

Deno.test("a version that is served again, under another policy, has the sum of both", () => {
  const metrics = new ServerMetrics();
  const triton = new TritonMetrics(metrics, new PendingRequests());
  ["serial", "cellular"].forEach((policy, i) => {
    const served = servedTokens(lstm({ hidden: 2, vocabulary: 4 }), {
      name: "intents",
    });
    const timing = { queuedMs: i, ranMs: 10 };
    for (const observer of [metrics, triton]) {
      observer.engine(i, [served], policy);
      if (observer instanceof ServerMetrics) {
        observer.arrived(requestFor(served));
        observer.started(requestFor(served));
      }
      const ending = {
        outcome: "done",
        timing,
        beganNs: 0,
        endNs: 25e6,
      } as const;
      observer.ended(requestFor(served), ending);
    }
  });
  const text = exposition(triton.families());
  const of = (name: string) => samples(text, `nv_inference_${name}`);
  assert.deepEqual(of("request_success"), { [INTENTS]: 2 });
  assert.deepEqual(of("compute_infer_duration_us"), { [INTENTS]: 20_000 });
  assert.deepEqual(of("request_duration_us"), { [INTENTS]: 50_000 });
});

Deno.test("a request is pending until something of it is given to a worker", async () => {
  const monitor = new Monitor({ compatible: ["triton", "tei"] });
  const admitted: (() => void)[] = [];
  const admission: Admission = {
    admit: () =>
      new Promise((resolve) => admitted.push(() => resolve(() => {}))),
  };
  const hooks = { observers: monitor.observers, admission };
  await withTextServer(
    async (ask, { host }) => {
      const read = async (name: string, model?: string) => {
        const found = samples(await (await ask("/metrics")).text(), name);
        if (model === undefined) return found[""];
        return Object.entries(found).find(([labels]) =>
          labels.includes(`model="${model}",version="1"`)
        )?.[1];
      };
      const pending = (model: string) =>
        read("nv_inference_pending_request_count", model);
      const writer = host.find("writer");
      const steps = host.stream(writer, { tokens: [1], maxSteps: 500 });
      const first = steps.next();
      assert.equal(await pending("writer"), 1);
      assert.equal(await pending("embedder"), 0);
      // A decoder is none of the models that Text Embeddings Inference has.
      assert.equal(await read("te_queue_size"), 0);
      const embedding = ask("/embed", { inputs: "fish" });
      while (admitted.length < 2) await new Promise((next) => setTimeout(next));
      assert.equal(await pending("embedder"), 1);
      assert.equal(await read("te_queue_size"), 1);
      for (const admit of admitted) admit();
      assert((await first).done === false);
      assert.equal(await read("shoal_requests_running", "writer"), 1);
      assert.equal(await pending("writer"), 0);
      assert.equal((await embedding).status, 200);
      assert.equal(await read("te_queue_size"), 0);
      await steps.return(undefined as never);
    },
    TEXT_MODELS,
    { monitor, host: hooks },
  );
});

Deno.test("what ends before it is begun is not pending any more", () => {
  const pending = new PendingRequests();
  pending.arrived(requestFor());
  assert.deepEqual([...pending.counts()], [[SERVED, 1]]);
  pending.ended(requestFor());
  assert.equal(pending.counts().size, 0);
});

Deno.test("of an engine that tells nothing neither batches nor what waits are told", () => {
  const metrics = new ServerMetrics();
  const pending = new PendingRequests();
  pending.arrived(requestFor());
  const triton = new TritonMetrics(metrics, pending);
  const ending = { outcome: "failed", error: new Error(), endNs: 1 } as const;
  for (const observer of [metrics, triton]) {
    observer.ended(requestFor(), ending);
  }
  const text = exposition(triton.families());
  assert.deepEqual(samples(text, "nv_inference_exec_count"), {});
  assert.deepEqual(samples(text, "nv_inference_pending_request_count"), {});
  assert.equal(failures(text)["BACKEND"], 1);
});

Deno.test("names and versions are written with what the format escapes", async () => {
  const name = 'a"b\\c\nd';
  const odd = servedTokens(lstm({ hidden: 2, vocabulary: 4 }), { name });
  const monitor = new Monitor({ compatible: ["triton"] });
  const host = { observers: monitor.observers };
  await withModels([odd], async (ask, host) => {
    await host.run(odd, { tokens: [1] });
    const text = await (await ask("/metrics")).text();
    assert.deepEqual(samples(text, "nv_inference_request_success"), {
      'model="a\\"b\\\\c\\nd",version="1"': 1,
    });
  }, { monitor, host });
});
