/** A file that declares a batch of one, with a batch of more: as its maker would have exported it. */
import {
  decode,
  encode,
  type WireField,
  type WireMessage,
} from "../../../test/onnx/wire.ts";

// Field numbers of onnx.proto.
const MODEL_GRAPH = 7;
const GRAPH_VALUES = { inputs: 11, outputs: 12, values: 13 };
/** ValueInfoProto.type.tensor_type.shape.dim. */
const DIMS = [2, 1, 2, 1];
const DIM_VALUE = 1;

/**
 * The first dim of 1 of each input and output becomes so many rows. Whether nodes inside take them is for who runs the
 * file to see: what they make of each row is compared.
 */
export function withRows(file: Uint8Array, rows: number): Uint8Array {
  if (rows === 1) return file;
  const { inputs, outputs, values } = GRAPH_VALUES;
  return encode(changed(decode(file), MODEL_GRAPH, (graph) => {
    let fields: WireMessage = graph.filter(([number]) => number !== values);
    for (const number of [inputs, outputs]) {
      fields = changed(fields, number, (value) => rowsOf(value, rows));
    }
    return fields;
  }));
}

function rowsOf(value: WireMessage, rows: number): WireMessage {
  let isDone = false;
  const along = (fields: WireMessage, [number, ...path]: number[]) =>
    changed(fields, number, (inner): WireMessage => {
      if (path.length > 0) return along(inner, path);
      const isOne = inner.some(([field, dim]) =>
        field === DIM_VALUE && "varint" in dim && dim.varint === 1n
      );
      if (isDone || !isOne) return inner;
      isDone = true;
      return [[DIM_VALUE, { varint: BigInt(rows) }]];
    });
  return along(value, DIMS);
}

/** Messages of a field, changed. */
function changed(
  fields: WireMessage,
  number: number,
  change: (inner: WireMessage) => WireMessage,
): WireMessage {
  return fields.map(([field, value]): WireField =>
    field === number && "message" in value
      ? [field, { message: change(value.message) }]
      : [field, value]
  );
}
