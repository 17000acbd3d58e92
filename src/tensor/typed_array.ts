/** What a typed array is: asked of the array itself, which may say otherwise in properties of its own. */
import type { TensorData } from "./tensor.ts";

const ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const getterOf = (key: PropertyKey) =>
  Object.getOwnPropertyDescriptor(ARRAY, key)!.get!;
const TYPE = getterOf(Symbol.toStringTag);
const LENGTH = getterOf("length");
const SET = Uint8Array.prototype.set;

/** Name of its type, such as "Float32Array"; undefined: it is no typed array. */
export function typeOf(data: unknown): string | undefined {
  return TYPE.call(data);
}

/** @throws TypeError when it is no typed array */
export function lengthOf(data: TensorData): number {
  return LENGTH.call(data);
}

/** Writes an array of the same type to the beginning of another one, whose own `set` may keep what it is given. */
export function setAll(data: TensorData, from: TensorData): void {
  SET.call(data as Uint8Array, from as Uint8Array);
}
