/** Bodies of completions: whole, and in chunks. */
import assert from "node:assert/strict";
import {
  type Generated,
  type GeneratedPiece,
  type ResponseHead,
  streamedAnswers,
  type StreamEnds,
  wholeAnswers,
} from "../../../src/server/openai/answers.ts";
import {
  CHAT,
  COMPLETION,
  type CompletionForm,
} from "../../../src/server/openai/completion_forms.ts";
import { sseMessages } from "../sse_messages.ts";

async function* pieces(
  ...pieces: (GeneratedPiece | Error)[]
): AsyncGenerator<GeneratedPiece> {
  for (const piece of pieces) {
    await undefined;
    if (piece instanceof Error) throw piece;
    yield piece;
  }
}

function generated(...choices: (GeneratedPiece | Error)[][]): Generated {
  return { promptTokens: 5, choices: choices.map((all) => pieces(...all)) };
}

const A: GeneratedPiece = { text: "a", tokens: 1 };
const HELD: GeneratedPiece = { text: "", tokens: 1 };
const STOP: GeneratedPiece = { text: "b", tokens: 1, finishReason: "stop" };
const LENGTH: GeneratedPiece = { text: "", tokens: 1, finishReason: "length" };

function head(form: CompletionForm): ResponseHead {
  return { form, id: "1", created: 7, model: "m" };
}

const ENDS: StreamEnds = {
  withUsage: false,
  failed: (error) => ({ error: { message: (error as Error).message } }),
  left: () => {},
};

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };

Deno.test("a token that cannot be is told with a number, in whole answers and in pieces", () => {
  const never = { token: "b", logprob: -Infinity };
  const likely = { token: "a", logprob: 0, offset: 0, top: [never] };
  const answer = { text: "a", logprobs: [likely] };
  const told = (form: CompletionForm) =>
    [
      form.choice({ ...answer, finishReason: "stop" }, 0),
      form.piece({ ...answer, index: 0, finishReason: null }),
    ] as { logprobs: Record<string, unknown[]> }[];
  for (const { logprobs } of told(COMPLETION)) {
    assert.deepEqual(logprobs.token_logprobs, [0]);
    assert.deepEqual(logprobs.top_logprobs, [{ a: 0, b: -9999 }]);
  }
  for (const { logprobs: { content: [only] } } of told(CHAT)) {
    assert.deepEqual(only, {
      ...{ token: "a", logprob: 0, bytes: [97] },
      top_logprobs: [{ token: "b", logprob: -9999, bytes: [98] }],
    });
  }
});

Deno.test("of tokens that have one text a completion tells the likeliest, but of the one that came", () => {
  const top = [
    { token: "\ufffd", logprob: -0.5 },
    { token: "a", logprob: -1 },
    { token: "\ufffd", logprob: -4 },
  ];
  const topLogprobs = (token: string, logprob: number) => {
    const logprobs = [{ token, logprob, offset: 0, top }];
    const choice = COMPLETION.choice(
      { text: token, logprobs, finishReason: "stop" },
      0,
    );
    return (choice as { logprobs: { top_logprobs: unknown[] } }).logprobs
      .top_logprobs[0];
  };
  assert.deepEqual(topLogprobs("b", -5), { "\ufffd": -0.5, a: -1, b: -5 });
  assert.deepEqual(topLogprobs("\ufffd", -4), { "\ufffd": -4, a: -1 });
});

Deno.test("whole answers lie at their indices, with what all of them cost", async () => {
  const all = generated([A, HELD, STOP], [A, LENGTH]);
  const response = await wholeAnswers(head(COMPLETION), all);
  assert.deepEqual(await response.json(), {
    id: "1",
    object: "text_completion",
    created: 7,
    model: "m",
    choices: [
      { text: "ab", index: 0, logprobs: null, finish_reason: "stop" },
      { text: "a", index: 1, logprobs: null, finish_reason: "length" },
    ],
    usage: USAGE,
  });
  const chat = await wholeAnswers(head(CHAT), generated([A, STOP]));
  const { object, choices } = await chat.json();
  assert.equal(object, "chat.completion");
  assert.deepEqual(choices, [{
    index: 0,
    message: { role: "assistant", content: "ab", refusal: null },
    logprobs: null,
    finish_reason: "stop",
  }]);
});

Deno.test("a chat's chunks are a role, pieces of text, a reason, what it cost, and DONE", async () => {
  const response = await streamedAnswers(
    head(CHAT),
    generated([A, HELD, STOP]),
    { ...ENDS, withUsage: true },
  );
  const chunk = (choices: unknown, usage: unknown = null) => ({
    id: "1",
    object: "chat.completion.chunk",
    created: 7,
    model: "m",
    choices,
    usage,
  });
  const choice = (delta: unknown, finish_reason: unknown = null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ];
  assert.deepEqual(await sseMessages(response), [
    chunk(choice({ role: "assistant", content: "" })),
    chunk(choice({ content: "a" })),
    chunk(choice({ content: "b" })),
    chunk(choice({}, "stop")),
    chunk([], { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }),
    "[DONE]",
  ]);
});

Deno.test("chunks of several answers say which they are of", async () => {
  const response = await streamedAnswers(
    head(COMPLETION),
    generated([A, STOP], [LENGTH], [A, A, LENGTH]),
    ENDS,
  );
  const texts = ["", "", ""];
  const reasons: unknown[] = [];
  for (const message of await sseMessages(response)) {
    if (message === "[DONE]") continue;
    const chunk = message as Record<string, Record<string, unknown>[]>;
    assert(!("usage" in chunk));
    const { index, text, finish_reason } = chunk.choices[0];
    texts[index as number] += text;
    if (finish_reason !== null) reasons[index as number] = finish_reason;
  }
  assert.deepEqual(texts, ["ab", "", "aa"]);
  assert.deepEqual(reasons, ["stop", "length", "length"]);
});

Deno.test("what fails before any text has a status, what fails later is told in the stream, which ends without DONE", async () => {
  const error = new Error("broken");
  await assert.rejects(
    streamedAnswers(head(COMPLETION), generated([error]), ENDS),
    error,
  );
  const response = await streamedAnswers(
    head(COMPLETION),
    generated([A, error]),
    ENDS,
  );
  const [first, second, ...more] = await sseMessages(response);
  assert.equal(
    (first as Record<string, Record<string, unknown>[]>).choices[0].text,
    "a",
  );
  assert.deepEqual(second, { error: { message: "broken" } });
  assert.deepEqual(more, []);
});
