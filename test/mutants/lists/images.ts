/** The kernels of images: convolutions, pools and resizing (assembly/), and packers of their weights (src/kernels/pack). */
import { agrees } from "../kernel_cases.ts";
import type { MutantList } from "../mutant.ts";

export const MUTANTS: MutantList = [
  {
    id: "images.conv-padding",
    file: "assembly/conv.ts",
    from:
      "store<u32>(table, <u32>(inside && <u32>x < <u32>width ? at : zeros));",
    to: "store<u32>(table, <u32>(inside ? at : zeros));",
    tests: [agrees("conv_f32")],
    why: "taps left and right of the image read zeros, not the next line",
  },
  {
    id: "images.conv-patch",
    file: "assembly/conv.ts",
    from: "memory.fill(patch, 0, lineBytes);",
    to: "",
    tests: [agrees("conv_f32")],
    why: "a kernel row that reaches into the padding is zero there",
  },
  {
    id: "images.conv-windows",
    file: "assembly/conv.ts",
    from: "((width - x) * channels - floats) / stride + 1",
    to: "((width - x) * channels) / stride + 1",
    tests: [agrees("conv_f32")],
    why:
      "windows are copied in one go as long as they do not reach into the padding",
  },
  {
    id: "images.conv-dilation",
    file: "assembly/conv.ts",
    from: "image.dilationWidth(s) == 1 && image.kernelWidth(s) > 1",
    to: "image.kernelWidth(s) > 1",
    tests: [agrees("conv_f32")],
    why: "only a kernel row without gaps is contiguous in the image",
  },
  {
    id: "images.pool-empty",
    file: "assembly/pool.ts",
    from:
      "const start = v128.splat<f32>(idof<T>() == idof<Max>() ? -Infinity : 0);",
    to: "const start = v128.splat<f32>(0);",
    tests: [agrees("pool_max_f32")],
    why: "the greatest of a window of negative numbers is negative",
  },
  {
    id: "images.pool-shared-column",
    file: "assembly/pool.ts",
    from: "s0 = t0; s1 = t1; s2 = t2; s3 = t3; n = m;",
    to: "s0 = s1 = s2 = s3 = v128.splat<f32>(-Infinity); n = m;",
    tests: [agrees("pool_max_f32")],
    why: "a window's last column is the next one's first",
  },
  {
    id: "images.pool-nan",
    file: "assembly/pool.ts",
    from: "if (v128.any_true(f32x4.ne(n, n))) few(true, 16,",
    to: "if (false) few(true, 16,",
    tests: [{
      file: "test/kernels/pool_test.ts",
      filter: "/^pool_max_f32 keeps a NaN/",
    }],
    why: "the maximum of a window with a NaN is NaN",
  },
  {
    id: "images.resize-pair",
    file: "assembly/resize.ts",
    from: "v128.store(below, mix(upper, lower, z0, z1));",
    to: "v128.store(below, mix(upper, lower, y0, y1));",
    tests: [agrees("resize_linear_f32")],
    why:
      "two output lines between the same input lines have weights of their own",
  },
  {
    id: "images.fold-shift",
    file: "src/kernels/pack/pack_conv.ts",
    from: "((bias?.[j] ?? 0) - mean[j]) * factor[j] + shift[j],",
    to: "(bias?.[j] ?? 0) - mean[j] * factor[j] + shift[j],",
    tests: ["test/kernels/fold_batch_norm_test.ts"],
    why: "a convolution's own bias is normalised with its sums",
  },
  {
    id: "images.conv-groups",
    file: "src/kernels/pack/pack_conv.ts",
    from:
      "start: (group * shape.outChannels / groups + column) * channels * taps +",
    to: "start: column * channels * taps +",
    tests: [agrees("conv_f32")],
    why: "every group has weights of its own",
  },
];
