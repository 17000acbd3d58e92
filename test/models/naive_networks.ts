/** Image networks straight from their papers, layer after layer. */
import {
  cropped,
  flat,
  type Image,
  means,
  pooled,
  relu,
  stacked,
  sum,
  type Tensors,
} from "./naive_layers.ts";

const square = (pad: number) => [pad, pad, pad, pad] as const;

/** A convolution that keeps the size at stride 1, and its BatchNormalization. */
function normalised(
  tensors: Tensors,
  x: Image,
  conv: string,
  norm: string,
  options: { out: number; kernel: number; stride?: number },
): Image {
  const pads = square((options.kernel - 1) / 2);
  return tensors.norm(tensors.conv(x, conv, { ...options, pads }), norm);
}

function residualStem(tensors: Tensors, input: Image, width: number): Image {
  const options = { out: width, kernel: 7, stride: 2 };
  const conv1 = normalised(tensors, input, "conv1", "bn1", options);
  return pooled(relu(conv1), "max", 3, 2, 1);
}

/** What every stage of blocks makes; `convolutions` of a block are without the last sum. */
function residualStages(
  stem: Image,
  blocks: readonly number[],
  block: (x: Image, name: string, stage: number, stride: number) => Image,
): Image[] {
  let x = stem;
  return blocks.map((count, s) => {
    for (let b = 0; b < count; b++) {
      x = block(x, `layer${s + 1}.${b}`, s, b === 0 && s > 0 ? 2 : 1);
    }
    return x;
  });
}

/** The block's input, projected if there are weights to. */
function shortcut(
  tensors: Tensors,
  x: Image,
  name: string,
  out: number,
  stride: number,
): Image {
  const down = `${name}.downsample`;
  if (!tensors.names.includes(`${down}.0.weight`)) return x;
  const options = { out, kernel: 1, stride };
  return normalised(tensors, x, `${down}.0`, `${down}.1`, options);
}

export function naiveResNet(
  input: Image,
  tensors: Tensors,
  { width, blocks, variant }: {
    width: number;
    blocks: readonly number[];
    variant: "v1" | "v1.5";
  },
): number[] {
  const stages = residualStages(
    residualStem(tensors, input, width),
    blocks,
    (x, name, s, stride) => {
      const inner = width * 2 ** s;
      const [first, second] = variant === "v1" ? [stride, 1] : [1, stride];
      const layer = (
        from: Image,
        i: number,
        out: number,
        kernel: number,
        stride: number,
      ) =>
        normalised(tensors, from, `${name}.conv${i}`, `${name}.bn${i}`, {
          ...{ out, kernel, stride },
        });
      let y = relu(layer(x, 1, inner, 1, first));
      y = relu(layer(y, 2, inner, 3, second));
      y = layer(y, 3, 4 * inner, 1, 1);
      return relu(sum(y, shortcut(tensors, x, name, 4 * inner, stride)));
    },
  );
  return tensors.dense(means(stages[stages.length - 1]), "fc");
}

/** @param blocks convolutions of each stage */
export function naiveVgg(
  input: Image,
  tensors: Tensors,
  blocks: readonly number[],
): number[] {
  let x = input;
  let feature = 0;
  for (const count of blocks) {
    for (let i = 0; i < count; i++) {
      const name = `features.${feature}`;
      const out = tensors.get(`${name}.bias`).length;
      const options = { out, kernel: 3, pads: square(1) };
      x = relu(tensors.conv(x, name, options));
      feature += 2;
    }
    x = pooled(x, "max", 2, 2);
    feature++;
  }
  const row = [0, 3].reduce(
    (row, layer) =>
      tensors.dense(row, `classifier.${layer}`).map((y) => Math.max(0, y)),
    flat(x),
  );
  return tensors.dense(row, "classifier.6");
}

/** Howard et al., table 1, of any width; sizes that strides halve evenly pad at the end. */
export function naiveMobileNet(
  input: Image,
  tensors: Tensors,
  width: number,
): number[] {
  const layer = (
    x: Image,
    name: string,
    options: { out: number; kernel: number; stride: number; groups?: number },
  ) => {
    const { kernel, stride } = options;
    const before = kernel === 1 || (stride === 2 && x.height % 2 === 0) ? 0 : 1;
    const after = kernel === 1 ? 0 : 1;
    const pads = [before, before, after, after] as const;
    const y = tensors.conv(x, name, { ...options, pads });
    return relu(tensors.norm(y, `${name}_bn`, 1e-3));
  };
  let x = layer(input, "conv1", { out: width, kernel: 3, stride: 2 });
  const rows = [
    [2, 1],
    ...[[4, 2], [4, 1]],
    ...[[8, 2], [8, 1]],
    ...[[16, 2], [16, 1], [16, 1], [16, 1], [16, 1], [16, 1]],
    ...[[32, 2], [32, 1]],
  ];
  rows.forEach(([wider, stride], i) => {
    const { channels } = x;
    const each = { out: channels, kernel: 3, stride, groups: channels };
    x = layer(x, `conv_dw_${i + 1}`, each);
    const out = width * wider;
    x = layer(x, `conv_pw_${i + 1}`, { out, kernel: 1, stride: 1 });
  });
  return tensors.dense(means(x), "conv_preds");
}

/** ResNet-18 and the decoder of Chaurasia and Culurciello, Fig. 2. */
export function naiveLinkNet(
  input: Image,
  tensors: Tensors,
  { width, classes }: { width: number; classes: number },
): number[] {
  const stem = residualStem(tensors, input, width);
  const basic = (x: Image, name: string, s: number, stride: number) => {
    const out = width * 2 ** s;
    const layer = (from: Image, i: number, stride: number) =>
      normalised(tensors, from, `${name}.conv${i}`, `${name}.bn${i}`, {
        ...{ out, kernel: 3, stride },
      });
    const y = layer(relu(layer(x, 1, stride)), 2, 1);
    return relu(sum(y, shortcut(tensors, x, name, out, stride)));
  };
  const [e1, e2, e3, e4] = residualStages(stem, [2, 2, 2, 2], basic);
  const full = (x: Image, name: string, out: number, stride: number) => {
    const y = tensors.convTranspose(x, `${name}.0`, {
      ...{ out, kernel: 3, stride, pads: square(1), outputPadding: stride - 1 },
    });
    return relu(tensors.norm(y, `${name}.1`));
  };
  const layer = (x: Image, name: string, out: number, kernel: number) =>
    relu(normalised(tensors, x, `${name}.0`, `${name}.1`, { out, kernel }));
  const decoder = (i: number, x: Image, out: number) => {
    const name = `decoder${i}`;
    const inner = x.channels / 4;
    let y = layer(x, `${name}.conv1`, inner, 1);
    y = full(y, `${name}.tp_conv`, inner, i === 1 ? 1 : 2);
    return layer(y, `${name}.conv2`, out, 1);
  };
  const d4 = sum(e3, decoder(4, e4, 4 * width));
  const d3 = sum(e2, decoder(3, d4, 2 * width));
  const d2 = sum(e1, decoder(2, d3, width));
  const d1 = sum(stem, decoder(1, d2, width));
  const y = layer(full(d1, "tp_conv1", width / 2, 2), "conv2", width / 2, 3);
  const last = { out: classes, kernel: 2, stride: 2 };
  return Array.from(tensors.convTranspose(y, "tp_conv2", last).data);
}

export function naiveUNet(
  input: Image,
  tensors: Tensors,
  { base, depth, classes, padding }: {
    base: number;
    depth: number;
    classes: number;
    padding: "valid" | "same";
  },
): number[] {
  const pads = square(padding === "same" ? 1 : 0);
  const convolution = (x: Image, name: string, out: number) =>
    relu(tensors.conv(x, name, { out, kernel: 3, pads }));
  const twice = (x: Image, name: string, out: number) =>
    convolution(convolution(x, `${name}.c1`, out), `${name}.c2`, out);

  const skips: Image[] = [];
  let x = input;
  for (let level = 0; level < depth; level++) {
    x = twice(x, `down${level}`, base * 2 ** level);
    skips.push(x);
    x = pooled(x, "max", 2, 2);
  }
  x = twice(x, "bottom", base * 2 ** depth);
  for (let level = depth - 1; level >= 0; level--) {
    const out = base * 2 ** level;
    const options = { out, kernel: 2, stride: 2 };
    x = tensors.convTranspose(x, `up${level}.up`, options);
    const skip = cropped(skips[level], x.height, x.width);
    x = twice(stacked(skip, x), `up${level}`, out);
  }
  return Array.from(tensors.conv(x, "out", { out: classes, kernel: 1 }).data);
}
