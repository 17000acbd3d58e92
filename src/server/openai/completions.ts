/** `POST /v1/completions`. */
import type { Context } from "../http/route.ts";
import { COMPLETION } from "./completion_forms.ts";
import { completionsRequest } from "./completions_request.ts";
import { drawingOf } from "./drawing.ts";
import { modelOf } from "./model.ts";
import { respond } from "./respond.ts";

/** @throws FieldError, and the host's errors */
export async function completions(context: Context): Promise<Response> {
  const request = completionsRequest(await context.body.json());
  const served = modelOf(context, request.model, "decoder");
  return await respond(context, COMPLETION, request, served, {
    prompts: request.prompt,
    choices: request.n,
    maxTokens: request.max_tokens,
    drawing: drawingOf(request),
    seed: request.seed,
    logprobs: request.logprobs,
    addSpecialTokens: true,
    echo: request.echo,
  });
}
