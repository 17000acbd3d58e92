/** Scores that requests change, through `fetch` alone. */
import assert from "node:assert/strict";
import type { Model } from "../../../src/graph/model.ts";
import { gpt } from "../../../src/models/gpt.ts";
import type { DecoderInput } from "../../../src/onnx/decoder/decoder_model.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedDecoder } from "../../../src/server/models/served_decoder.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { servedText } from "../../../src/server/models/served_text.ts";
import { TextModel } from "../../../src/text/text_model.ts";
import { tinyDecoder } from "../../onnx/decoder_files.ts";
import { runRequests } from "../../run_requests.ts";
import {
  TEXT_MODELS,
  tokenizer,
  VOCABULARY,
  withTextServer,
} from "../text_models.ts";

const PROMPT = "fish swim in";

Deno.test("penalties and what is added to scores change answers as the decoder has them", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: VOCABULARY, seed: 11 },
  });
  const decoder = { positionsMax: 30, sample: true, penalties: true };
  const model = await loadOnnx(file, { decoder });
  const built = gpt({
    ...{ layers: 1, hidden: 16, heads: 2, vocabulary: VOCABULARY, eos: 3 },
    // Parts of words are one word with the prompt's last one.
    ...{ banned: [VOCABULARY - 1], ...decoder },
  });
  const builder = servedText(
    servedTokens(built, { name: "builder" }),
    new TextModel(built, tokenizer),
  );
  const answers = { repetitionPenalty: 3 };
  const text = new TextModel(model, tokenizer);
  const drawer = servedText(servedDecoder(model, { name: "drawer" }), text);
  const kept = servedText(
    servedDecoder(model, { name: "kept" }),
    new TextModel(model, tokenizer, { answers }),
  );
  await withTextServer(async (ask) => {
    const asked = (more: object) =>
      ask("/v1/completions", {
        ...{ model: "drawer", prompt: PROMPT, max_tokens: 12 },
        ...{ temperature: 0, ...more },
      });
    const words = async (more: object): Promise<string> => {
      const { choices: [choice] } = await (await asked(more)).json();
      return choice.text;
    };
    const tokens = [...text.encode(PROMPT).ids];
    const own = (more: object, of: Model<DecoderInput> = model): string => {
      const [result] = runRequests(of, [{ tokens, maxSteps: 12, ...more }]);
      return tokenizer.decode(Array.from(result.tokens.data, Number), true);
    };
    const plain = await words({});
    const greedy = await words({ model: "builder" });
    const cases: readonly (readonly [object, object])[] = [
      [{ frequency_penalty: 2 }, { frequencyPenalty: 2 }],
      [{ presence_penalty: 2 }, { presencePenalty: 2 }],
      [{ repetition_penalty: 3 }, { repetitionPenalty: 3 }],
      [{ logit_bias: { 7: 100 } }, { logitBias: { 7: 100 } }],
      [
        { logit_bias: { 3: 100 }, min_tokens: 3 },
        { logitBias: { 3: 100 }, minTokens: 3 },
      ],
      [
        { temperature: 1, seed: 4, min_p: 0.5 },
        { temperature: 1, seed: 4, minP: 0.5 },
      ],
    ];
    for (const [said, meant] of cases) {
      const changed = await words(said);
      assert.equal(changed.trim(), own(meant).trim());
      assert.notEqual(changed, plain, JSON.stringify(said));
      const likewise = await words({ model: "builder", ...said });
      assert.equal(likewise.trim(), own(meant, built).trim());
      assert.notEqual(likewise, greedy, JSON.stringify(said));
    }
    // What a model has for requests that do not say.
    const said = await words({ model: "kept" });
    assert.equal(said, await words({ repetition_penalty: 3 }));
    assert.equal(await words({ model: "kept", repetition_penalty: 1 }), plain);
    for (const stream of [false, true]) {
      const refused = await asked({ stream, logit_bias: { 99999: 1 } });
      assert.equal(refused.status, 400);
      const { error } = await refused.json();
      assert.match(
        error.message,
        /^"logit_bias" of .* ids of tokens below \d+, got "99999"/,
      );
      assert.equal(error.param, "logit_bias");
      assert.equal(error.code, "invalid_value");
    }
    const none = await asked({ model: "writer", presence_penalty: 1 });
    assert.equal(none.status, 400);
    const { error } = await none.json();
    assert.match(
      error.message,
      /^"presence_penalty" is of .*: model "gpt" takes its scores as they are/,
    );
    assert.equal(error.param, "presence_penalty");
    const tensor = (name: string, datatype: string, data: number[]) => ({
      ...{ name, datatype, shape: [data.length], data },
    });
    const inferred = await ask("/v2/models/drawer/infer", {
      inputs: [
        tensor("tokens", "INT32", [1]),
        tensor("repetition_penalty", "FP32", [0]),
      ],
    });
    assert.equal(inferred.status, 400);
    assert.match(
      (await inferred.json()).error,
      /^"repetition_penalty" of a request to "the model" is above 0 in f32, got 0/,
    );
    assert.equal(
      (await asked({ model: "writer", presence_penalty: 0, logit_bias: {} }))
        .status,
      200,
    );
  }, [drawer, builder, kept, ...TEXT_MODELS]);
});
