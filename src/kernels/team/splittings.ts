/** How each kernel's calls are cut: its spec's cuts, turned into positions of arguments once. */
import { assert } from "../../base/assert.ts";
import type { CutSpec } from "../spec/kernel_spec.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../spec/registry.ts";
import { bestOfParts } from "./best_of_parts.ts";
import { ARGUMENTS_MAX, type Cut, type Splitting } from "./cut.ts";
import { cutLines, cutPixels } from "./image_cuts.ts";
import { KernelArguments } from "./kernel_arguments.ts";
import { cutRows } from "./row_cuts.ts";
import { cutAlong } from "./size_cuts.ts";
import { cutUnits } from "./unit_cuts.ts";

function cutOf(kernel: KernelArguments, spec: CutSpec): Cut {
  switch (spec.by) {
    case "rows":
      return cutRows(kernel, spec);
    case "size":
      return spec.best
        ? bestOfParts(
          kernel,
          { ...spec, best: spec.best },
          cutAlong(kernel, spec),
        )
        : cutAlong(kernel, spec);
    case "units":
      return cutUnits(kernel, spec);
    case "lines":
      return cutLines(kernel, spec);
    case "pixels":
      return cutPixels(kernel, spec);
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
