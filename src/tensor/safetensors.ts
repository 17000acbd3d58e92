import { elementCount, type Tensor, tensor } from "./tensor.ts";

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/**
 * Reads the f32 tensors of a `.safetensors` file.
 *
 * Format: u64 little-endian length of the header, JSON header (name -> dtype, shape, data_offsets
 * relative to the end of the header), raw data. Only F32 is accepted: weights are f32.
 * @param bytes the whole file
 * @param label what to call the file in messages
 * @throws RangeError or TypeError naming the file and the tensor when it is truncated or malformed
 */
export function readSafetensors(
  bytes: Uint8Array,
  label: string,
): Map<string, Tensor> {
  const fail = (what: string): never => {
    throw new RangeError(`Cannot read weights from ${label}: ${what}`);
  };
  if (bytes.byteLength < 8) {
    fail(`${bytes.byteLength} bytes are too few for a safetensors header`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerBytes = Number(view.getBigUint64(0, true));
  const dataStart = 8 + headerBytes;
  if (dataStart > bytes.byteLength) {
    fail(
      `the header claims ${headerBytes} bytes, the file has ${bytes.byteLength} (truncated?)`,
    );
  }
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, dataStart)));
  } catch (error) {
    return fail(`the header is not JSON (${(error as Error).message})`);
  }
  if (!isRecord(header)) {
    return fail(`the header is ${JSON.stringify(header)}, expected an object`);
  }
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (!isEntry(entry)) {
      return fail(
        `tensor "${name}" is described as ${JSON.stringify(entry)}, ` +
          `expected dtype, shape of positive integers, data_offsets`,
      );
    }
    if (entry.dtype !== "F32") {
      fail(`tensor "${name}" is ${entry.dtype}, expected F32`);
    }
    const [start, end] = entry.data_offsets;
    if (end - start !== 4 * elementCount(entry.shape)) {
      fail(
        `tensor "${name}" has ${
          end - start
        } bytes, its shape [${entry.shape}] needs ${
          4 * elementCount(entry.shape)
        }`,
      );
    }
    if (dataStart + end > bytes.byteLength) {
      fail(
        `tensor "${name}" ends at byte ${
          dataStart + end
        }, the file at ${bytes.byteLength} (truncated?)`,
      );
    }
    // Copied: the data of a safetensors file need not be 4-byte aligned. Not with slice(), which is a
    // view where `bytes` is a Node Buffer.
    const raw = new Uint8Array(
      bytes.subarray(dataStart + start, dataStart + end),
    );
    tensors.set(name, tensor(entry.shape, new Float32Array(raw.buffer)));
  }
  return tensors;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { dtype, shape, data_offsets: offsets } = value;
  return typeof dtype === "string" &&
    Array.isArray(shape) &&
    shape.every((size) => Number.isInteger(size) && size > 0) &&
    Array.isArray(offsets) && offsets.length === 2 &&
    offsets.every((at) => Number.isInteger(at) && at >= 0);
}
