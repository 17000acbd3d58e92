/** ONNX Runtime for the web and for Node, which run the same files. */
import { install, requirePeer } from "../../kernels/peers/install.ts";
import { loadOrtWeb, type Ort, ORT_VERSION } from "../../kernels/peers/ort.ts";

/** A runtime of ONNX files. */
export interface StreamPeer {
  readonly name: string;
  readonly ort: Ort;
  readonly provider: "wasm" | "cpu";
}

/** Both, installed if they are missing. */
export async function streamPeers(): Promise<StreamPeer[]> {
  install({ "onnxruntime-node": ORT_VERSION });
  return [
    {
      name: "onnxruntime-web",
      ort: await loadOrtWeb(),
      provider: "wasm",
    },
    {
      name: "onnxruntime-node",
      ort: requirePeer("onnxruntime-node") as Ort,
      provider: "cpu",
    },
  ];
}
