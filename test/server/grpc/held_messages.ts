/**
 * A process of its own, with `--expose-gc`: says how many bytes are held of each message of a call that was answered
 * while others of it took long.
 */
import process from "node:process";
import { lstm } from "../../../src/models/lstm.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { encode } from "../../../src/server/grpc/encode.ts";
import { framed } from "../../../src/server/grpc/frames.ts";
import { INFER_REQUEST } from "../../../src/server/grpc/messages.ts";
import { GRPC } from "../../../src/server/grpc/service.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { createServer } from "../../../src/server/server.ts";

/** One less than may be under way at once. */
const LONG = 63;
const ANSWERED = 2000;
/** Of a request that is never admitted. */
const PRIORITY = 7;

const { gc } = globalThis as unknown as { gc(): void };

const host = await EngineHost.create({
  models: [
    servedTokens(lstm({ hidden: 4, vocabulary: 10 }), { name: "intents" }),
  ],
  policy: () => cellular(),
  engine: { workers: 0, warmUp: false },
  admission: {
    admit: ({ priority }) =>
      priority === PRIORITY ? new Promise(() => {}) : () => {},
  },
});

function message(priority: number): Uint8Array<ArrayBuffer> {
  const tokens = { name: "tokens", datatype: "INT32", shape: [1] };
  return framed(encode(INFER_REQUEST, {
    model_name: "intents",
    inputs: [{ ...tokens, contents: { int_contents: [1] } }],
    parameters: { priority: { int64_param: BigInt(priority) } },
  }));
}

let sent = 0;
const request = new Request(
  `http://localhost${
    GRPC.routes.find(({ path }) => path.endsWith("/ModelStreamInfer"))!.path
  }`,
  {
    method: "POST",
    body: new ReadableStream({
      pull: (controller) =>
        controller.enqueue(message(sent++ < LONG ? PRIORITY : 1)),
    }, { highWaterMark: 0 }),
    ...{ duplex: "half" },
  },
);
const { body } = await createServer(host).speaking([GRPC]).fetch(request);
const reader = body!.getReader();

async function heapBytes(): Promise<number> {
  for (let i = 0; i < ANSWERED; i++) await reader.read();
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}

const before = await heapBytes();
const after = await heapBytes();
console.log((after - before) / ANSWERED);
process.exit();
