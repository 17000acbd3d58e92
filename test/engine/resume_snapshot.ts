/**
 * Resumes a stream in a process of its own: run with the number of a model of STREAMED, its snapshot in base64, and
 * the numbers of the frames that are pushed then; prints their results as JSON.
 */
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { resultsOf, STREAMED } from "./stream_models.ts";

const [which, encoded, ...numbers] = Deno.args;
const { model, frame } = STREAMED[Number(which)];
await using engine = await ServingEngine.create({
  models: [model],
  policy: cellular(),
  workers: 0,
  warmUp: false,
});
await using stream = engine.open(model, {
  snapshot: Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0)),
});
const frames = numbers.map((n) => frame(Number(n)));
console.log(JSON.stringify(await resultsOf(stream, frames)));
