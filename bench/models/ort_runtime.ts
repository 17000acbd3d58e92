/** Runs exported graphs in onnxruntime-web. */
import { encodeModel } from "../kernels/onnx_model.ts";
import {
  createSession,
  type Ort,
  ORT_TYPES,
  type OrtTensor,
} from "../kernels/peers/ort.ts";
import type { Runtime } from "./request_graphs.ts";

export function ortRuntime(ort: Ort): Runtime<OrtTensor> {
  return {
    tensor: ({ type = "f32", data, shape }) =>
      new ort.Tensor(ORT_TYPES[type], data, shape),
    async prepare(graph, { once }) {
      const session = await createSession(ort, encodeModel(graph), {
        // Cells of an encoder occur once for each token: their weights are not laid out as often.
        prepacks: !once,
      });
      return {
        run: (inputs) => session.run(inputs),
        release: () => session.release(),
      };
    },
  };
}
