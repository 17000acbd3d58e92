/** What packers refuse: options of other names and types would pack something else. */
import assert from "node:assert/strict";
import {
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "../../src/kernels/pack/pack_cells.ts";
import {
  foldBatchNorm,
  packConv,
  packConvTranspose,
  packDepthwise,
} from "../../src/kernels/pack/pack_conv.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { packConvQ8 } from "../../src/kernels/pack/pack_q8_conv.ts";
import { packGruQ8, packLstmQ8 } from "../../src/kernels/pack/pack_q8_cells.ts";
import { packQ8, quantizeWeights } from "../../src/kernels/pack/pack_q8.ts";
import { imageShape, transposedShape } from "../../src/tensor/image_shape.ts";

interface Packer {
  readonly pack: (options: never) => unknown;
  readonly sound: Readonly<Record<string, unknown>>;
}

const floats = (length: number) => new Float32Array(length);
const gates = (n: number, k: number) => ({
  values: new Int8Array(n * k),
  scale: floats(n),
});
const window = { height: 3, width: 3, channels: 2, kernel: 1 };
const shape = imageShape({ ...window, outChannels: 2 });
const norm = {
  ...{ scale: floats(2), shift: floats(2) },
  ...{ mean: floats(2), variance: floats(2) },
};

/** One line for each packer: a call that it takes. */
const PACKERS: Readonly<Record<string, Packer>> = {
  packGemm: {
    pack: packGemm,
    sound: { n: 2, k: 2, layout: "nk", weight: floats(4), bias: floats(2) },
  },
  packLstm: {
    pack: packLstm,
    sound: { hidden: 1, inputSize: 2, w: floats(8), r: floats(4) },
  },
  packGru: {
    pack: packGru,
    sound: { hidden: 1, inputSize: 2, w: floats(6), r: floats(3) },
  },
  packTreeLeaf: {
    pack: packTreeLeaf,
    sound: { hidden: 1, inputSize: 2, w: floats(6), b: floats(3) },
  },
  packTreeInternal: {
    pack: packTreeInternal,
    sound: { hidden: 1, arity: 2, r: floats(10), b: floats(5) },
  },
  packConv: {
    pack: (options) => packConv(shape, options),
    sound: { weight: floats(4), bias: floats(2) },
  },
  packConvTranspose: {
    pack: (options) =>
      packConvTranspose(
        transposedShape({ ...window, outChannels: 2 }),
        options,
      ),
    sound: { weight: floats(4) },
  },
  packDepthwise: {
    pack: (options) => packDepthwise(imageShape(window), options),
    sound: { weight: floats(2) },
  },
  foldBatchNorm: {
    pack: (options) => foldBatchNorm(options, norm),
    sound: { weight: floats(4) },
  },
  "foldBatchNorm's second": {
    pack: (options) => foldBatchNorm({ weight: floats(4) }, options),
    sound: norm,
  },
  packQ8: {
    pack: packQ8,
    sound: { n: 1, k: 2, values: new Int8Array(2), scale: floats(1) },
  },
  packConvQ8: {
    pack: (options) => packConvQ8(shape, options),
    sound: { ...gates(2, 2), bias: floats(2) },
  },
  packLstmQ8: {
    pack: packLstmQ8,
    sound: {
      ...{ hidden: 1, inputSize: 2, b: floats(8) },
      ...{ w: gates(4, 2), r: gates(4, 1) },
    },
  },
  packGruQ8: {
    pack: packGruQ8,
    sound: {
      ...{ hidden: 1, inputSize: 2, b: floats(6) },
      ...{ w: gates(3, 2), r: gates(3, 1) },
    },
  },
  quantizeWeights: {
    pack: quantizeWeights,
    sound: { n: 1, k: 2, weight: floats(2) },
  },
};

for (const [name, { pack, sound }] of Object.entries(PACKERS)) {
  Deno.test(`${name} refuses options of other names, and what is no typed array`, () => {
    const call = (options: object) => pack(options as never);
    call(sound);
    assert.throws(() => call({ ...sound, bais: floats(2) }), {
      name: "TypeError",
      message: /has no option "bais"/,
    });
    for (const [option, value] of Object.entries(sound)) {
      if (!ArrayBuffer.isView(value)) continue;
      const plain = [...value as unknown as Iterable<number>];
      assert.throws(() => call({ ...sound, [option]: plain }), {
        name: "TypeError",
        message: new RegExp(`${option} must be an? \\w+Array, is \\[`),
      });
    }
  });
}

Deno.test("packGemm refuses a layout that is none", () => {
  const { sound } = PACKERS["packGemm"];
  for (const layout of ["NK", "ab", undefined, 1]) {
    assert.throws(
      () => packGemm({ ...sound, layout } as never),
      /TypeError: .*layout must be "nk" or "kn", is /,
    );
  }
});
