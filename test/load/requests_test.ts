/** What is sent: texts, bodies, plans. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import {
  endpointOf,
  protocolOf,
  templateBodies,
} from "../../src/load/endpoints.ts";
import { metadataInputs, oipBody } from "../../src/load/oip_body.ts";
import { loadPlan, wireRequests } from "../../src/load/plan.ts";
import { EventReader } from "../../src/load/sse.ts";
import { sampleText } from "../../src/load/texts.ts";
import { poisson, traceReplay } from "../../src/workload/arrivals.ts";
import { corpusLengths } from "../../src/workload/lengths.ts";
import { propertyRuns } from "../property_runs.ts";
import { REQUEST } from "./run_load.ts";

const lengths = corpusLengths("europarl-v7.de-en");

Deno.test("texts have as many words and full stops as they say, within the bounds", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const { text, tokens } = sampleText(
        { lengths, sentences: [1, 8], tokens: [8, 510] },
        new Prng(seed),
      );
      assert.equal(text.match(/[a-z]+|\./g)!.length, tokens);
      assert(tokens >= 8 && tokens <= 510);
    }),
    { numRuns: propertyRuns(200) },
  );
  assert.throws(
    () => sampleText({ lengths, tokens: [500, 600] }, new Prng(1)),
    /europarl-v7.de-en.* have 500 to 600 tokens/,
  );
});

Deno.test("single sentences are as long as the corpus's", () => {
  const prng = new Prng(1);
  let sum = 0;
  for (let i = 0; i < 4000; i++) sum += sampleText({ lengths }, prng).tokens;
  assert(Math.abs(sum / 4000 - 26.51) < 1, `${sum / 4000}`);
});

const settings = { model: "m", tokensMax: 5, stream: true };
const text = { text: 'of "the" and', tokens: 3 };

Deno.test("bodies are as each protocol has them", () => {
  const bodyAt = (path: string) =>
    endpointOf(protocolOf(path), path).bodies(settings)(text, new Prng(1));
  assert.deepEqual(bodyAt("/v1/embeddings"), {
    ...{ model: "m", input: text.text, encoding_format: "base64" },
  });
  assert.deepEqual(bodyAt("/v1/completions"), {
    ...{ model: "m", prompt: text.text, max_tokens: 5, stream: true },
  });
  assert.deepEqual(bodyAt("/v1/chat/completions"), {
    ...{ model: "m", max_tokens: 5, stream: true },
    messages: [{ role: "user", content: text.text }],
  });
  for (const path of ["/embed", "/embed_all", "/predict"]) {
    assert.deepEqual(bodyAt(path), { inputs: text.text });
  }
  assert.deepEqual(bodyAt("/rerank"), { query: text.text, texts: [text.text] });
  assert.equal(protocolOf("/"), "raw");
  assert.equal(protocolOf("/anything"), "raw");
  assert.throws(() => endpointOf("openai", "/embed"), /"openai".*"\/embed"/);
});

Deno.test("a template's places are filled inside of JSON", () => {
  const body = templateBodies(
    '{"q": "{{text}}", "n": {{tokens}}, "s": {{seed}}}',
  );
  const { q, n, s } = JSON.parse(body(text, new Prng(1)) as string);
  assert.deepEqual([q, n, Number.isInteger(s)], [text.text, 3, true]);
});

Deno.test("bodies of the Open Inference Protocol fit the model's metadata", () => {
  const inputs = [
    { name: "input_ids", datatype: "INT64", shape: [-1, -1] },
    { name: "attention_mask", datatype: "INT64", shape: [-1, -1] },
    { name: "token_type_ids", datatype: "INT64", shape: [-1, -1] },
    { name: "image", datatype: "FP32", shape: [-1, 2, 2] },
    { name: "tokens", datatype: "INT32", shape: [-1] },
    { name: "text", datatype: "BYTES", shape: [-1] },
  ];
  const path = "/v2/models/a%20b/versions/3/infer";
  const endpoint = endpointOf("oip", path);
  assert.equal(endpoint.metadataPath!(path), "/v2/models/a%20b/versions/3");
  const body = endpoint.bodies({
    ...settings,
    metadata: JSON.stringify({ name: "a", inputs }),
    outputs: ["head"],
  })(text, new Prng(1)) as {
    outputs: unknown;
    inputs: { name: string; shape: number[]; data: unknown[] }[];
  };
  assert.deepEqual(body.inputs.map(({ shape }) => shape), [
    ...[[1, 3], [1, 3], [1, 3], [1, 2, 2], [3], [1]],
  ]);
  for (const { name, shape, data } of body.inputs) {
    assert.equal(data.length, shape.reduce((a, b) => a * b, 1), name);
  }
  assert.deepEqual(body.outputs, [{ name: "head" }]);
  assert.deepEqual(body.inputs[1].data, [1, 1, 1]);
  assert.deepEqual(body.inputs[2].data, [0, 0, 0]);
  assert.deepEqual(body.inputs[5].data, [text.text]);
  assert.throws(() => metadataInputs("{}"), /no inputs/);
  assert.throws(
    () => metadataInputs('{"inputs": [{"name": "x", "shape": "y"}]}'),
    /shape/,
  );
  const half = [{ name: "h", datatype: "FP16", shape: [1] }];
  assert.throws(() => oipBody(half, text, new Prng(1)), /FP16/);
  const huge = [{ name: "h", datatype: "FP32", shape: [1e6, 1e6] }];
  assert.throws(() => oipBody(huge, text, new Prng(1)), /elements/);
});

function plan(ratePerS: number, seed: number) {
  return loadPlan({
    ...{ arrivals: poisson({ ratePerS }), ratePerS, warmUpS: 1, seconds: 9 },
    ...{ leaves: 0.25, leavesWithinNs: 1e9 },
    prng: new Prng(seed),
    bodies: [REQUEST, { ...REQUEST, path: "/b" }],
  });
}

Deno.test("a plan holds all arrivals of its time, the same for the same seed", () => {
  const first = plan(1000, 3);
  assert.deepEqual(plan(1000, 3), first);
  assert.notDeepEqual(plan(1000, 4).dueNs, first.dueNs);
  assert(Math.abs(first.dueNs.length - 10_000) < 500);
  assert(first.dueNs[first.dueNs.length - 1] < 10e9);
  assert(first.dueNs[first.dueNs.length - 1] > 9.9e9);
  const leave = first.leaveNs.filter(Number.isFinite);
  assert(Math.abs(leave.length / 10_000 - 0.25) < 0.02);
  assert(leave.every((ns) => ns < 1e9));
  // The same pattern at another scale.
  const slow = plan(500, 3).dueNs;
  slow.forEach((ns, i) => assert(Math.abs(ns - 2 * first.dueNs[i]) <= 2));
});

Deno.test("a trace that ends before the run does is all there is", () => {
  const csv = "t_seconds,input_tokens,output_tokens\n0,1,1\n1,1,1\n2,1,1\n";
  const plan = (warmUpS: number, seconds: number) =>
    loadPlan({
      ...{ arrivals: traceReplay({ csv }), ratePerS: 1, warmUpS, seconds },
      ...{ leaves: 0, leavesWithinNs: 1 },
      prng: new Prng(1),
      bodies: [REQUEST],
    });
  assert.deepEqual(plan(0, 9).dueNs, [0, 1e9, 2e9]);
  assert.equal(plan(0, 9).endNs, 2e9);
  // The warm-up is not shortened, nor is what ends before the trace does.
  assert.equal(plan(3, 9).endNs, 3e9);
  assert.equal(plan(0, 1.5).endNs, 1.5e9);
  assert.equal(plan(0, 2).endNs, 2e9);
});

Deno.test("bodies differ, and are the same for the same seed", () => {
  const make = (seed: number) =>
    wireRequests({
      ...{ path: "/", headers: {}, method: "POST" },
      texts: { lengths },
      body: ({ text }) => ({ text }),
      prng: new Prng(seed),
    }).map(({ body }) => new TextDecoder().decode(body));
  assert.deepEqual(make(1), make(1));
  assert(new Set(make(1)).size > 1900);
});

const STREAM =
  ': a comment\r\ndata: {"a": 1}\r\n\r\ndata: two\rdata: lines\r\r' +
  "event: x\ndata: ü\n\nid: 5\n\ndata: of\r\ndata: two\r\n\r\ndata: [DONE]\n\n";

Deno.test("events are found wherever the bytes are cut", () => {
  const bytes = new TextEncoder().encode(STREAM);
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }),
      (cuts) => {
        const reader = new EventReader();
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        for (let i = 1; i < at.length; i++) {
          reader.push(bytes.subarray(at[i - 1], at[i]), at[i]);
        }
        assert.equal(reader.eventsNs.length, 4);
        assert.equal(reader.error, undefined);
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("an error in a stream is heard", () => {
  for (
    const text of [
      'data: {"error": {"message": "no"}}\n\n',
      "event: error\ndata: no\n\n",
    ]
  ) {
    const reader = new EventReader();
    reader.push(new TextEncoder().encode(text), 1);
    assert.match(reader.error!, /no/);
    assert.equal(reader.eventsNs.length, 0);
  }
});
