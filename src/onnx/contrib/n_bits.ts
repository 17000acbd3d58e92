/**
 * MatMulNBits and GatherBlockQuantized: weights of 2, 4 or 8 bits in blocks, each with a scale and perhaps a zero point,
 * as the floats that they stand for. Source: ContribOperators.md of onnxruntime, "com.microsoft.MatMulNBits" and
 * "com.microsoft.GatherBlockQuantized".
 */
import { type PlainTensor, plainTensor } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import type { Expand, Expansion } from "./expansion.ts";

/** Numbers that a byte has: those that the file says to be of fewer bits have been taken out of theirs. */
const perByteOf = (tensor: PlainTensor, bits: number) =>
  tensor.bits === undefined ? 8 / bits : 1;

/** Numbers of `bits` bits in bytes, the lowest first. */
function unpacked(
  tensor: PlainTensor,
  bits: number,
): (at: number) => number {
  const { data } = tensor;
  const perByte = perByteOf(tensor, bits);
  if (perByte === 1) return (at) => Number(data[at]);
  const mask = 2 ** bits - 1;
  return (at) =>
    Number(data[Math.floor(at / perByte)]) >> bits * (at % perByte) & mask;
}

function constant(given: Expansion, i: number, what: string): PlainTensor {
  return given.value(i).constant ??
    given.place.fail(`its input ${i} (${what}) is not constant`);
}

/** Rows of numbers, whose blocks lie along the row. */
interface Blocks {
  /** The input that they are; scales are input 2, zero points 3. */
  readonly input: number;
  readonly rows: number;
  /** Numbers of a row. */
  readonly length: number;
  /** Numbers of a row that there is room for. */
  readonly stride: number;
  readonly bits: number;
  readonly block: number;
}

/**
 * The floats that numbers stand for.
 * @param at where among them number `i` of a row lies
 */
function floatsOf(
  given: Expansion,
  { input, rows, length, stride, bits, block }: Blocks,
  at: (row: number, i: number) => number,
): Float32Array<ArrayBuffer> {
  const packed = constant(given, input, "numbers");
  const scales = constant(given, 2, "scales");
  const zeros = given.has(3) ? constant(given, 3, "zero_points") : undefined;
  const blocks = Math.ceil(length / block);
  const isWhole = length >= 1 && rows >= 1 && block >= 1 &&
    block % (8 / bits) === 0;
  const isNarrow = packed.bits !== undefined;
  const zerosPerByte = zeros === undefined || zeros.type === "float32"
    ? 1
    : perByteOf(zeros, bits);
  const zerosOfRow = Math.ceil(blocks / zerosPerByte) * zerosPerByte;
  const isFit = isWhole && (isNarrow || packed.type === "uint8") &&
    packed.data.length === rows * stride / perByteOf(packed, bits) &&
    scales.type === "float32" && scales.data.length === rows * blocks &&
    (zeros === undefined ||
      [packed.type, "float32"].includes(zeros.type) &&
        zeros.data.length === rows * zerosOfRow / zerosPerByte);
  if (!isFit) {
    given.place.fail(
      `its weights are not ${rows} times ${length} numbers of ${bits} bits in blocks of ${block}`,
    );
  }
  const numbers = unpacked(packed, bits);
  const zeroOf = zeros === undefined
    ? () => isNarrow ? 0 : 2 ** (bits - 1)
    : zeros.type === "float32"
    ? (at: number) => Number(zeros.data[at])
    : unpacked(zeros, bits);
  const found = new Float32Array(rows * length);
  for (let row = 0; row < rows; row++) {
    for (let b = 0; b < blocks; b++) {
      const scale = Number(scales.data[row * blocks + b]);
      const zero = zeroOf(row * zerosOfRow + b);
      for (let i = b * block; i < Math.min(length, (b + 1) * block); i++) {
        found[at(row, i)] = (numbers(row * stride + i) - zero) * scale;
      }
    }
  }
  return found;
}

function bitsOf(given: Expansion): number {
  const bits = given.int("bits", 4);
  given.refuse(![2, 4, 8].includes(bits), `${bits} bits`);
  return bits;
}

const matMulNBits: Expand = (given) => {
  given.refuse(given.has(4), "g_idx");
  const bits = bitsOf(given);
  const [k, n, block] = [
    given.int("K"),
    given.int("N"),
    given.int("block_size"),
  ];
  const stride = Math.ceil(k / block) * block;
  const data = floatsOf(
    given,
    { input: 1, rows: n, length: k, stride, bits, block },
    (column, row) => row * n + column,
  );
  const [to] = given.node.outputs;
  const weights = given.constant(plainTensor("float32", [k, n], data));
  const operands = [given.input(0), weights];
  if (given.has(5)) {
    const product = given.add("MatMul", operands);
    given.add("Add", [product, given.input(5)], {}, to);
  } else given.add("MatMul", operands, {}, to);
};

/** Rows of a table. */
const gatherBlockQuantized: Expand = (given) => {
  const data = constant(given, 0, "data");
  const { dims } = data;
  const bits = data.bits ?? bitsOf(given);
  const last = dims.length - 1;
  const axes = { gather_axis: [0, -dims.length], quantize_axis: [last, -1] };
  for (const [name, [one, same]] of Object.entries(axes)) {
    const axis = given.int(name, name === "gather_axis" ? 0 : 1);
    given.refuse(axis !== one && axis !== same, `${name} ${axis}`);
  }
  const length = dims[last] * perByteOf(data, bits);
  const rows = elementCount(dims.slice(0, last));
  const floats = floatsOf(given, {
    ...{ input: 0, rows, length, stride: length, bits },
    block: given.int("block_size", 128),
  }, (row, i) => row * length + i);
  const table = plainTensor("float32", dims.with(last, length), floats);
  given.add(
    "Gather",
    [given.constant(table), given.input(1)],
    { axis: 0 },
    given.node.outputs[0],
  );
};

export const N_BITS: Readonly<Record<string, Expand>> = {
  MatMulNBits: matMulNBits,
  GatherBlockQuantized: gatherBlockQuantized,
};
