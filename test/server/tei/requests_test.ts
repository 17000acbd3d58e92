/** Bodies of requests of Text Embeddings Inference, and its headers. */
import assert from "node:assert/strict";
import {
  charactersOf,
  computeHeaders,
} from "../../../src/server/tei/compute_headers.ts";
import { checkBatch } from "../../../src/server/tei/inputs.ts";
import {
  decodeRequest,
  embedRequest,
  predictRequest,
  rerankRequest,
  similarityRequest,
  tokenizeRequest,
} from "../../../src/server/tei/requests.ts";

Deno.test("embed takes a text, texts, token ids, or lists of those, mixed", () => {
  const inputs = (inputs: unknown) => embedRequest({ inputs }).inputs;
  assert.deepEqual(inputs("a"), { isBatch: false, inputs: ["a"] });
  assert.deepEqual(inputs([1, 2]), { isBatch: false, inputs: [[1, 2]] });
  assert.deepEqual(inputs(["a", [1, 2]]), {
    isBatch: true,
    inputs: ["a", [1, 2]],
  });
  assert.deepEqual(inputs([]), { isBatch: true, inputs: [] });
  assert.throws(() => inputs({}), { field: "inputs" });
  assert.throws(() => inputs(["a", { b: 1 }]), { field: "inputs[1]" });
  assert.throws(() => inputs([1, "a"]), { field: "inputs[1]" });
});

Deno.test("embed normalises, and cuts off on the right, unless told otherwise", () => {
  assert.deepEqual(embedRequest({ inputs: "a" }), {
    inputs: { isBatch: false, inputs: ["a"] },
    truncate: undefined,
    truncation_direction: "right",
    prompt_name: undefined,
    normalize: true,
    dimensions: undefined,
  });
  assert.equal(
    embedRequest({ inputs: "a", truncation_direction: "Left" })
      .truncation_direction,
    "left",
  );
  assert.throws(
    () => embedRequest({ inputs: "a", truncation_direction: "both" }),
    { field: "truncation_direction" },
  );
});

Deno.test("predict tells a text, a pair and a batch of either apart", () => {
  const inputs = (inputs: unknown) => predictRequest({ inputs }).inputs;
  assert.deepEqual(inputs("a"), { isBatch: false, inputs: [["a"]] });
  assert.deepEqual(inputs(["a"]), { isBatch: false, inputs: [["a"]] });
  assert.deepEqual(inputs(["a", "b"]), {
    isBatch: false,
    inputs: [["a", "b"]],
  });
  assert.deepEqual(inputs([["a"], ["b", "c"]]), {
    isBatch: true,
    inputs: [["a"], ["b", "c"]],
  });
  assert.throws(() => inputs(["a", "b", "c"]), { field: "inputs" });
  assert.throws(() => inputs([["a"], "b"]), { field: "inputs[1]" });
  assert.throws(() => inputs([["a"], []]), { field: "inputs[1]" });
});

Deno.test("rerank, similarity, tokenize and decode take what their protocol says", () => {
  assert.deepEqual(rerankRequest({ query: "q", texts: ["a"] }), {
    query: "q",
    texts: ["a"],
    truncate: undefined,
    truncation_direction: "right",
    raw_scores: false,
    return_text: false,
  });
  const inputs = { source_sentence: "a", sentences: ["b"] };
  assert.deepEqual(similarityRequest({ inputs }).inputs, inputs);
  assert.equal(
    similarityRequest({ inputs, parameters: { truncate: true } }).parameters
      ?.truncate,
    true,
  );
  assert.equal(tokenizeRequest({ inputs: "a" }).add_special_tokens, true);
  assert.deepEqual(decodeRequest({ ids: [[1], [2]] }).ids, {
    isBatch: true,
    inputs: [[1], [2]],
  });
});

Deno.test("a batch has one element at least, as many as allowed, and none that is empty", () => {
  assert.throws(() => checkBatch("inputs", [], 2), {
    name: "EmptyError",
    message: '"inputs" is empty',
  });
  assert.throws(() => checkBatch("inputs", ["a", "b", "c"], 2), {
    name: "BatchSizeError",
    message: '"inputs" has 3 elements; a request may have 2',
  });
  assert.doesNotThrow(() => checkBatch("inputs", ["a", [1]], 2));
  for (const empty of ["", [], ["a", ""]]) {
    assert.throws(() => checkBatch("inputs", ["a", empty], 2), {
      field: "inputs[1]",
    });
  }
});

Deno.test("headers have sums of tokens, means of times, in whole milliseconds", () => {
  assert.equal(charactersOf("aä🐟"), 3);
  const cost = {
    characters: 3,
    tokens: 5,
    tokenizationNs: 1e6,
    queueNs: 3.9e6,
    inferenceNs: 7e6,
  };
  const other = { ...cost, tokens: 6, queueNs: 6e6 };
  assert.deepEqual(computeHeaders([cost, other], 20e6), {
    "x-compute-type": "cpu",
    "x-compute-time": "20",
    "x-total-time": "20",
    "x-compute-characters": "6",
    "x-compute-tokens": "11",
    "x-tokenization-time": "1",
    "x-queue-time": "4",
    "x-inference-time": "7",
  });
});
