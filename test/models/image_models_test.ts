import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import type { Model } from "../../src/graph/model.ts";
import type { ImageInput } from "../../src/models/conv_cell.ts";
import { inceptionV4 } from "../../src/models/inception_v4.ts";
import { linknet } from "../../src/models/linknet.ts";
import { mobilenet } from "../../src/models/mobilenet.ts";
import { resnet101, resnet152, resnet50 } from "../../src/models/resnet.ts";
import { unet } from "../../src/models/unet.ts";
import { vgg16, vgg19 } from "../../src/models/vgg.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { resnet50 as resnet50Layers } from "../../src/npu/networks/resnet50.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { preset } from "../../src/npu/presets.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";
import {
  seededWeights,
  shapesOnly,
  type WeightSource,
} from "../../src/tensor/weights.ts";
import { pickOptions } from "../pick_options.ts";
import { runRequests } from "../run_requests.ts";
import { naiveInceptionV4 } from "./naive_inception.ts";
import { Tensors } from "./naive_layers.ts";
import {
  naiveLinkNet,
  naiveMobileNet,
  naiveResNet,
  naiveUNet,
  naiveVgg,
} from "./naive_networks.ts";
import { macsPerRow, parametersOf } from "./network_size.ts";

/** Weights that take no time to draw. */
const constant: WeightSource = (_name, shape, _fanIn, around = 0) =>
  tensor(shape, new Float32Array(elementCount(shape)).fill(around));

Deno.test("resnet50() has the published parameters and multiply-accumulates", () => {
  // Source: torchvision.models.resnet50: num_params 25557032, GFLOPS 4.09 (multiply-accumulates).
  const model = resnet50({ weights: constant });
  assert.equal(parametersOf(model), 25_557_032);
  assert.equal(macsPerRow(model), 4_089_184_256);
  // He et al., table 1: 3.8e9.
  const v1 = resnet50({ weights: constant, variant: "v1" });
  assert.equal(parametersOf(v1), 25_557_032);
  assert.equal(macsPerRow(v1), 3_857_973_248);
});

Deno.test("image models have the published parameters and multiply-accumulates", () => {
  // Source: torchvision's model pages: num_params, GFLOPS (multiply-accumulates). The papers: 7.6 and 11.3
  // billion (He et al., table 1, v1), 138 and 144 million parameters (Simonyan and Zisserman, table 2).
  const published: [Model, parameters: number, gmacs: number, macs: number][] =
    [
      [resnet101({ weights: shapesOnly() }), 44_549_160, 7.80, 7_801_405_440],
      [resnet152({ weights: shapesOnly() }), 60_192_808, 11.51, 11_513_626_624],
      [vgg16({ weights: shapesOnly() }), 138_357_544, 15.47, 15_470_264_320],
      [vgg19({ weights: shapesOnly() }), 143_667_240, 19.63, 19_632_062_464],
    ];
  for (const [model, parameters, gmacs, macs] of published) {
    assert.equal(parametersOf(model), parameters, model.name);
    assert.equal(macsPerRow(model), macs, model.name);
    assert.equal((macs / 1e9).toFixed(2), gmacs.toFixed(2), model.name);
  }
  // Howard et al., table 4: 4.2 million parameters, 569 million multiply-adds; Keras's summary: 4231976 trainable.
  const mobile = mobilenet({ weights: shapesOnly() });
  assert.equal(parametersOf(mobile), 4_231_976);
  assert.equal(macsPerRow(mobile), 568_740_352);
  // timm's card of inception_v4.tf_in1k: 42.7 million parameters, 12.3 GMACs.
  const inception = inceptionV4({ weights: shapesOnly() });
  assert.equal(parametersOf(inception), 42_679_816);
  assert.equal((macsPerRow(inception) / 1e9).toFixed(1), "12.3");
  const v1 = { weights: shapesOnly(), variant: "v1" } as const;
  assert.equal((macsPerRow(resnet101(v1)) / 1e9).toFixed(1), "7.6");
  assert.equal((macsPerRow(resnet152(v1)) / 1e9).toFixed(1), "11.3");
});

Deno.test("resnet50() costs on the NPU of Table I what its layers cost, cell by cell", () => {
  const npu = createNpu(preset("lazybatching"));
  for (const variant of ["v1", "v1.5"] as const) {
    const { cells } = resnet50({ weights: constant, variant });
    for (const batch of [1, 3, 64]) {
      const layers = resnet50Layers(batch, variant);
      assert.deepEqual(
        cells.map(({ name }) => name),
        layers.map(({ name }) => name),
      );
      cells.forEach((cell, i) => {
        const costs = cellLayers(cell, batch);
        assert.equal(costs.length, 1, cell.name);
        assert.deepEqual(
          npu.layer(costs[0]),
          npu.layer(layers[i]),
          `${cell.name} at batch ${batch}`,
        );
      });
    }
  }
});

Deno.test("unet() has the paper's layers, sizes and parameters", () => {
  const model = unet({ weights: constant });
  // Ronneberger et al., section 2: "23 convolutional layers"; Fig. 1: 388 x 388 x 2 out.
  const operators = model.cells.flatMap(({ operators }) => operators);
  const convolutions = operators.filter(({ op }) =>
    op === "Conv" || op === "ConvTranspose"
  );
  assert.equal(convolutions.length, 23);
  assert.deepEqual(model.cells.at(-1)!.outputs[0].image, {
    height: 388,
    width: 388,
    channels: 2,
  });
  const sizes = ["down0.c2", "down1.c2", "down2.c2", "down3.c2", "bottom.c2"]
    .map((name) =>
      model.cells.find((cell) => cell.name === name)!.outputs[0].image
    );
  assert.deepEqual(
    sizes.map((size) => [size?.height, size?.channels]),
    [[568, 64], [280, 128], [136, 256], [64, 512], [28, 1024]],
  );
  assert.equal(parametersOf(model), 31_030_658);
  // Not printed in the paper: the sum over Fig. 1's maps.
  assert.equal(macsPerRow(model), 150_428_424_448);
});

Deno.test("linknet() has the published parameters, and about the published operations", () => {
  const model = linknet({ weights: shapesOnly() });
  // Chaurasia and Culurciello, abstract: 11.5 million parameters; the sum over their code's layers.
  assert.equal(parametersOf(model), 11_535_957);
  assert.equal(macsPerRow(model), 10_892_607_488);
  // Ibid.: 21.2 GFLOPs for 640 x 360, whose height cannot be halved five times: by pixels, within a tenth.
  const gflops = 2 * 10.892607488 / (512 * 512) * (640 * 360);
  assert(Math.abs(gflops / 21.2 - 1) < 0.1, `${gflops}`);
});

Deno.test("linknet() names a size that fits when one does not", () => {
  assert.throws(() => linknet({ size: 80, weights: constant }), {
    name: "RangeError",
    message:
      /"size" 80 of model "linknet" .*4 stages.* the next size that fits is 96/,
  });
});

Deno.test("unet() names a size that fits when one does not", () => {
  assert.throws(() => unet({ size: 570, weights: constant }), {
    name: "RangeError",
    message:
      /"size" 570 of model "unet" \(depth 4, padding valid\) .* the next size that fits is 572/,
  });
  assert.throws(
    () => unet({ size: 20, depth: 3, padding: "same", weights: constant }),
    /the next size that fits is 24/,
  );
  assert.throws(
    () => unet({ padding: "reflect" as "same", weights: constant }),
    /"padding" of model "unet" is one of valid, same, got "reflect"/,
  );
});

Deno.test("image models refuse sizes that make no sense", () => {
  const smallest = { size: 4, depth: 1, padding: "same" };
  const options: [string, (options: object) => unknown, string[]][] = [
    ["resnet50", resnet50, ["size", "channels", "width", "classes"]],
    ["vgg16", vgg16, ["size", "channels", "width", "hidden", "classes"]],
    ["mobilenet", mobilenet, ["size", "channels", "width", "classes"]],
    ["linknet", linknet, ["size", "channels", "width", "classes"]],
    ["inceptionv4", inceptionV4, ["size", "channels", "width", "classes"]],
    ["unet", unet, ["size", "channels", "base", "depth", "classes"]],
  ];
  for (const [name, build, names] of options) {
    for (const option of names) {
      for (const value of [0, 1.5, "8"]) {
        assert.throws(
          () => build(pickOptions(name, { ...smallest, [option]: value })),
          {
            name: "RangeError",
            message:
              `"${option}" of model "${name}" is a positive integer, got ${
                JSON.stringify(value)
              }`,
          },
        );
      }
    }
  }
  const blocks = (blocks: unknown) => () =>
    resnet50({ blocks: blocks as number[], weights: constant });
  assert.throws(
    blocks([]),
    /"blocks" .* lists the blocks of each stage, got \[\]/,
  );
  assert.throws(blocks(3), /"blocks" .* got 3/);
  assert.throws(blocks([1, 0]), /"blocks\[1\]" .* positive integer, got 0/);
});

Deno.test("vgg16() names the smallest size that fits when one does not", () => {
  assert.throws(() => vgg16({ size: 31, weights: constant }), {
    name: "RangeError",
    message:
      /"size" of model "vgg16" is at least 32, which 5 poolings halve to one pixel, got 31/,
  });
});

Deno.test("vgg19() asks for torchvision's tensors", () => {
  const tensors = new Tensors(shapesOnly());
  vgg19({ weights: tensors.recorded });
  assert.deepEqual(
    tensors.names.filter((name) => name.endsWith(".weight")),
    [
      ...[0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34].map(
        (i) => `features.${i}.weight`,
      ),
      ...[0, 3, 6].map((i) => `classifier.${i}.weight`),
    ],
  );
});

Deno.test("resnet50() asks for torchvision's tensors", () => {
  const tensors = new Tensors(constant);
  resnet50({ weights: tensors.recorded });
  assert.equal(tensors.names.length, 53 * 5 + 2);
  for (
    const name of [
      "conv1.weight",
      "bn1.running_var",
      "layer1.0.downsample.1.bias",
      "layer4.2.conv3.weight",
      "fc.bias",
    ]
  ) assert(tensors.names.includes(name), name);
});

/** Random pixels for each of `count` requests. */
function images({ image }: Model, count: number): ImageInput[] {
  const { height, width, channels } = image!;
  const prng = new Prng(5);
  return Array.from({ length: count }, () => ({
    image: Float32Array.from(
      { length: height * width * channels },
      () => 2 * prng.float() - 1,
    ),
  }));
}

function assertNear(
  model: Model<ImageInput>,
  naive: (input: ImageInput) => readonly number[],
): void {
  const inputs = images(model, 3);
  const results = runRequests(model, inputs, {
    policy: merged({ batchSizeMax: 3 }),
  });
  inputs.forEach((input, i) => {
    const logits = [...results[i]["logits"].data];
    const expected = naive(input);
    assert.equal(logits.length, expected.length);
    const largest = Math.max(...expected.map(Math.abs));
    assert(largest > 1e-3, "something comes out");
    logits.forEach((value, k) =>
      assert(
        Math.abs(value - expected[k]) <= 1e-5 * largest,
        `logits[${k}] of request ${i} is ${value}, expected ${expected[k]}`,
      )
    );
  });
}

for (const variant of ["v1", "v1.5"] as const) {
  Deno.test(`resnet50() ${variant} computes what the paper says`, () => {
    const tensors = new Tensors(seededWeights(11));
    const options = { width: 3, blocks: [2, 1, 2], variant };
    const model = resnet50({
      ...options,
      size: 33,
      classes: 7,
      weights: tensors.recorded,
    });
    assertNear(
      model,
      ({ image }) =>
        naiveResNet({ ...model.image!, data: image }, tensors, options),
    );
  });
}

for (
  const [build, blocks] of [
    [resnet101, [3, 4, 23, 3]],
    [resnet152, [3, 8, 36, 3]],
  ] as const
) {
  Deno.test(`${build.name}() computes what the paper says`, () => {
    const tensors = new Tensors(seededWeights(14));
    const model = build({
      ...{ size: 33, width: 2, classes: 7 },
      weights: tensors.recorded,
    });
    const options = { width: 2, blocks, variant: "v1.5" } as const;
    assertNear(
      model,
      ({ image }) =>
        naiveResNet({ ...model.image!, data: image }, tensors, options),
    );
  });
}

for (const [name, build] of Object.entries({ vgg16, vgg19 })) {
  Deno.test(`${name}() computes what the paper says`, () => {
    const tensors = new Tensors(seededWeights(13));
    const model = build({
      ...{ size: 65, width: 2, hidden: 9, classes: 7 },
      weights: tensors.recorded,
    });
    const blocks = name === "vgg16" ? [2, 2, 3, 3, 3] : [2, 2, 4, 4, 4];
    assertNear(
      model,
      ({ image }) =>
        naiveVgg({ ...model.image!, data: image }, tensors, blocks),
    );
  });
}

for (const size of [32, 75]) {
  Deno.test(`mobilenet() of ${size} x ${size} computes what the paper says`, () => {
    const tensors = new Tensors(seededWeights(15));
    const model = mobilenet({
      ...{ size, width: 3, classes: 7 },
      weights: tensors.recorded,
    });
    assertNear(
      model,
      ({ image }) =>
        naiveMobileNet({ ...model.image!, data: image }, tensors, 3),
    );
  });
}

Deno.test("inceptionV4() computes what the paper says", () => {
  const tensors = new Tensors(seededWeights(17));
  const options = { width: 1, blocks: [4, 7, 3] } as const;
  const model = inceptionV4({
    ...options,
    ...{ size: 107, classes: 7 },
    weights: tensors.recorded,
  });
  assertNear(
    model,
    ({ image }) =>
      naiveInceptionV4({ ...model.image!, data: image }, tensors, options),
  );
});

Deno.test("inceptionV4() names the smallest size that fits, and the stages there are", () => {
  for (const [stages, size] of [[1, 27], [2, 43], [3, 75]]) {
    const blocks = new Array<number>(stages).fill(1);
    const build = (size: number) =>
      inceptionV4({ size, blocks, width: 1, weights: constant });
    build(size);
    assert.throws(() => build(size - 1), {
      name: "RangeError",
      message: new RegExp(
        `"size" of model "inceptionv4" is at least ${size}, .* got ${size - 1}`,
      ),
    });
  }
  assert.throws(
    () => inceptionV4({ blocks: [1, 1, 1, 1], weights: constant }),
    /"blocks" of model "inceptionv4" .* up to 3 stages, got 4/,
  );
});

Deno.test("linknet() computes what the paper says", () => {
  const tensors = new Tensors(seededWeights(16));
  const options = { width: 4, classes: 3 };
  const model = linknet({
    ...options,
    size: 64,
    weights: tensors.recorded,
  });
  assertNear(
    model,
    ({ image }) =>
      naiveLinkNet({ ...model.image!, data: image }, tensors, options),
  );
});

for (
  const options of [
    { size: 44, depth: 2, padding: "valid" },
    { size: 24, depth: 3, padding: "same" },
  ] as const
) {
  Deno.test(`unet() ${options.padding} computes what the paper says`, () => {
    const tensors = new Tensors(seededWeights(12));
    const sizes = { ...options, base: 3, classes: 2 };
    const model = unet({ ...sizes, channels: 2, weights: tensors.recorded });
    assertNear(
      model,
      ({ image }) =>
        naiveUNet({ ...model.image!, data: image }, tensors, sizes),
    );
  });
}

Deno.test("image models refuse images of another size, type or value", () => {
  const model: Model<ImageInput> = unet({
    size: 4,
    depth: 1,
    base: 1,
    padding: "same",
  });
  const message = (input: unknown): string => {
    let thrown: unknown;
    try {
      model.check(input);
    } catch (error) {
      thrown = error;
    }
    assert(thrown instanceof TypeError || thrown instanceof RangeError);
    return thrown.message;
  };
  model.check({ image: new Array<number>(16).fill(0.5) });
  model.check({ image: new Float32Array(16) });
  assert.match(
    message({ image: new Float32Array(15) }),
    /"image" of a request to "unet" has 15 numbers; \[4\]\[4\]\[1\] \(height, width, channels\) are 16/,
  );
  assert.match(message({ image: "x" }), /is a Float32Array or an array/);
  assert.match(message({ image: new Uint8Array(16) }), /is a Float32Array/);
  assert.match(message({ tokens: [1] }), /has no field "tokens"/);
  assert.match(message(null), /is an object, got null/);
  const pixels = new Array<unknown>(16).fill(0);
  pixels[3] = NaN;
  assert.match(
    message({ image: pixels }),
    /image\[3\] of a request to "unet" is NaN; pixels are finite numbers/,
  );
  assert.match(message({ image: new Array(16) }), /image\[0\] .* undefined/);
});
