/** Inception-v4 straight from Szegedy et al., Figs. 3 to 9, layer after layer, with timm's names. */
import {
  type Image,
  means,
  pooled,
  relu,
  stacked,
  type Tensors,
} from "./naive_layers.ts";

/** @param width channels of the first convolution, 32 in the paper */
export function naiveInceptionV4(
  input: Image,
  tensors: Tensors,
  { width, blocks: [as, bs, cs] }: {
    width: number;
    blocks: readonly [number, number, number];
  },
): number[] {
  let module = 0;
  const convolution = (
    x: Image,
    name: string,
    out: number,
    [high, wide]: readonly [number, number],
    options: { pads: readonly [number, number]; stride?: number },
  ) => {
    const { pads: [down, right], stride = 1 } = options;
    const path = `features.${module}${name}`;
    const y = tensors.conv(x, `${path}.conv`, {
      out: out * width / 32,
      kernel: [high, wide],
      stride,
      pads: [down, right, down, right],
    });
    return relu(tensors.norm(y, `${path}.bn`, 1e-3));
  };
  const one = (x: Image, name: string, out: number) =>
    convolution(x, name, out, [1, 1], { pads: [0, 0] });
  const three = (x: Image, name: string, out: number) =>
    convolution(x, name, out, [3, 3], { pads: [1, 1] });
  const threeV = (x: Image, name: string, out: number) =>
    convolution(x, name, out, [3, 3], { pads: [0, 0] });
  const halved = (x: Image, name: string, out: number) =>
    convolution(x, name, out, [3, 3], { pads: [0, 0], stride: 2 });
  /** A line of `n` pixels across. */
  const across = (x: Image, name: string, out: number, n: number) =>
    convolution(x, name, out, [1, n], { pads: [0, (n - 1) / 2] });
  const down = (x: Image, name: string, out: number, n: number) =>
    convolution(x, name, out, [n, 1], { pads: [(n - 1) / 2, 0] });
  const mean = (x: Image) => pooled(x, "average", 3, 1, 1);
  const largest = (x: Image) => pooled(x, "max", 3, 2);

  let x = halved(input, "", 32);
  module++;
  x = threeV(x, "", 32);
  module++;
  x = three(x, "", 64);
  module++;
  x = stacked(largest(x), halved(x, ".conv", 96));
  module++;
  let long = one(x, ".branch1.0", 64);
  long = across(long, ".branch1.1", 64, 7);
  long = down(long, ".branch1.2", 64, 7);
  x = stacked(
    threeV(one(x, ".branch0.0", 64), ".branch0.1", 96),
    threeV(long, ".branch1.3", 96),
  );
  module++;
  x = stacked(halved(x, ".conv", 192), largest(x));
  module++;
  for (let i = 0; i < as; i++, module++) {
    const deep = three(one(x, ".branch2.0", 64), ".branch2.1", 96);
    x = stacked(
      one(x, ".branch0", 96),
      three(one(x, ".branch1.0", 64), ".branch1.1", 96),
      three(deep, ".branch2.2", 96),
      one(mean(x), ".branch3.1", 96),
    );
  }
  long = three(one(x, ".branch1.0", 192), ".branch1.1", 224);
  x = stacked(
    halved(x, ".branch0", 384),
    halved(long, ".branch1.2", 256),
    largest(x),
  );
  module++;
  for (let i = 0; i < bs; i++, module++) {
    const first = across(one(x, ".branch1.0", 192), ".branch1.1", 224, 7);
    let deep = down(one(x, ".branch2.0", 192), ".branch2.1", 192, 7);
    deep = across(deep, ".branch2.2", 224, 7);
    deep = down(deep, ".branch2.3", 224, 7);
    x = stacked(
      one(x, ".branch0", 384),
      down(first, ".branch1.2", 256, 7),
      across(deep, ".branch2.4", 256, 7),
      one(mean(x), ".branch3.1", 128),
    );
  }
  long = across(one(x, ".branch1.0", 256), ".branch1.1", 256, 7);
  long = down(long, ".branch1.2", 320, 7);
  x = stacked(
    halved(one(x, ".branch0.0", 192), ".branch0.1", 192),
    halved(long, ".branch1.3", 320),
    largest(x),
  );
  module++;
  for (let i = 0; i < cs; i++, module++) {
    const fork = one(x, ".branch1_0", 384);
    let deep = down(one(x, ".branch2_0", 384), ".branch2_1", 448, 3);
    deep = across(deep, ".branch2_2", 512, 3);
    x = stacked(
      one(x, ".branch0", 256),
      across(fork, ".branch1_1a", 256, 3),
      down(fork, ".branch1_1b", 256, 3),
      across(deep, ".branch2_3a", 256, 3),
      down(deep, ".branch2_3b", 256, 3),
      one(mean(x), ".branch3.1", 256),
    );
  }
  return tensors.dense(means(x), "last_linear");
}
