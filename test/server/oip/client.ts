/** A client of the Open Inference Protocol, written from its text alone: it shares nothing with the server. */
import assert from "node:assert/strict";

/** A tensor as tests have it: FP16 and BF16 as bits, BYTES as strings. */
export interface ClientTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly values: readonly (number | bigint | string | boolean)[];
}

/** How a tensor is sent. */
export type Form = "flat" | "nested" | "binary";

const WRITE: Record<
  string,
  [bytes: number, (view: DataView, at: number, value: never) => void]
> = {
  BOOL: [1, (view, at, value) => view.setUint8(at, value ? 1 : 0)],
  UINT8: [1, (view, at, value) => view.setUint8(at, value)],
  INT8: [1, (view, at, value) => view.setInt8(at, value)],
  UINT16: [2, (view, at, value) => view.setUint16(at, value, true)],
  INT16: [2, (view, at, value) => view.setInt16(at, value, true)],
  FP16: [2, (view, at, value) => view.setUint16(at, value, true)],
  BF16: [2, (view, at, value) => view.setUint16(at, value, true)],
  UINT32: [4, (view, at, value) => view.setUint32(at, value, true)],
  INT32: [4, (view, at, value) => view.setInt32(at, value, true)],
  FP32: [4, (view, at, value) => view.setFloat32(at, value, true)],
  UINT64: [8, (view, at, value) => view.setBigUint64(at, value, true)],
  INT64: [8, (view, at, value) => view.setBigInt64(at, value, true)],
  FP64: [8, (view, at, value) => view.setFloat64(at, value, true)],
};

const READ: Record<
  string,
  (view: DataView, at: number) => number | bigint | boolean
> = {
  BOOL: (view, at) => view.getUint8(at) === 1,
  UINT8: (view, at) => view.getUint8(at),
  INT8: (view, at) => view.getInt8(at),
  UINT16: (view, at) => view.getUint16(at, true),
  INT16: (view, at) => view.getInt16(at, true),
  FP16: (view, at) => view.getUint16(at, true),
  BF16: (view, at) => view.getUint16(at, true),
  UINT32: (view, at) => view.getUint32(at, true),
  INT32: (view, at) => view.getInt32(at, true),
  FP32: (view, at) => view.getFloat32(at, true),
  UINT64: (view, at) => view.getBigUint64(at, true),
  INT64: (view, at) => view.getBigInt64(at, true),
  FP64: (view, at) => view.getFloat64(at, true),
};

/** The bytes of a tensor. */
export function binaryOf({ datatype, values }: ClientTensor): Uint8Array {
  if (datatype === "BYTES") {
    const parts = values.map((value) => {
      const text = new TextEncoder().encode(value as string);
      const part = new Uint8Array(4 + text.length);
      new DataView(part.buffer).setUint32(0, text.length, true);
      part.set(text, 4);
      return part;
    });
    return joined(parts);
  }
  const [bytes, write] = WRITE[datatype];
  const all = new Uint8Array(bytes * values.length);
  const view = new DataView(all.buffer);
  values.forEach((value, i) => write(view, i * bytes, value as never));
  return all;
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** JSON by hand, since a bigint has none. */
function jsonOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(", ")}]`;
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number" && !Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? "-0.0" : JSON.stringify(value);
}

function nested(values: readonly unknown[], shape: readonly number[]): unknown {
  if (shape.length === 0) return values;
  if (shape.length === 1) return values;
  const [count, ...inner] = shape;
  const size = inner.reduce((product, size) => product * size, 1);
  return Array.from(
    { length: count },
    (_, i) => nested(values.slice(i * size, (i + 1) * size), inner),
  );
}

/** A request's body and headers. */
export function requestOf(
  tensors: readonly (readonly [ClientTensor, Form])[],
  rest: Record<string, unknown> = {},
): {
  method: "POST";
  body: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
} {
  const binary: Uint8Array[] = [];
  const inputs = tensors.map(([tensor, form]) => {
    const { name, datatype, shape, values } = tensor;
    const head = JSON.stringify({ name, datatype, shape }).slice(0, -1);
    if (form === "binary") {
      const bytes = binaryOf(tensor);
      binary.push(bytes);
      return `${head}, "parameters": {"binary_data_size": ${bytes.length}}}`;
    }
    const data = form === "flat" ? values : nested(values, shape);
    return `${head}, "data": ${jsonOf(data)}}`;
  });
  const others = Object.entries(rest).map(([key, value]) =>
    `, ${JSON.stringify(key)}: ${JSON.stringify(value)}`
  );
  const json = new TextEncoder().encode(
    `{"inputs": [${inputs.join(", ")}]${others.join("")}}`,
  );
  return {
    method: "POST",
    body: joined([json, ...binary]),
    headers: binary.length === 0 ? {} : {
      "inference-header-content-length": `${json.length}`,
      "content-type": "application/octet-stream",
    },
  };
}

/** An answer's tensors; 200 is expected. */
export async function answerOf(response: Response): Promise<{
  readonly json: Record<string, unknown>;
  readonly outputs: readonly ClientTensor[];
  /** Names of those that were binary. */
  readonly binary: readonly string[];
}> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const header = response.headers.get("inference-header-content-length");
  const length = header === null ? bytes.length : Number(header);
  const text = new TextDecoder().decode(bytes.subarray(0, length));
  assert.equal(response.status, 200, text);
  // Integers with all their digits: quoted before they are parsed.
  const json = JSON.parse(
    text.replace(/([[,])(-?\d{16,})(?=[,\]])/g, '$1"#$2"'),
  );
  const binary: string[] = [];
  let at = length;
  const outputs = json.outputs.map((output: {
    name: string;
    datatype: string;
    shape: number[];
    data?: (number | string | boolean)[];
    parameters?: { binary_data_size: number };
  }) => {
    const { name, datatype, shape, data, parameters } = output;
    if (data !== undefined) {
      const values = data.map((value) => valueOf(datatype, value));
      return { name, datatype, shape, values };
    }
    const size = parameters!.binary_data_size;
    binary.push(name);
    const values = fromBinary(datatype, bytes.slice(at, at + size));
    at += size;
    return { name, datatype, shape, values };
  });
  assert.equal(at, bytes.length, "bytes behind the last tensor");
  return { json, outputs, binary };
}

function valueOf(datatype: string, value: number | string | boolean) {
  const isQuoted = typeof value === "string" && value.startsWith("#");
  const given = isQuoted ? value.slice(1) : value;
  if (datatype === "INT64" || datatype === "UINT64") return BigInt(given);
  return datatype === "FP32" || datatype === "FP64" ? Number(given) : value;
}

/** Elements of a tensor's bytes. */
export function fromBinary(
  datatype: string,
  bytes: Uint8Array,
): (number | bigint | boolean | string)[] {
  const view = new DataView(bytes.buffer);
  const values: (number | bigint | boolean | string)[] = [];
  if (datatype === "BYTES") {
    for (let at = 0; at < bytes.length;) {
      const length = view.getUint32(at, true);
      values.push(
        new TextDecoder().decode(bytes.subarray(at + 4, at + 4 + length)),
      );
      at += 4 + length;
    }
    return values;
  }
  const [size] = WRITE[datatype];
  for (let at = 0; at < bytes.length; at += size) {
    values.push(READ[datatype](view, at));
  }
  return values;
}
