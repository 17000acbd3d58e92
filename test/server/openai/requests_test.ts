/** Bodies of OpenAI's requests: what is taken, and what is refused by name. */
import assert from "node:assert/strict";
import { chatRequest } from "../../../src/server/openai/chat_request.ts";
import { completionsRequest } from "../../../src/server/openai/completions_request.ts";
import { embeddingsRequest } from "../../../src/server/openai/embeddings_request.ts";

const MODEL = { model: "m" };

Deno.test("embeddings are of a text, texts, token ids, or lists of those", () => {
  const inputs = (input: unknown) =>
    embeddingsRequest({ ...MODEL, input }).input;
  const one = { isBatch: false };
  const list = { isBatch: true };
  assert.deepEqual(inputs("a"), { ...one, inputs: ["a"] });
  assert.deepEqual(inputs(["a", "b"]), { ...list, inputs: ["a", "b"] });
  assert.deepEqual(inputs([1, 2]), { ...one, inputs: [[1, 2]] });
  assert.deepEqual(inputs([[1], [2, 3]]), { ...list, inputs: [[1], [2, 3]] });
  const refused: [unknown, string][] = [
    ["", "input"],
    [[], "input"],
    [["a", 1], "input[1]"],
    [["a", ""], "input[1]"],
    [[1, "a"], "input[1]"],
    [[1, -1], "input[1]"],
    [[[]], "input[0]"],
    [[[1], "a"], "input[1]"],
    [[{}], "input"],
    [{ text: "a" }, "input"],
    [undefined, "input"],
    [Array(2049).fill("a"), "input"],
  ];
  for (const [input, field] of refused) {
    assert.throws(() => inputs(input), { name: "FieldError", field });
  }
});

Deno.test("embeddings are numbers unless base64 is asked for", () => {
  const request = { ...MODEL, input: "a" };
  assert.equal(embeddingsRequest(request).encoding_format, "float");
  assert.equal(
    embeddingsRequest({ ...request, encoding_format: "base64", user: "u" })
      .encoding_format,
    "base64",
  );
  assert.throws(
    () => embeddingsRequest({ ...request, encoding_format: "int8" }),
    { field: "encoding_format" },
  );
  assert.throws(() => embeddingsRequest({ ...request, dimensions: 0 }), {
    field: "dimensions",
  });
});

Deno.test("completions refuse by name what would change an answer and is not done", () => {
  const request = { ...MODEL, prompt: "a" };
  assert.equal(completionsRequest(request).max_tokens, 16);
  assert.deepEqual(completionsRequest({ ...request, stop: "x" }).stop, ["x"]);
  const asked: Record<string, unknown> = {
    best_of: 2,
    suffix: "x",
  };
  for (const [field, value] of Object.entries(asked)) {
    assert.throws(() => completionsRequest({ ...request, [field]: value }), {
      field,
      fault: "unsupported",
    });
    assert.doesNotThrow(() =>
      completionsRequest({ ...request, [field]: null })
    );
  }
  assert.doesNotThrow(() =>
    completionsRequest({
      ...request,
      best_of: 1,
      suffix: "",
    })
  );
  // As many as are returned are no choice of the best.
  completionsRequest({ ...request, n: 3, best_of: 3 });
  assert.throws(
    () => completionsRequest({ ...request, n: 2, best_of: 3 }),
    { field: "best_of", fault: "unsupported" },
  );
  assert.throws(() => completionsRequest({ ...request, typical_p: 0.1 }), {
    field: "typical_p",
    fault: "unknown",
  });
});

Deno.test("what changes scores is within OpenAI's bounds, or vLLM's", () => {
  const request = { ...MODEL, prompt: "a" };
  const good: Record<string, readonly unknown[]> = {
    frequency_penalty: [-2, 0, 2, null],
    presence_penalty: [-2, 0, 2, null],
    repetition_penalty: [0.1, 1, 7, null],
    min_p: [0, 1, null],
    logit_bias: [{}, { 5: -100, 6: 100 }, null],
  };
  const bad: Record<string, readonly unknown[]> = {
    frequency_penalty: [-2.1, 3, "1"],
    presence_penalty: [-2.1, 3, "1"],
    repetition_penalty: [0, -1, 1e-60, "1"],
    min_p: [-0.1, 2],
    logit_bias: [[1], "x", 3],
  };
  for (const [field, values] of Object.entries(good)) {
    for (const value of values) {
      completionsRequest({ ...request, [field]: value });
    }
    for (const value of bad[field]) {
      assert.throws(
        () => completionsRequest({ ...request, [field]: value }),
        { field, fault: "invalid" },
        `${field} ${value}`,
      );
    }
  }
  assert.throws(
    () => completionsRequest({ ...request, logit_bias: { 5: 101 } }),
    { field: "logit_bias.5", fault: "invalid" },
  );
});

Deno.test("completions take four stop strings, none of them empty", () => {
  const stop = (stop: unknown) =>
    completionsRequest({ ...MODEL, prompt: "a", stop }).stop;
  assert.deepEqual(stop(null), undefined);
  assert.deepEqual(stop(["a", "b", "c", "d"]), ["a", "b", "c", "d"]);
  assert.throws(() => stop(["a", "b", "c", "d", "e"]), { field: "stop" });
  assert.throws(() => stop(["a", ""]), { field: "stop[1]" });
  assert.throws(() => stop(""), { field: "stop" });
});

Deno.test("options of a stream are for streams", () => {
  const stream_options = { include_usage: true };
  const request = { ...MODEL, prompt: "a", stream_options };
  assert.throws(() => completionsRequest(request), { field: "stream_options" });
  assert.deepEqual(
    completionsRequest({ ...request, stream: true }).stream_options,
    { include_usage: true, include_obfuscation: undefined },
  );
});

Deno.test("messages are texts, or parts that are", () => {
  const messages = (...messages: unknown[]) =>
    chatRequest({ ...MODEL, messages }).messages.map(({ role, content }) => [
      role,
      content,
    ]);
  assert.deepEqual(
    messages(
      { role: "system", content: "a" },
      {
        role: "user",
        content: [{ type: "text", text: "b" }, { type: "text", text: "c" }],
      },
    ),
    [["system", "a"], ["user", "bc"]],
  );
  const image = { type: "image_url", image_url: { url: "data:," } };
  const refused: [unknown, string][] = [
    [{ role: "user" }, "messages[0].content"],
    [{ role: "tool", content: "a" }, "messages[0].role"],
    [{ role: "user", content: [image] }, "messages[0].content[0].image_url"],
    [{ role: "user", content: "a", name: "b" }, "messages[0].name"],
  ];
  for (const [message, field] of refused) {
    assert.throws(() => messages(message), { field });
  }
  assert.throws(() => messages(), { field: "messages" });
});

Deno.test("chat completions refuse tools, images, and two limits", () => {
  const request = { ...MODEL, messages: [{ role: "user", content: "a" }] };
  const asked: Record<string, unknown> = {
    tools: [{ type: "function" }],
    tool_choice: "required",
    response_format: { type: "json_object" },
    modalities: ["text", "audio"],
    store: true,
    reasoning_effort: "high",
  };
  for (const [field, value] of Object.entries(asked)) {
    assert.throws(() => chatRequest({ ...request, [field]: value }), {
      field,
      fault: "unsupported",
    });
  }
  assert.doesNotThrow(() =>
    chatRequest({
      ...request,
      tools: [],
      tool_choice: "auto",
      response_format: { type: "text" },
      modalities: ["text"],
      logprobs: false,
      store: false,
      metadata: { any: "thing" },
      service_tier: "auto",
    })
  );
  assert.throws(
    () => chatRequest({ ...request, max_tokens: 1, max_completion_tokens: 1 }),
    { field: "max_tokens" },
  );
});

Deno.test("how likely tokens were is asked for as far as OpenAI has it", () => {
  const completion = { ...MODEL, prompt: "a" };
  const chat = { ...MODEL, messages: [{ role: "user", content: "a" }] };
  assert.equal(completionsRequest(completion).logprobs, undefined);
  assert.equal(completionsRequest({ ...completion, logprobs: 0 }).logprobs, 0);
  const more = { logprobs: true, top_logprobs: 20 };
  assert.equal(chatRequest({ ...chat, ...more }).top_logprobs, 20);
  const refused: [() => unknown, string][] = [
    [() => completionsRequest({ ...completion, logprobs: 6 }), "logprobs"],
    [
      () => completionsRequest({ ...completion, logprobs: 1, echo: true }),
      "logprobs",
    ],
    [() => chatRequest({ ...chat, logprobs: 1 }), "logprobs"],
    [() => chatRequest({ ...chat, top_logprobs: 2 }), "top_logprobs"],
    [
      () => chatRequest({ ...chat, ...more, top_logprobs: 21 }),
      "top_logprobs",
    ],
  ];
  for (const [read, field] of refused) assert.throws(read, { field });
});

Deno.test("a seed has room behind it for those of the other answers", () => {
  const seed = Number.MAX_SAFE_INTEGER;
  const chat = { ...MODEL, messages: [{ role: "user", content: "a" }] };
  for (
    const read of [
      (more: object) => chatRequest({ ...chat, ...more }),
      (more: object) => completionsRequest({ ...MODEL, prompt: "a", ...more }),
    ]
  ) {
    assert.equal(read({ seed }).seed, seed);
    assert.equal(read({ seed: seed - 1, n: 2 }).seed, seed - 1);
    assert.throws(() => read({ seed, n: 2 }), {
      field: "seed",
      message: new RegExp(`at most ${seed - 1} .*got ${seed}$`),
    });
  }
});
