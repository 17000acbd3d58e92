/** Channels of one image normalised together, all of them by themselves or in groups; then scaled channel by channel. */
import type { Tensor } from "../../tensor/tensor.ts";
import { elementCount, tensor } from "../../tensor/tensor.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { imageSizeOf, MADE_ELEMENTS_MAX, Operand } from "./operand.ts";

const filled = (count: number, value: number) =>
  tensor([count], new Float32Array(count).fill(value));

/** A number for each channel, of those for groups. */
function byChannel({ data }: Tensor, channels: number): Tensor {
  const each = channels / data.length;
  return tensor(
    [channels],
    Float32Array.from(
      { length: channels },
      (_, c) => data[Math.floor(c / each)],
    ),
  );
}

/** @param numbers that scale and bias have */
function normalized(
  view: LoweredNode,
  groups: number,
  numbers: number,
): ReturnType<NodeLowering> {
  const { op } = view;
  const x = view.operand();
  const [scale, bias] = [view.weight(1), view.weight(2)];
  const size = imageSizeOf(x.dims);
  if (x.type !== "float32" || x.rank < 3 || !size || !scale || !bias) {
    return undefined;
  }
  const { channels } = size;
  // What does not fit is refused where the operator runs.
  if (
    channels % groups !== 0 || scale.data.length !== numbers ||
    bias.data.length !== numbers
  ) {
    return undefined;
  }
  const elements = elementCount(x.dims) / groups;
  if (elements > MADE_ELEMENTS_MAX) return undefined;
  const rows = op.LayerNormalization(op.Reshape(x.row, [groups, elements]), {
    scale: filled(elements, 1),
    epsilon: view.float("epsilon", 1e-5),
  });
  const made = new Operand(op, { type: "float32", dims: x.dims }, rows);
  return op.BatchNormalization(made.image, {
    scale: byChannel(scale, channels),
    shift: byChannel(bias, channels),
    mean: filled(channels, 0),
    variance: filled(channels, 1),
  }, 0);
}

export const GROUP_NORMS: Readonly<Record<string, NodeLowering>> = {
  InstanceNormalization: (view) => {
    const [, channels] = view.operand().dims;
    return normalized(view, channels, channels);
  },
  GroupNormalization: (view) => {
    const groups = view.int("num_groups", 0);
    const [, channels] = view.operand().dims;
    return normalized(view, groups, view.version < 21 ? groups : channels);
  },
};
