/** A file that has one tensor (`TensorProto` of onnx.proto), such as the inputs of the ONNX project's test cases. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { Place } from "../place.ts";
import { ReadContext } from "./context.ts";
import { ExternalData } from "./external_data.ts";
import { ProtoMessage } from "../../base/proto_message.ts";
import { readTensor } from "./read_tensor.ts";

/** @throws OnnxError when it is malformed, or of a type that is not read */
export function readTensorFile(file: Uint8Array, label: string): PlainTensor {
  const context = new ReadContext(new ExternalData(() => undefined));
  const message = new ProtoMessage(file, new Place(label), context.budget);
  return readTensor(message, label, context);
}
