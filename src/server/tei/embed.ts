/** `/embed`, `/embed_all` and `/similarity`. */
import type { Context } from "../http/route.ts";
import {
  embedAllRequest,
  embedRequest,
  similarityRequest,
} from "./requests.ts";
import { answered, promptOption, textOptions } from "./text_call.ts";

/** A row for each text. */
export async function embed(context: Context): Promise<Response> {
  const request = embedRequest(await context.body.json());
  const { inputs, isBatch } = request.inputs;
  return await answered(
    context,
    { kinds: ["embedding"], isBatch, field: "inputs", given: inputs },
    (served, run) =>
      served.text.embed(run, inputs, {
        ...textOptions(context, served, request),
        ...promptOption(request),
        normalize: request.normalize,
        ...(request.dimensions !== undefined &&
          { dimensions: request.dimensions }),
      }),
    (results) => results.map(({ embedding }) => Array.from(embedding)),
  );
}

/** A row for each token of each text. */
export async function embedAll(context: Context): Promise<Response> {
  const request = embedAllRequest(await context.body.json());
  const { inputs, isBatch } = request.inputs;
  return await answered(
    context,
    { kinds: ["embedding"], isBatch, field: "inputs", given: inputs },
    (served, run) =>
      served.text.embedTokens(
        run,
        inputs,
        {
          ...textOptions(context, served, request),
          ...promptOption(request),
        },
      ),
    (results) =>
      results.map(({ embeddings }) => embeddings.map((row) => Array.from(row))),
  );
}

/** Cosines of one text and others. */
export async function similarity(context: Context): Promise<Response> {
  const { inputs, parameters } = similarityRequest(await context.body.json());
  const { source_sentence, sentences } = inputs;
  const texts = [source_sentence, ...sentences];
  return await answered(
    context,
    {
      kinds: ["embedding"],
      isBatch: true,
      field: "inputs.sentences",
      given: sentences,
      texts,
      besides: 1,
    },
    (served, run) =>
      served.text.embed(run, texts, {
        ...textOptions(
          context,
          served,
          parameters ?? { truncation_direction: "right" },
        ),
        ...promptOption(parameters ?? {}),
        normalize: false,
      }),
    ([source, ...others]) =>
      others.map(({ embedding }) => cosine(source.embedding, embedding)),
  );
}

/** Of a row of zeros it is 0, as of rows at right angles: NaN is no number in JSON. */
function cosine(a: Float32Array, b: Float32Array): number {
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
