import type { TensorData } from "../../tensor/tensor.ts";
import { setAll } from "../../tensor/typed_array.ts";

/** Views of linear memory, and copies into it: without a view of every array, which is garbage. */
export class LinearMemory {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly floats: Float32Array;
  readonly #longs: BigInt64Array;

  constructor(buffer: ArrayBufferLike) {
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.floats = new Float32Array(buffer);
    this.#longs = new BigInt64Array(buffer);
  }

  /** Copies so many elements, which lie at an address, into an array of a type that is not f32. */
  read(data: TensorData, address: number, count: number): void {
    setAll(data, this.#view(data, address, count));
  }

  #view(data: TensorData, address: number, count: number): TensorData {
    if (data instanceof Int32Array) {
      return this.words.subarray(address >>> 2, (address >>> 2) + count);
    }
    if (data instanceof BigInt64Array) {
      return this.#longs.subarray(address / 8, address / 8 + count);
    }
    const bytes = this.bytes.subarray(address, address + count);
    return data instanceof Int8Array
      ? new Int8Array(bytes.buffer, address, count)
      : bytes;
  }

  /** @param address a multiple of the data's element size */
  write(data: TensorData, address: number): void {
    if (data instanceof Float32Array) this.floats.set(data, address >>> 2);
    else if (data instanceof Int32Array) this.words.set(data, address >>> 2);
    else if (data instanceof BigInt64Array) this.#longs.set(data, address / 8);
    else this.bytes.set(data, address);
  }
}
