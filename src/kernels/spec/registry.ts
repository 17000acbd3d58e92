import { ATTENTION } from "./attention.ts";
import { CELLS } from "./cells.ts";
import { IMAGES } from "./images.ts";
import type { KernelSpec } from "./kernel_spec.ts";
import { MATRICES } from "./matrices.ts";
import { Q8_CELLS } from "./q8_cells.ts";
import { ROWS } from "./rows.ts";
import type { KernelName } from "./signature.ts";
import { TRANSFORMS } from "./transforms.ts";

/** Every export that computes: a kernel without a spec does not compile. */
export const KERNEL_SPECS: Readonly<Record<KernelName, KernelSpec>> = {
  ...MATRICES,
  ...CELLS,
  ...Q8_CELLS,
  ...IMAGES,
  ...ATTENTION,
  ...ROWS,
  ...TRANSFORMS,
};

/** Their names. */
export const KERNEL_NAMES = Object.keys(KERNEL_SPECS) as KernelName[];
