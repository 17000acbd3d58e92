/** Files beside a model are checked where they come in: under another name one would be as good as not there. */
import { textSettings } from "../../src/text/text_settings.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { assertRefuses } from "../option_refusals.ts";

Deno.test("TextTokenizer.load() refuses a file that it has no name for", async () => {
  const tokenizer = {
    pre_tokenizer: { type: "Whitespace" },
    model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0, fish: 1 } },
  };
  await assertRefuses(
    { tokenizer, config: {} },
    (files: never) => TextTokenizer.load(files),
    [{
      with: { chat_template: "{{ messages }}" },
      name: "TypeError",
      message:
        'TextTokenizer.load() has no file "chat_template"; it takes tokenizer, config, specialTokens, chatTemplate',
    }],
  );
});

Deno.test("textSettings() refuses a file that it has no name for", async () => {
  await assertRefuses({ config: {} }, textSettings, [{
    with: { sentence_bert: { max_seq_length: 8 } },
    name: "TypeError",
    message:
      'textSettings() has no file "sentence_bert"; it takes config, generation, sentence, pooling, prompts',
  }]);
});
