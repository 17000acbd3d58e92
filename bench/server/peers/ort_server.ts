/**
 * What one writes for Node today: node:http, @huggingface/tokenizers and onnxruntime-node, with a batcher that waits for
 * a window and pads to the longest of a batch. Answers `/v1/embeddings` and the Open Inference Protocol's `infer` on
 * `/v2/models/bert`.
 *
 *     node ort_server.js MODEL_FOLDER PORT BATCH_MAX WINDOW_MS THREADS
 */
import { readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import process from "node:process";

const [, , folder, port, batchMax, windowMs, threads, packages] = process.argv;
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
  readonly ids: readonly number[];
  done(embedding: Float32Array): void;
  failed(error: unknown): void;
}

const queue: Waiting[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let isRunning = false;
let tokens = 0;
let padding = 0;
let batches = 0;

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
    const embeddings = await embed(batch.map(({ ids }) => ids));
    batch.forEach(({ done }, i) => done(embeddings[i]));
  } catch (error) {
    for (const { failed } of batch) failed(error);
  }
  isRunning = false;
  plan();
}

async function embed(
  rows: readonly (readonly number[])[],
): Promise<Float32Array[]> {
  const length = Math.max(...rows.map((ids) => ids.length));
  const real = rows.reduce((sum, ids) => sum + ids.length, 0);
  batches++;
  tokens += real;
  padding += rows.length * length - real;
  const dims = [rows.length, length];
  const fill = (value: (ids: readonly number[], i: number) => number) => {
    const data = new BigInt64Array(rows.length * length);
    rows.forEach((ids, row) => {
      for (let i = 0; i < length; i++) {
        data[row * length + i] = BigInt(value(ids, i));
      }
    });
    return new ort.Tensor("int64", data, dims);
  };
  // Its own pooling: the mean over what is no padding.
  const { head } = await session.run({
    input_ids: fill((ids, i) => ids[i] ?? 0),
    attention_mask: fill((ids, i) => i < ids.length ? 1 : 0),
    token_type_ids: fill(() => 0),
  }, ["head"]);
  const hidden = head.dims[1];
  return rows.map((_, i) => head.data.slice(i * hidden, (i + 1) * hidden));
}

function ask(ids: readonly number[]): Promise<Float32Array> {
  return new Promise((done, failed) => {
    queue.push({ ids, done, failed });
    plan();
  });
}

function normalised(row: Float32Array): Float32Array {
  const length = Math.hypot(...row) || 1;
  return row.map((value) => value / length);
}

async function answer(path: string, body: string): Promise<unknown> {
  if (path === "/v2/models/bert") {
    const input = (name: string) => ({
      ...{ name, datatype: "INT64", shape: [-1, -1] },
    });
    return {
      name: "bert",
      inputs: [
        ...[input("input_ids"), input("attention_mask")],
        input("token_type_ids"),
      ],
    };
  }
  if (path === "/counts") return { tokens, padding, batches };
  const request = JSON.parse(body);
  if (path === "/v1/embeddings") {
    const { ids } = tokenizer.encode(request.input);
    const row = normalised(await ask(ids));
    const bytes = new Uint8Array(row.buffer, row.byteOffset, row.byteLength);
    return {
      ...{ object: "list", model: "bert" },
      data: [{
        ...{ object: "embedding", index: 0 },
        embedding: request.encoding_format === "base64"
          ? Buffer.from(bytes).toString("base64")
          : Array.from(row),
      }],
      usage: { prompt_tokens: ids.length, total_tokens: ids.length },
    };
  }
  const [{ data }] = request.inputs;
  const row = await ask(data);
  return {
    model_name: "bert",
    outputs: [{
      ...{ name: "head", datatype: "FP32", shape: [1, row.length] },
      data: Array.from(row),
    }],
  };
}

http.createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", async () => {
    try {
      const body = Buffer.concat(pieces).toString();
      const text = JSON.stringify(await answer(`${request.url}`, body));
      response.setHeader("content-type", "application/json");
      response.end(text);
    } catch (error) {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: `${error}` }));
    }
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
