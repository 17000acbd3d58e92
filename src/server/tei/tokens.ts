/**
 * `/tokenize` and `/decode`.
 * Deviation: a token's place in its text is null, which the protocol allows: the tokenizer does not tell it. A token's
 * text is the vocabulary's.
 */
import type { ServedKind } from "../host/served_model.ts";
import { jsonResponse } from "../http/respond.ts";
import type { Context } from "../http/route.ts";
import type { ServedText } from "../texts/served_text.ts";
import { asInputError } from "../texts/text_request.ts";
import { checkBatch } from "./inputs.ts";
import { decodeRequest, tokenizeRequest } from "./requests.ts";
import { settingsOf, textOf } from "./text_call.ts";

const ANY: readonly ServedKind[] = [
  "embedding",
  "classifier",
  "reranker",
  "decoder",
];

/**
 * The model whose tokenizer is asked. Nothing goes to an engine, in front of which keys are looked at.
 * @throws ForbiddenError, and as `textOf`
 */
function modelOf(context: Context): ServedText {
  const served = textOf(context, ANY);
  context.host.checkKey(context.key, served);
  return served;
}

/** Tokens of texts, of any length. */
export async function tokenize(context: Context): Promise<Response> {
  const request = tokenizeRequest(await context.body.json());
  const { inputs } = request.inputs;
  const served = modelOf(context);
  checkBatch("inputs", inputs, settingsOf(served).batchSizeMax);
  const { tokenizer } = served.text;
  const idsOf = (text: string) => {
    try {
      const prompted = served.text.prompted(text, request.prompt_name);
      return tokenizer.encode(prompted, {
        addSpecialTokens: request.add_special_tokens,
      }).ids;
    } catch (error) {
      throw asInputError(error);
    }
  };
  return jsonResponse(inputs.map((text) =>
    Array.from(idsOf(text), (id) => ({
      id,
      text: tokenizer.idToToken(id) ?? "",
      special: tokenizer.isSpecial(id),
      start: null,
      stop: null,
    }))
  ));
}

/** Texts of tokens. */
export async function decode(context: Context): Promise<Response> {
  const request = decodeRequest(await context.body.json());
  const { inputs } = request.ids;
  const served = modelOf(context);
  checkBatch("ids", inputs, settingsOf(served).batchSizeMax);
  return jsonResponse(
    inputs.map((ids) =>
      served.text.tokenizer.decode(ids, request.skip_special_tokens)
    ),
  );
}
