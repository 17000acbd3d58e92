/** onnxruntime-web on its WASM backend, and onnxruntime-node on one thread. */
import type {
  ElementArrays,
  ElementType,
  Equivalent,
} from "../../../test/kernels/equivalent.ts";
import { encodeModel } from "../onnx_model.ts";
import { folderOf, install, requirePeer } from "./install.ts";
import type { Peer, PeerRun } from "./peer.ts";

/** Version the figures in the documentation were taken with. */
export const ORT_VERSION = "1.30.0";

const THREADED = "ort-wasm-simd-threaded.mjs";

/** Element types by onnxruntime's names. */
export const ORT_TYPES = {
  f32: "float32",
  u8: "uint8",
  i8: "int8",
  i32: "int32",
  i64: "int64",
} as const;

/** The part of onnxruntime's interface the benches use. */
export interface OrtTensor {
  dims: readonly number[];
  data: ElementArrays[ElementType];
}
export interface OrtSession {
  run(feeds: Record<string, OrtTensor>): Promise<Record<string, OrtTensor>>;
  release(): Promise<void>;
}
export interface Ort {
  Tensor: new (
    type: string,
    data: ElementArrays[ElementType],
    shape: readonly number[],
  ) => OrtTensor;
  InferenceSession: {
    create(
      model: Uint8Array,
      options: Record<string, unknown>,
    ): Promise<OrtSession>;
  };
  env: { wasm: { numThreads: number; wasmPaths: string }; logLevel: string };
}

/** Installs onnxruntime-web if needed and loads its WASM backend; the number of threads is the process's. */
export async function loadOrtWeb(threads = 1): Promise<Ort> {
  install({ "onnxruntime-web": ORT_VERSION });
  const dist = new URL("dist/", folderOf("onnxruntime-web"));
  const ort = await import(new URL("ort.wasm.min.mjs", dist).href) as Ort;
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = dist.href;
  ort.env.logLevel = "error";
  if (threads > 1) startThreadsFrom(new URL(THREADED, dist).href);
  return ort;
}

/**
 * With several threads onnxruntime-web copies its module into a blob, as pages must that load it from
 * elsewhere, and its threads start from there. Deno's node:worker_threads, which it takes, loads no blobs:
 * it is handed the file instead, once.
 */
function startThreadsFrom(module: string): void {
  const { createObjectURL } = URL;
  URL.createObjectURL = () => {
    URL.createObjectURL = createObjectURL;
    return module;
  };
}

/** How a session is made. */
export interface SessionOptions {
  /** Default "wasm". */
  provider?: "wasm" | "cpu";
  /** Whether weights are laid out anew for each operator that uses them; default true. */
  prepacks?: boolean;
}

/** A session; onnxruntime-node's has one thread. */
export async function createSession(
  ort: Ort,
  model: Uint8Array,
  { provider = "wasm", prepacks = true }: SessionOptions = {},
): Promise<OrtSession> {
  const { Worker } = globalThis;
  try {
    return await ort.InferenceSession.create(model, {
      executionProviders: [provider],
      graphOptimizationLevel: "all",
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: 3,
      ...(!prepacks && { extra: { session: { disable_prepacking: "1" } } }),
    });
  } finally {
    // onnxruntime-web puts Node's in its place where it finds node:worker_threads.
    globalThis.Worker = Worker;
  }
}

/** onnxruntime-web as a peer. */
export async function ortWeb(threads = 1): Promise<Peer> {
  return peer("onnxruntime-web", await loadOrtWeb(threads), "wasm");
}

/** onnxruntime-node as a peer: native code, so in Node only. */
export function ortNode(): Peer {
  install({ "onnxruntime-node": ORT_VERSION });
  const ort = requirePeer("onnxruntime-node") as Ort;
  return {
    ...peer("onnxruntime-node", ort, "cpu"),
    // Without VNNI it adds pairs of u8 x i8 products in 16 bits, which saturate (VPMADDUBSW;
    // ONNX Runtime's documentation on quantisation, "When to use S8S8").
    inexact: ["DynamicQuantizeMatMul", "MatMulInteger"],
  };
}

function peer(name: string, ort: Ort, provider: "wasm" | "cpu"): Peer {
  return {
    name,
    version: ORT_VERSION,
    async prepare(operation: Equivalent): Promise<PeerRun> {
      const model = encodeModel(operation);
      const session = await createSession(ort, model, { provider });
      const feeds = Object.fromEntries(
        operation.inputs.map(({ name, shape, type = "f32", data }) => [
          name,
          new ort.Tensor(ORT_TYPES[type], data, shape),
        ]),
      );
      let last: Record<string, OrtTensor> = {};
      return {
        async run() {
          last = await session.run(feeds);
        },
        outputs: () =>
          Object.fromEntries(
            Object.entries(last).map(([name, { data }]) => [name, data]),
          ),
        release: () => session.release(),
      };
    },
  };
}
