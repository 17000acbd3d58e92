/**
 * What one writes first: node:http and @huggingface/transformers, a text at a time. In Node it computes with onnxruntime-node; a run holds the event loop, so that
 * requests come one after the other.
 *
 *     node transformers_server.js MODEL_FOLDER PORT THREADS PACKAGES
 */
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { normalised, servePeer } from "./front.ts";

const [, , folder, port, threads, packages] = process.argv;
const { AutoModel, AutoTokenizer, env, Tensor } = await import(
  pathToFileURL(
    createRequire(packages).resolve("@huggingface/transformers"),
  ).href
);

env.allowRemoteModels = false;
const model = await AutoModel.from_pretrained(folder, {
  ...{ dtype: "fp32", device: "cpu", subfolder: "" },
  session_options: {
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
  },
});
const tokenizer = await AutoTokenizer.from_pretrained(folder);

let tokens = 0;

async function run(inputs: unknown): Promise<Float32Array> {
  // Its own pooling: the mean of the last states.
  const { head } = await model(inputs);
  return head.data;
}

servePeer({
  async embed(text) {
    const inputs = tokenizer(text, { padding: true, truncation: true });
    const count = inputs.input_ids.dims[1];
    tokens += count;
    return { row: normalised(await run(inputs)), tokens: count };
  },
  async infer(ids) {
    tokens += ids.length;
    const tensor = (data: BigInt64Array) =>
      new Tensor("int64", data, [1, ids.length]);
    return await run({
      input_ids: tensor(ids),
      attention_mask: tensor(new BigInt64Array(ids.length).fill(1n)),
      token_type_ids: tensor(new BigInt64Array(ids.length)),
    });
  },
  counts() {
    const counts = { tokens, padding: 0 };
    tokens = 0;
    return counts;
  },
}, Number(port));
