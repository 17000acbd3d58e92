/**
 * MatMulNBits: weights of 2, 4 or 8 bits in blocks along the summed axis, each with a scale and perhaps a zero point, as
 * the floats that they stand for. Source: ContribOperators.md of onnxruntime, "com.microsoft.MatMulNBits".
 */
import { type PlainTensor, plainTensor } from "../../tensor/plain_tensor.ts";
import type { Expand, Expansion } from "./expansion.ts";

/** Numbers of `bits` bits in bytes, the lowest first. */
function unpacked(
  { data }: PlainTensor,
  bits: number,
): (at: number) => number {
  const perByte = 8 / bits;
  const mask = 2 ** bits - 1;
  return (at) =>
    Number(data[Math.floor(at / perByte)]) >> bits * (at % perByte) & mask;
}

function constant(given: Expansion, i: number, what: string): PlainTensor {
  return given.value(i).constant ??
    given.place.fail(`its input ${i} (${what}) is not constant`);
}

/** [K, N]. */
function weights(given: Expansion): PlainTensor {
  const [k, n, bits, block] = [
    given.int("K"),
    given.int("N"),
    given.int("bits", 4),
    given.int("block_size"),
  ];
  given.refuse(![2, 4, 8].includes(bits), `${bits} bits`);
  const packed = constant(given, 1, "B");
  const scales = constant(given, 2, "scales");
  const zeros = given.has(3) ? constant(given, 3, "zero_points") : undefined;
  const blocks = Math.ceil(k / block);
  const perByte = 8 / bits;
  const isWhole = k >= 1 && n >= 1 && block >= 1 && block % perByte === 0;
  const zerosOfRow = zeros?.type === "float32"
    ? blocks
    : Math.ceil(blocks / perByte) * perByte;
  const isFit = isWhole && packed.type === "uint8" &&
    packed.data.length === n * blocks * block / perByte &&
    scales.type === "float32" && scales.data.length === n * blocks &&
    (zeros === undefined ||
      zeros.type === "float32" && zeros.data.length === n * blocks ||
      zeros.type === "uint8" && zeros.data.length === n * zerosOfRow / perByte);
  if (!isFit) {
    given.place.fail(
      `its weights are not ${n} columns of ${k} numbers of ${bits} bits in blocks of ${block}`,
    );
  }
  const numbers = unpacked(packed, bits);
  const zeroOf = zeros === undefined
    ? () => 2 ** (bits - 1)
    : zeros.type === "float32"
    ? (at: number) => Number(zeros.data[at])
    : unpacked(zeros, bits);
  const found = new Float32Array(k * n);
  for (let column = 0; column < n; column++) {
    for (let i = 0; i < blocks; i++) {
      const scale = Number(scales.data[column * blocks + i]);
      const zero = zeroOf(column * zerosOfRow + i);
      for (let row = i * block; row < Math.min(k, (i + 1) * block); row++) {
        const number = numbers(column * blocks * block + row);
        found[row * n + column] = (number - zero) * scale;
      }
    }
  }
  return plainTensor("float32", [k, n], found);
}

export const matMulNBits: Expand = (given) => {
  given.refuse(given.has(4), "g_idx");
  const [to] = given.node.outputs;
  const operands = [given.input(0), given.constant(weights(given))];
  if (given.has(5)) {
    const product = given.add("MatMul", operands);
    given.add("Add", [product, given.input(5)], {}, to);
  } else given.add("MatMul", operands, {}, to);
};
