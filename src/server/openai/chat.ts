/** `POST /v1/chat/completions`: a completion of what the tokenizer's template makes of the conversation. */
import { TextFileError } from "../../text/errors.ts";
import { HttpError } from "../http/http_error.ts";
import type { Context } from "../http/route.ts";
import { chatRequest } from "./chat_request.ts";
import { CHAT } from "./completion_forms.ts";
import { drawingOf } from "./drawing.ts";
import { modelOf } from "./model.ts";
import { respond } from "./respond.ts";

/** @throws FieldError, and the host's errors */
export async function chat(context: Context): Promise<Response> {
  const request = chatRequest(await context.body.json());
  const served = modelOf(context, request.model, "decoder");
  const { tokenizer } = served.text;
  if (tokenizer.chatTemplate === undefined) {
    throw new HttpError(
      400,
      `Model "${served.name}" has no template of chats; /v1/completions takes its prompts`,
    );
  }
  const messages = request.messages.map(({ role, content }) => ({
    // What OpenAI calls instructions now; templates know the older name.
    role: role === "developer" ? "system" : role,
    content,
  }));
  let prompt: string;
  try {
    prompt = tokenizer.chatPrompt(messages);
  } catch (error) {
    // What the template refuses it says in its own words.
    if (!(error instanceof TextFileError)) throw error;
    throw new HttpError(400, error.message, {}, { cause: error });
  }
  return await respond(context, CHAT, request, served, {
    prompts: [prompt],
    choices: request.n,
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    drawing: drawingOf(request),
    seed: request.seed,
    logprobs: request.logprobs ? request.top_logprobs ?? 0 : undefined,
    addSpecialTokens: false,
    echo: false,
  });
}
