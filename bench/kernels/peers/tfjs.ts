/**
 * tfjs-wasm, SIMD build, one thread. Operators are translated one by one; images are brought
 * to tfjs's NHWC beforehand and results back afterwards, so that no layout change is timed.
 */
import {
  type Equivalent,
  type OnnxNode,
  transposed,
} from "../../../test/kernels/equivalent.ts";
import { folderOf, install, requirePeer } from "./install.ts";
import type { Peer, PeerRun } from "./peer.ts";
import { type Tf, type TfTensor, translate } from "./tfjs_operators.ts";

/** Version the figures in the documentation were taken with. */
export const TFJS_VERSION = "4.22.0";

interface TfBackend {
  setWasmPaths(folder: string): void;
}

/** Operators over images. */
const IMAGES = [
  "Conv",
  "ConvTranspose",
  "MaxPool",
  "AveragePool",
  "Resize",
];

/** Installs tfjs-wasm if needed and loads it. */
export async function tfjsWasm(): Promise<Peer> {
  install({
    "@tensorflow/tfjs-core": TFJS_VERSION,
    "@tensorflow/tfjs-backend-wasm": TFJS_VERSION,
  });
  const tf = requirePeer("@tensorflow/tfjs-core") as Tf;
  const backend = requirePeer("@tensorflow/tfjs-backend-wasm") as TfBackend;
  const name = "@tensorflow/tfjs-backend-wasm";
  backend.setWasmPaths(new URL("dist/", folderOf(name)).pathname);
  if (!await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT")) {
    throw new Error("tfjs-wasm finds no SIMD in this engine");
  }
  tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
  await tf.setBackend("wasm");
  await tf.ready();
  return {
    name: "tfjs-wasm",
    version: TFJS_VERSION,
    prepare: (operation) => Promise.resolve(prepare(tf, operation)),
  };
}

function prepare(tf: Tf, operation: Equivalent): PeerRun | undefined {
  const [node, ...more] = operation.nodes as [OnnxNode, ...OnnxNode[]];
  const plain = [...operation.inputs, ...operation.constants].every((
    { type = "f32" },
  ) => type === "f32" || type === "i32" || type === "i64");
  if (more.length > 0 || !plain || operation.nchw) return undefined;
  const images = IMAGES.includes(node.opType);
  const values = new Map(
    [...operation.inputs, ...operation.constants]
      .map((value) => [value.name, value]),
  );
  const tensors: TfTensor[] = [];
  const tensor = (
    data: Parameters<Tf["tensor"]>[0],
    shape: readonly number[],
    type: "float32" | "int32" = "float32",
  ) => {
    const made = tf.tensor(data, shape, type);
    tensors.push(made);
    return made;
  };
  const compute = translate(tf, node, values, tensor, (name) => {
    const { shape, data } = values.get(name)!;
    if (!images) return tensor(data as Float32Array, shape);
    const [n, channels, height, width] = shape as [
      number,
      number,
      number,
      number,
    ];
    return tensor(
      transposed(data as Float32Array, channels, height * width),
      [n, height, width, channels],
    );
  });
  if (compute === undefined) {
    for (const made of tensors) made.dispose();
    return undefined;
  }
  let last: TfTensor[] = [];
  const forget = () => {
    for (const made of last) made.dispose();
    last = [];
  };
  const named = node.outputs.filter((name) => name !== "");
  return {
    run() {
      forget();
      last = tf.tidy(compute);
    },
    outputs: () =>
      Object.fromEntries(last.map((made, i) => {
        const data = made.dataSync();
        if (!images) return [named[i], data];
        const [, height, width, channels] = made.shape as [
          number,
          number,
          number,
          number,
        ];
        return [named[i], transposed(data, height * width, channels)];
      })),
    release() {
      forget();
      for (const made of tensors) made.dispose();
    },
  };
}
