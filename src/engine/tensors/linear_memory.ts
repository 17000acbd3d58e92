import type { TensorData } from "../../tensor/tensor.ts";

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

  /** Copies so many elements from an address into an array of a type that is not f32. */
  read(data: TensorData, address: number, count: number): void {
    if (data instanceof Int32Array) {
      data.set(this.words.subarray(address >>> 2, (address >>> 2) + count));
    } else if (data instanceof BigInt64Array) {
      data.set(this.#longs.subarray(address / 8, address / 8 + count));
    } else if (data instanceof Int8Array) {
      data.set(new Int8Array(this.bytes.buffer, address, count));
    } else {(data as Uint8Array).set(
        this.bytes.subarray(address, address + count),
      );}
  }

  /** @param address a multiple of the data's element size */
  write(data: TensorData, address: number): void {
    if (data instanceof Float32Array) this.floats.set(data, address >>> 2);
    else if (data instanceof Int32Array) this.words.set(data, address >>> 2);
    else if (data instanceof BigInt64Array) this.#longs.set(data, address / 8);
    else this.bytes.set(data, address);
  }
}
