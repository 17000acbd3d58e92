/** Servers to test the protocol on, without sockets. */
import { Prng } from "../../../src/base/prng.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { onnxModel } from "../../../src/onnx/model.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { HostOptions } from "../../../src/server/host/host_options.ts";
import type {
  ServedModel,
  TensorSpec,
  WireTensor,
} from "../../../src/server/host/served_model.ts";
import { createServer } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server_options.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { recurrentFile } from "../../onnx/sequence_models.ts";

/** Asks a path of the server. */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** Runs something against a server of these models. */
export async function withServer(
  models: readonly ServedModel[],
  run: (ask: Ask, host: EngineHost) => Promise<void>,
  { host: hostOptions, ...options }: ServerOptions & {
    host?: Partial<HostOptions>;
  } = {},
): Promise<void> {
  const host = await EngineHost.create({
    models,
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    ...hostOptions,
  });
  const server = createServer(host, {
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  try {
    await run(
      (path, init) =>
        server.fetch(new Request(`http://localhost${path}`, init)),
      host,
    );
  } finally {
    await server.close();
  }
}

/** A tag for each of up to 12 words, in any number of rows. */
export const TAGGER: ServedModel = servedOnnx(
  onnxModel(
    recurrentFile(new Prng(3), {
      ...{ op: "LSTM", direction: "forward", layers: 1, hidden: 5 },
      ...{ input: { words: 11 }, between: "nothing", head: "tags" },
    }).read(
      [{ name: "ids", type: "int64", dims: ["batch", "time"] }],
      ["head"],
      17,
    ),
    { name: "tags", sizesMax: { time: 12 } },
  ),
  { name: "tags" },
);

const SMALL = lstm({ hidden: 2, vocabulary: 4 });

/** Gives back what the last request brought, of any types: for one request at a time. */
export function echo(specs: readonly TensorSpec[]): ServedModel {
  let last: readonly WireTensor[] = [];
  return {
    ...servedTokens(SMALL, { name: "echo" }),
    inputs: specs,
    outputs: specs,
    toInput(tensors) {
      last = [...tensors.values()];
      return { tokens: [1] };
    },
    toTensors: () => last,
  };
}
