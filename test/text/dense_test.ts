/** Layers behind pooling: what files say of them, and what becomes of a row. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { nextTurn } from "../../src/engine/wall/next_turn.ts";
import { bert } from "../../src/models/bert.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { type DenseLayer, readDense } from "../../src/text/dense.ts";
import { TextFileError } from "../../src/text/errors.ts";
import type { RunText } from "../../src/text/run_texts.ts";
import { TextModel } from "../../src/text/text_model.ts";
import { propertyRuns } from "../property_runs.ts";
import { safetensors } from "../server/repository/folders.ts";
import { encoder } from "./models.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const { tokenizer } = TOKENIZERS["word pieces"];
const model = bert({ layers: 1, hidden: 16, heads: 2, vocabulary: 26 });

/** A run of a model that makes these rows of tokens. */
function giving(...rows: readonly Float32Array[]): RunText {
  const data = Float32Array.from(rows.flatMap((row) => [...row]));
  const shape = [1, rows.length, rows[0].length];
  const outputs = { last_hidden_state: tensor(shape, data) };
  return () => Promise.resolve({ outputs, timing: { queuedMs: 0, ranMs: 0 } });
}

/** What the layers make of a row, in f64; each layer's row is of f32. */
function reference(row: readonly number[], layers: readonly DenseLayer[]) {
  const functions = {
    none: (x: number) => x,
    relu: (x: number) => Math.max(0, x),
    tanh: Math.tanh,
  };
  return layers.reduce((row, { weight, bias, activation = "none" }) => {
    const [outputs, inputs] = weight.shape;
    return Array.from(
      { length: outputs },
      (_, i) =>
        Math.fround(functions[activation](
          (bias?.data[i] ?? 0) +
            row.reduce((sum, x, j) => sum + x * weight.data[i * inputs + j], 0),
        )),
    );
  }, row);
}

function isNear(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < expected.length; i++) {
    const off = Math.abs(actual[i] - expected[i]);
    const most = 1e-6 * Math.max(1, Math.abs(expected[i]));
    assert(off <= most, `element ${i}: ${actual[i]} and ${expected[i]}`);
  }
}

const floats = (length: number, most: number) =>
  fc.array(fc.float({ min: -most, max: most, noNaN: true }), {
    minLength: length,
    maxLength: length,
  }).map((list) => Float32Array.from(list));

const layer = (inputs: number, outputs: number): fc.Arbitrary<DenseLayer> =>
  fc.record({
    weight: floats(outputs * inputs, 1).map((data) =>
      tensor([outputs, inputs], data)
    ),
    bias: floats(outputs, 1).map((data) => tensor([outputs], data)),
    activation: fc.constantFrom("none", "relu", "tanh"),
  }, { requiredKeys: ["weight"] });

const layers = fc.array(fc.integer({ min: 1, max: 6 }), {
  minLength: 2,
  maxLength: 4,
}).chain((widths) =>
  fc.record({
    row: floats(widths[0], 3),
    dense: fc.tuple(
      ...widths.slice(1).map((outputs, i) => layer(widths[i], outputs)),
    ),
  })
);

Deno.test("a pooled row goes through its layers, and then comes to length 1", async () => {
  await fc.assert(
    fc.asyncProperty(layers, async ({ row, dense }) => {
      const texts = new TextModel(model, tokenizer, { dense, pooling: "last" });
      const run = giving(row, row, new Float32Array(row.length), row);
      const expected = reference([...row], dense);
      const [raw] = await texts.embed(run, ["cat dog"], { normalize: false });
      isNear(raw.embedding, expected);
      const [unit] = await texts.embed(run, ["cat dog"]);
      const length = Math.max(Math.hypot(...raw.embedding), 1e-12);
      isNear(unit.embedding, [...raw.embedding].map((x) => x / length));
    }),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("the hyperbolic tangent is that of f64, of whatever there is", async () => {
  const identity = tensor([1, 1], Float32Array.of(1));
  const dense = [{ weight: identity, activation: "tanh" as const }];
  const texts = new TextModel(model, tokenizer, { dense, pooling: "cls" });
  const values = [1e-40, 1e-8, 0.4, 0.5, 0.51, 0.9, 3, 9.1, 19, 25, 3e38]
    .flatMap((x) => [x, -x]);
  for (const x of [0, ...values, Infinity, -Infinity, NaN]) {
    const [{ embedding }] = await texts.embed(
      giving(Float32Array.of(x), Float32Array.of(7)),
      ["cat"],
      { normalize: false },
    );
    assert.equal(embedding[0], Math.fround(Math.tanh(Math.fround(x))), `${x}`);
  }
});

Deno.test("whatever else there is to do gets a turn before each text's layers", async () => {
  const weight = tensor([1, 2], Float32Array.of(1, 1));
  const texts = new TextModel(model, tokenizer, { dense: [{ weight }] });
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) nextTurn(count);
  };
  nextTurn(count);
  await texts.embed(giving(Float32Array.of(1, 2)), ["cat", "dog", "mat"]);
  isOver = true;
  assert(turns >= 3, `${turns} turns`);
});

const CONFIG = {
  in_features: 2,
  out_features: 3,
  bias: true,
  activation_function: "torch.nn.modules.linear.Identity",
};
const WEIGHT = Float32Array.of(1, -2, 0.5, 0, 3, 1);
const BIAS = Float32Array.of(-1, 0, 2);

/** The upper halves of floats, which these are without loss. */
const halves = (floats: Float32Array) =>
  Uint16Array.from(new Uint32Array(floats.slice().buffer), (x) => x >>> 16);

const FILES = {
  F32: safetensors({
    "linear.weight": { shape: [3, 2], data: WEIGHT },
    "linear.bias": { shape: [3], data: BIAS },
  }),
  BF16: safetensors({
    "linear.weight": { dtype: "BF16", shape: [3, 2], data: halves(WEIGHT) },
    "linear.bias": { dtype: "BF16", shape: [3], data: halves(BIAS) },
  }),
  F16: safetensors({
    "linear.weight": {
      ...{ dtype: "F16", shape: [3, 2] },
      data: Uint16Array.of(0x3c00, 0xc000, 0x3800, 0, 0x4200, 0x3c00),
    },
    "linear.bias": {
      ...{ dtype: "F16", shape: [3] },
      data: Uint16Array.of(0xbc00, 0, 0x4000),
    },
  }),
};

Deno.test("a layer's files are read, of each type of floats", () => {
  for (const [type, weights] of Object.entries(FILES)) {
    const { weight, bias, activation } = readDense({ config: CONFIG, weights });
    assert.deepEqual(weight, { shape: [3, 2], data: WEIGHT }, type);
    assert.deepEqual(bias, { shape: [3], data: BIAS }, type);
    assert.equal(activation, "none");
  }
  const read = (config: object) =>
    readDense({
      config: JSON.stringify({ ...CONFIG, ...config }),
      weights: FILES.F32,
    });
  assert.equal(read({ bias: false }).bias, undefined);
  const { activation, bias } = read({
    ...{ activation_function: undefined, bias: undefined },
    ...{ module_input_name: "sentence_embedding", module_output_name: null },
    ...{ use_residual: false },
  });
  assert.equal(activation, "tanh", "PyTorch's default of the library");
  assert.deepEqual(bias?.data, BIAS);
  const torch = "torch.nn.modules.activation.";
  assert.equal(
    read({ activation_function: `${torch}Tanh` }).activation,
    "tanh",
  );
  assert.equal(
    read({ activation_function: `${torch}ReLU` }).activation,
    "relu",
  );
});

Deno.test("a layer that cannot be read is refused, naming its file", () => {
  for (
    const [config, message] of [
      [{ activation_function: "torch.nn.modules.activation.GELU" }, /GELU"$/],
      [{ activation_function: "toString" }, /got "toString"$/],
      [{ activation_function: null }, /got null$/],
      [{ in_features: 0 }, /"in_features" is a positive integer, got 0/],
      [{ out_features: "3" }, /"out_features" is a positive integer, got "3"/],
      [{ bias: 1 }, /"bias" is true or false, got 1/],
      [{ module_input_name: "token_embeddings" }, /"token_embeddings"/],
      [{ module_output_name: "other" }, /"other"/],
      [{ use_residual: true }, /"use_residual"/],
    ] as const
  ) {
    const files = { config: { ...CONFIG, ...config }, weights: FILES.F32 };
    assert.throws(() => readDense(files, "4_Dense"), (error: Error) => {
      assert(error instanceof TextFileError);
      assert.match(error.message, /^4_Dense\/config.json: /);
      assert.match(error.message, message);
      return true;
    });
  }
  const turned = { ...CONFIG, in_features: 3, out_features: 2 };
  assert.throws(() => readDense({ config: turned, weights: FILES.F32 }), {
    name: "RangeError",
    message:
      /"linear.weight" of 2_Dense\/model.safetensors has shape \[3, 2\], the model needs \[2, 3\]/,
  });
  const weights = safetensors({
    "linear.weight": { shape: [3, 2], data: WEIGHT },
  });
  assert.throws(
    () => readDense({ config: CONFIG, weights }),
    /2_Dense\/model.safetensors has no tensor "linear.bias"/,
  );
  assert.throws(
    () => readDense({ config: CONFIG, model: weights } as never),
    /readDense\(\) has no file "model"/,
  );
});

Deno.test("layers that do not fit each other, their model or its output are refused", async () => {
  const of = (shape: number[], bias?: number[]) => {
    const zeros = (shape: number[]) =>
      tensor(shape, new Float32Array(shape.reduce((a, b) => a * b)));
    return { weight: zeros(shape), ...(bias && { bias: zeros(bias) }) };
  };
  const file = await encoder();
  const make = (dense: unknown, output?: string) => () =>
    new TextModel(file, tokenizer, {
      dense: dense as readonly DenseLayer[],
      ...(output && { output }),
    });
  make([of([4, 16], [4]), of([2, 4])])();
  assert.throws(make([of([4, 15])]), {
    name: "TextFileError",
    message:
      /^Layer 0 of "dense" takes rows of 15, model ".*" makes rows of 16$/,
  });
  assert.throws(
    make([of([4, 16]), of([4, 5])]),
    /^TextFileError: Layer 1 of "dense" takes rows of 5, layer 0 makes rows of 4$/,
  );
  assert.throws(make([of([4, 16])], "head"), /one row for a text, none for/);
  for (
    const [layer, message] of [
      [of([64]), /"weight" is a tensor of 2 axes, got shape \[64\]/],
      [of([4, 16], [3]), /weight of shape \[4, 16\], its bias has \[3\]/],
      [{ ...of([4, 16]), activation: "gelu" }, /one of none, relu, tanh/],
      [{ bias: of([4]).weight }, /"weight" is a tensor/],
      [{ ...of([4, 16]), scale: 2 }, /"dense\[0\]" has no option "scale"/],
      [
        { weight: tensor([1, 16], new Float32Array(16).fill(NaN)) },
        /"weight" holds NaN at element 0/,
      ],
    ] as const
  ) assert.throws(make([layer]), message);
  // A model that does not say what comes out.
  const texts = new TextModel(model, tokenizer, { dense: [of([4, 15])] });
  await assert.rejects(
    texts.embed(giving(new Float32Array(16)), ["cat"]),
    /takes rows of 15, model ".*" makes rows of 16/,
  );
});

Deno.test("a row behind layers has the same bits alone and among 64 others", async () => {
  const model = await encoder();
  const dense = fc.sample(fc.tuple(layer(16, 24), layer(24, 8)), {
    numRuns: 1,
    seed: 3,
  })[0];
  const texts = new TextModel(model, tokenizer, { dense });
  const plain = new TextModel(model, tokenizer);
  const words = ["the", "cat", "sat", "on", "a", "mats", "dog", "zebra"];
  const sentences = Array.from(
    { length: 65 },
    (_, i) => words.slice(i % 7).concat(words.slice(0, i % 5)).join(" "),
  );
  const found: Float32Array[][] = [];
  for (const policy of [serial(), cellular({ batchSizeMax: 64 })]) {
    await using engine = await ServingEngine.create({
      ...{ models: [model], policy, workers: 0, warmUp: false },
      slotBytes: 2 ** 24,
    });
    const run: RunText = (input, options) => engine.run(model, input, options);
    const embedded = await texts.embed(run, sentences);
    found.push(embedded.map(({ embedding }) => embedding));
    const pooled = await plain.embed(run, sentences, { normalize: false });
    for (const [i, { embedding }] of pooled.entries()) {
      const row = reference([...embedding], dense);
      const length = Math.hypot(...row);
      isNear(embedded[i].embedding, row.map((x) => x / length));
    }
  }
  assert.deepStrictEqual(found[1], found[0]);
});
