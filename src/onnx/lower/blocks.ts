/** Blocks of pixels that become channels and back, and copies side by side: moves. */
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { concatAxis } from "./moves.ts";
import { axesOfImage, imageSizeOf } from "./operand.ts";

/** Copies of one axis. */
const COPIES_MAX = 128;

/** As the value lies: axes of an image with channels last, or those of ONNX. */
interface Turn {
  readonly sizes: readonly number[];
  readonly perm: readonly number[];
}

function turned(view: LoweredNode, image: Turn, row: Turn): Value | undefined {
  const { op } = view;
  const x = view.operand();
  const size = imageSizeOf(view.dims());
  if (x.type !== "float32") return undefined;
  if (!x.isImage || !size) {
    const made = op.Transpose(op.Reshape(x.row, row.sizes), row.perm);
    return op.Reshape(made, view.dims());
  }
  const axes = op.Reshape(x.image, axesOfImage(x.imageSize!));
  return op.Reshape(
    op.Transpose(op.Reshape(axes, image.sizes), image.perm),
    size,
  );
}

const depthToSpace: NodeLowering = (view) => {
  const block = view.int("blocksize", 1);
  const { dims } = view.operand();
  const [n, , height, width] = dims;
  const [, channels] = view.dims();
  const isColumnsFirst = view.text("mode", "DCR") === "CRD";
  return isColumnsFirst
    ? turned(view, {
      sizes: [height, width, channels, block, block],
      perm: [0, 3, 1, 4, 2],
    }, {
      sizes: [n, channels, block, block, height, width],
      perm: [0, 1, 4, 2, 5, 3],
    })
    : turned(view, {
      sizes: [height, width, block, block, channels],
      perm: [0, 2, 1, 3, 4],
    }, {
      sizes: [n, block, block, channels, height, width],
      perm: [0, 3, 4, 1, 5, 2],
    });
};

const spaceToDepth: NodeLowering = (view) => {
  const block = view.int("blocksize", 1);
  const [n, channels] = view.operand().dims;
  const [, , height, width] = view.dims();
  return turned(view, {
    sizes: [height, block, width, block, channels],
    perm: [0, 2, 1, 3, 4],
  }, {
    sizes: [n, channels, height, block, width, block],
    perm: [0, 3, 5, 1, 2, 4],
  });
};

const tile: NodeLowering = (view) => {
  const x = view.operand();
  const repeats = view.version < 6 ? undefined : view.numbers(1);
  const isWord = x.type === "float32" || x.type === "int32";
  if (!repeats || !isWord || x.constant || x.rank === 0) return undefined;
  if (repeats.some((count) => count < 1 || count > COPIES_MAX)) {
    return undefined;
  }
  let made = x.row;
  repeats.forEach((count, axis) => {
    if (count === 1) return;
    const copies = Array.from({ length: count }, () => made);
    made = concatAxis(view.op, copies, axis);
  });
  return view.op.Reshape(made, axesOf(made));
};

export const BLOCKS: Readonly<Record<string, NodeLowering>> = {
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
  Tile: tile,
};
