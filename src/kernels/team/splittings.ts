/** How each kernel's calls are cut: its spec's cuts, turned into positions of arguments once. */
import { assert } from "../../base/assert.ts";
import type { CutSpec } from "../spec/kernel_spec.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../spec/registry.ts";
import { bestOfParts } from "./best_of_parts.ts";
import { ARGUMENTS_MAX, type Cut, type Splitting } from "./cut.ts";
import { byLines, byPixels } from "./image_cuts.ts";
import { KernelArguments } from "./kernel_arguments.ts";
import { byRows } from "./row_cuts.ts";
import { bySize } from "./size_cuts.ts";
import { byUnits } from "./unit_cuts.ts";

function cutOf(kernel: KernelArguments, spec: CutSpec): Cut {
  switch (spec.by) {
    case "rows":
      return byRows(kernel, spec);
    case "size":
      return spec.best
        ? bestOfParts(
          kernel,
          { ...spec, best: spec.best },
          bySize(kernel, spec),
        )
        : bySize(kernel, spec);
    case "units":
      return byUnits(kernel, spec);
    case "lines":
      return byLines(kernel, spec);
    case "pixels":
      return byPixels(kernel, spec);
    default:
      return spec satisfies never;
  }
}

/** Kernels that are cut; their indices are what threads tell each other. */
export const SPLITTINGS: readonly Splitting[] = KERNEL_NAMES.flatMap((name) => {
  const spec = KERNEL_SPECS[name];
  if (spec.cuts === "whole") return [];
  assert(
    spec.parameters.length <= ARGUMENTS_MAX,
    `${name} takes more arguments than a team hands on`,
  );
  const kernel = new KernelArguments(name);
  const { cuts, nanoseconds } = spec;
  return [{
    name,
    cuts: cuts.map((cut) => cutOf(kernel, cut)),
    nanoseconds: (args, memory) =>
      nanoseconds(kernel.sizes.of(args, memory.words)),
  }];
});
