/** `ValueInfoProto` and `TypeProto` of onnx.proto. */
import { dataTypeName, plainTypeOf } from "../../tensor/onnx_types.ts";
import type { DeclaredDim, ValueInfo } from "../ir.ts";
import { quoted } from "../place.ts";
import type { ReadContext } from "./context.ts";
import type { Message } from "./message.ts";
import { AXES_MAX } from "./read_tensor.ts";

const NAME = 1;
const TYPE = 2;
const TENSOR_TYPE = 1;
const ELEM_TYPE = 1;
const SHAPE = 2;
const DIM = 1;
const DIM_VALUE = 1;
const DIM_PARAM = 2;

/** Types of values that are no tensors, by their field. */
const OTHER_TYPES: Record<number, string> = {
  4: "a sequence",
  5: "a map",
  7: "an opaque type",
  8: "a sparse tensor",
  9: "an optional",
};

/**
 * Reads name and type of a value.
 * @param what of the graph it is; a `value` may be of a type that is not read, it is left open then, and what a graph
 * inside a node hands on no tensor: as sequences are taken apart, it may be gone
 * @throws OnnxError when an input or output is of a type that is not read
 */
export function readValueInfo(
  message: Message,
  what: "input" | "output" | "inner output" | "value",
  context: ReadContext,
): ValueInfo {
  const name = message.text(NAME);
  const called = what === "inner output" ? "output" : what;
  const place = message.place.in(`${called} ${quoted(name)}`);
  const open = { name, type: null, dims: null };
  const isNeeded = what !== "value";
  const declared = message.message(TYPE, "type");
  if (declared === undefined) return open;
  const tensorType = declared.message(TENSOR_TYPE, "tensor type");
  if (tensorType === undefined) {
    const other = Object.keys(OTHER_TYPES).map(Number)
      .find((field) => declared.has(field));
    if (isNeeded && what !== "inner output" && other !== undefined) {
      place.fail(`it is ${OTHER_TYPES[other]}; only tensors are read`);
    }
    return open;
  }
  const code = tensorType.int(ELEM_TYPE);
  const type = code === 0 ? null : plainTypeOf(code);
  if (type === undefined) {
    if (isNeeded) {
      place.fail(
        `its elements are of ${dataTypeName(code)}, which is not read`,
      );
    }
    return open;
  }
  if (isNeeded && type !== null && dataTypeName(code) !== type) {
    context.takenAs(dataTypeName(code), type, name);
  }
  const shape = tensorType.message(SHAPE, "shape");
  const dims = shape?.messages(DIM, (dim): DeclaredDim => {
    if (dim.has(DIM_PARAM)) return dim.text(DIM_PARAM) || null;
    const size = dim.has(DIM_VALUE) ? dim.int(DIM_VALUE) : -1;
    if (!Number.isSafeInteger(size)) {
      place.fail(`a dim of ${size} is no size of anything`);
    }
    // Exporters write -1 for what they do not know.
    return size < 0 ? null : size;
  });
  if (dims !== undefined && dims.length > AXES_MAX) {
    place.fail(`it has ${dims.length} dims, more than ${AXES_MAX}`);
  }
  return { name, type, dims: dims ?? null };
}
