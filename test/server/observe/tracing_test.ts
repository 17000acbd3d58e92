/** Spans through OpenTelemetry's API, as an SDK would be given them. */
import * as api from "@opentelemetry/api";
import assert from "node:assert/strict";
import { Tracing } from "../../../src/server/observe/tracing.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { TEXT_MODELS, withTextServer } from "../text_models.ts";

interface Recorded {
  readonly name: string;
  readonly kind: number | undefined;
  readonly startMs: number;
  endMs?: number;
  readonly attributes: Record<string, unknown>;
  readonly parent: string | undefined;
  readonly trace: string;
  readonly id: string;
  code?: number;
}

/** As little of an SDK as keeps what it is told. */
function record(): Recorded[] {
  const spans: Recorded[] = [];
  const tracer = {
    startSpan(
      name: string,
      { kind, startTime, attributes }: api.SpanOptions = {},
      context = api.context.active(),
    ) {
      const parent = api.trace.getSpanContext(context);
      const id = `${spans.length + 1}`.padStart(16, "0");
      const span: Recorded = {
        ...{ name, kind, startMs: startTime as number, id },
        attributes: { ...attributes },
        parent: parent?.spanId,
        trace: parent?.traceId ?? "f".repeat(32),
      };
      spans.push(span);
      return {
        spanContext: () => ({
          traceId: span.trace,
          spanId: id,
          traceFlags: api.TraceFlags.SAMPLED,
        }),
        setAttribute: (name: string, value: unknown) =>
          void (span.attributes[name] = value),
        setStatus: ({ code }: { code: number }) => void (span.code = code),
        end: (atMs: number) => void (span.endMs = atMs),
      };
    },
  };
  api.trace.setGlobalTracerProvider(
    { getTracer: () => tracer } as unknown as api.TracerProvider,
  );
  // W3C trace context, version 00.
  api.propagation.setGlobalPropagator({
    extract(context, carrier, getter) {
      const [, traceId, spanId] = `${getter.get(carrier, "traceparent")}`.split(
        "-",
      );
      return spanId === undefined
        ? context
        : api.trace.setSpanContext(context, {
          ...{ traceId, spanId, isRemote: true },
          traceFlags: api.TraceFlags.SAMPLED,
        });
    },
    inject() {},
    fields: () => ["traceparent"],
  });
  return spans;
}

Deno.test("a request's span continues its caller's, and has a child for the queue and one for what ran", async () => {
  const spans = record();
  const tracing = new Tracing(api);
  const observers = [tracing];
  const startMs = Date.now();
  await withServer({ observers, host: { observers } }, async (ask) => {
    const trace = "0af7651916cd43dd8448eb211c80319c";
    await ask("/v2/models/intents/infer", {
      method: "POST",
      headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` },
      body: inferBody(),
    });
    await ask("/v2/models/nobody/infer", { method: "POST", body: inferBody() });
    const [request, queue, execute, missing] = spans;
    assert.equal(spans.length, 4);
    assert.equal(request.kind, api.SpanKind.SERVER);
    assert.equal(request.parent, "b7ad6b7169203331");
    assert(spans.slice(0, 3).every((span) => span.trace === trace));
    assert.deepEqual([queue.name, execute.name], ["queue", "execute"]);
    assert.deepEqual([queue.parent, execute.parent], [request.id, request.id]);
    // One after the other, inside of the request.
    assert(startMs <= request.startMs);
    assert(request.startMs <= queue.startMs);
    assert(Math.abs(queue.endMs! - execute.startMs) < 0.01);
    assert(execute.startMs < execute.endMs!);
    assert(execute.endMs! <= request.endMs! + 1);
    assert.equal(request.attributes["http.response.status_code"], 200);
    assert.equal(
      request.attributes["http.route"],
      "/v2/models/{model}/infer",
    );
    assert.equal(execute.attributes["shoal.model"], "intents");
    assert.equal(missing.parent, undefined);
    assert.equal(missing.attributes["http.response.status_code"], 404);
    assert.equal(missing.code, undefined);
  });
  api.trace.disable();
  api.propagation.disable();
});

Deno.test("spans have the time of a machine whose clock was set since the server began", async () => {
  const spans = record();
  const observers = [new Tracing(api)];
  const { now } = Date;
  const hourMs = 3_600_000;
  try {
    await withServer({ observers, host: { observers } }, async (ask) => {
      for (const setByMs of [hourMs, -hourMs]) {
        Date.now = () => now() + setByMs;
        const startMs = Date.now();
        await ask("/v2/models/intents/infer", {
          method: "POST",
          body: inferBody(),
        });
        const [request, queue, execute] = spans.splice(0);
        assert(startMs <= request.startMs && request.startMs <= Date.now());
        assert(request.startMs <= queue.startMs);
        assert(queue.startMs <= execute.startMs);
        assert(execute.endMs! <= request.endMs! + 1);
      }
    });
  } finally {
    Date.now = now;
    api.trace.disable();
    api.propagation.disable();
  }
});

Deno.test("of an answer that is streamed there is what follows its head, too", async () => {
  const spans = record();
  const observers = [new Tracing(api)];
  await withTextServer(
    async (ask) => {
      const headers = { "x-request-id": "same" };
      const body = { model: "writer", prompt: "fish", max_tokens: 200 };
      const streamed = await ask("/v1/completions", { ...body, stream: true }, {
        headers,
      });
      // Has the id of one that is still being answered.
      await ask("/v2", undefined, { headers });
      await streamed.text();
    },
    TEXT_MODELS,
    { observers, host: { observers } },
  );
  const [request, other, queue, execute] = spans;
  assert.deepEqual(
    [request, other, queue, execute].map((span) => span?.name),
    ["POST", "GET", "queue", "execute"],
  );
  assert.deepEqual([queue.parent, execute.parent], [request.id, request.id]);
  assert.equal(execute.attributes["shoal.outcome"], "done");
  assert(execute.endMs! > request.endMs!);
  api.trace.disable();
  api.propagation.disable();
});

Deno.test("without an SDK nothing happens, and everything is answered", async () => {
  const observers = [new Tracing(api)];
  await withServer({ observers, host: { observers } }, async (ask) => {
    const response = await ask("/v2/models/intents/infer", {
      method: "POST",
      body: inferBody(),
    });
    assert.equal(response.status, 200);
  });
});
