/** A message of an ONNX file. */
import type { ProtoMessage } from "../../base/proto_message.ts";
import type { Place } from "../place.ts";

export type Message = ProtoMessage<Place>;
