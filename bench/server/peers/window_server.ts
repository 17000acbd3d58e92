/**
 * What one writes for Node today to have batches: node:http, @huggingface/tokenizers and onnxruntime-node, with a
 * batcher that waits for a window and pads to the longest of a batch.
 *
 *     node window_server.js MODEL_FOLDER PORT THREADS PACKAGES BATCH_MAX WINDOW_MS
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { normalised, servePeer } from "./front.ts";

const [, , folder, port, threads, packages, batchMax, windowMs] = process.argv;
const require = createRequire(packages);
const ort = require("onnxruntime-node");
const { Tokenizer } = require("@huggingface/tokenizers");

const read = (name: string) =>
  JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));
const tokenizer = new Tokenizer(
  // Files say to pad to 128 and the like; a batch pads by itself.
  { ...read("tokenizer.json"), padding: null, truncation: null },
  read("tokenizer_config.json"),
);
const session = await ort.InferenceSession.create(`${folder}/model.onnx`, {
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  graphOptimizationLevel: "all",
});

interface Waiting {
  readonly ids: BigInt64Array;
  done(embedding: Float32Array): void;
  failed(error: unknown): void;
}

const queue: Waiting[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let isRunning = false;
let tokens = 0;
let padding = 0;

/** Runs at once when a batch is full, else after the window. */
function plan(): void {
  if (isRunning || queue.length === 0) return;
  if (queue.length >= Number(batchMax)) void flush();
  else timer ??= setTimeout(() => void flush(), Number(windowMs));
}

async function flush(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  const batch = queue.splice(0, Number(batchMax));
  isRunning = true;
  try {
    const embeddings = await run(batch.map(({ ids }) => ids));
    batch.forEach(({ done }, i) => done(embeddings[i]));
  } catch (error) {
    for (const { failed } of batch) failed(error);
  }
  isRunning = false;
  plan();
}

async function run(rows: readonly BigInt64Array[]): Promise<Float32Array[]> {
  const length = Math.max(...rows.map((ids) => ids.length));
  const real = rows.reduce((sum, ids) => sum + ids.length, 0);
  tokens += real;
  padding += rows.length * length - real;
  const filled = (put: (data: BigInt64Array, ids: BigInt64Array) => void) => {
    const data = new BigInt64Array(rows.length * length);
    rows.forEach((ids, row) => put(data.subarray(row * length), ids));
    return new ort.Tensor("int64", data, [rows.length, length]);
  };
  // Its own pooling: the mean over what is no padding.
  const { head } = await session.run({
    input_ids: filled((data, ids) => data.set(ids)),
    attention_mask: filled((data, ids) => data.fill(1n, 0, ids.length)),
    token_type_ids: filled(() => {}),
  }, ["head"]);
  const hidden = head.dims[1];
  return rows.map((_, i) => head.data.slice(i * hidden, (i + 1) * hidden));
}

function infer(ids: BigInt64Array): Promise<Float32Array> {
  return new Promise((done, failed) => {
    queue.push({ ids, done, failed });
    plan();
  });
}

servePeer({
  infer,
  async embed(text) {
    const ids = BigInt64Array.from(tokenizer.encode(text).ids, BigInt);
    return { row: normalised(await infer(ids)), tokens: ids.length };
  },
  counts() {
    const counts = { tokens, padding };
    tokens = 0;
    padding = 0;
    return counts;
  },
}, Number(port));
