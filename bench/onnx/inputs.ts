/** Seeded inputs of the shapes that a model declares. */
import type { Prng } from "../../src/base/prng.ts";
import type { InputSpec } from "../../src/onnx/input_tensors.ts";
import {
  elementCount,
  elements,
  type TensorData,
} from "../../src/tensor/tensor.ts";

/** A request: elements by name of the input. */
export type Elements = Readonly<Record<string, TensorData>>;

/** Floats from -1 to 1, integers from 0 up to and without maxId (as far as their type goes), bools 0 and 1. */
export function drawnInput(
  specs: readonly InputSpec[],
  prng: Prng,
  maxId: number,
): Elements {
  return Object.fromEntries(specs.map(({ name, dtype, shape }) => {
    const data = elements(dtype, elementCount(shape));
    for (let i = 0; i < data.length; i++) {
      if (data instanceof BigInt64Array) data[i] = BigInt(prng.int(maxId));
      else if (dtype === "f32") data[i] = prng.float() * 2 - 1;
      else data[i] = prng.int(Math.min(maxId, BELOW[dtype] ?? maxId));
    }
    return [name, data];
  }));
}

const BELOW: Readonly<Record<string, number>> = { i8: 128, u8: 256, bool: 2 };

/** Requests one after the other, as a batch in front. */
export function stacked(requests: readonly Elements[]): Elements {
  const [first] = requests;
  return Object.fromEntries(
    Object.entries(first).map(([name, { length }]) => {
      const TypedArray = first[name].constructor as {
        new (length: number): TensorData;
      };
      const all = new TypedArray(length * requests.length);
      requests.forEach((request, i) =>
        all.set(request[name] as never, i * length)
      );
      return [name, all];
    }),
  );
}
