/** `/embed`, `/embed_all` and `/similarity`. */
import type { Context } from "../http/route.ts";
import { checkBatch } from "./inputs.ts";
import {
  embedAllRequest,
  embedRequest,
  similarityRequest,
} from "./requests.ts";
import {
  answered,
  charactersIn,
  settingsOf,
  textOf,
  textOptions,
} from "./text_call.ts";

/** A row for each text. */
export async function embed(context: Context): Promise<Response> {
  const request = embedRequest(await context.body.json());
  const { inputs } = request.inputs;
  const served = textOf(context, ["embedding"]);
  checkBatch("inputs", inputs, settingsOf(served).batchSizeMax);
  const options = {
    ...textOptions(context, served, request),
    normalize: request.normalize,
    ...(request.dimensions !== undefined && { dimensions: request.dimensions }),
  };
  return await answered(
    context,
    served,
    charactersIn(inputs),
    (run) => served.text.embed(run, inputs, options),
    (results) => results.map(({ embedding }) => Array.from(embedding)),
  );
}

/** A row for each token of each text. */
export async function embedAll(context: Context): Promise<Response> {
  const request = embedAllRequest(await context.body.json());
  const { inputs } = request.inputs;
  const served = textOf(context, ["embedding"]);
  checkBatch("inputs", inputs, settingsOf(served).batchSizeMax);
  const options = textOptions(context, served, request);
  return await answered(
    context,
    served,
    charactersIn(inputs),
    (run) => served.text.embedTokens(run, inputs, options),
    (results) =>
      results.map(({ embeddings }) => embeddings.map((row) => Array.from(row))),
  );
}

/** Cosines of one text and others. */
export async function similarity(context: Context): Promise<Response> {
  const { inputs, parameters } = similarityRequest(await context.body.json());
  const { source_sentence, sentences } = inputs;
  const served = textOf(context, ["embedding"]);
  const { batchSizeMax } = settingsOf(served);
  // The source is one of the texts.
  checkBatch("inputs.sentences", sentences, batchSizeMax - 1);
  const texts = [source_sentence, ...sentences];
  const options = {
    ...textOptions(
      context,
      served,
      parameters ?? { truncation_direction: "right" },
    ),
    normalize: false,
  };
  return await answered(
    context,
    served,
    charactersIn(texts),
    (run) => served.text.embed(run, texts, options),
    ([source, ...others]) =>
      others.map(({ embedding }) => cosine(source.embedding, embedding)),
  );
}

function cosine(a: Float32Array, b: Float32Array): number {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
