/** What kernels' specs say of themselves: names that exist, and all of them. */
import assert from "node:assert/strict";
import { SHAPE_FIELDS } from "../../src/kernels/pack/image_words.ts";
import { CallSizes } from "../../src/kernels/spec/call_sizes.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import {
  type Count,
  countOf,
  type KernelName,
  type Questions,
  type Sizes,
} from "../../src/kernels/spec/signature.ts";

/** Answers that are numbers: what they are does not matter here. */
const QUESTIONS: Questions = {
  shoal_abi_version: () => 0,
  shoal_static_end: () => 0,
  shoal_variants: () => 0,
  shoal_scratch_bytes: (variants) => variants,
  conv_scratch_bytes: (shape) => shape,
  attention_scratch_bytes: (capacity) => capacity,
  cell_q8_scratch_bytes: () => 8,
  conv_q8_scratch_bytes: (shape) => shape,
};

/** The sizes that a call of the kernel has, all 8; any other name throws. */
function sizesOf(kernel: KernelName): Sizes {
  const names = new Set<string>();
  for (const parameter of KERNEL_SPECS[kernel].parameters) {
    const { kind, name } = parameter;
    if (kind === "size" || kind === "choice") names.add(name);
    if (kind === "shape") {
      for (const all of [name, ...SHAPE_FIELDS]) names.add(all);
    }
    if (kind === "array" && parameter.greatest) names.add(parameter.greatest);
  }
  return new Proxy({}, {
    get(_, name) {
      assert(names.has(String(name)), `${kernel} has no size ${String(name)}`);
      return 8;
    },
  });
}

Deno.test("a spec asks for no size that its kernel does not have", () => {
  for (const kernel of KERNEL_NAMES) {
    const spec = KERNEL_SPECS[kernel];
    const sizes = sizesOf(kernel);
    const check = (extent: Count | undefined) => {
      if (extent === undefined) return;
      assert(Number.isFinite(countOf(extent, sizes, QUESTIONS)), kernel);
    };
    for (const parameter of spec.parameters) {
      if (parameter.kind === "rows") {
        const { width, count, when, transposed } = parameter;
        check(width);
        check(count);
        check(transposed);
        when?.(sizes);
      } else if (parameter.kind === "array") {
        check(parameter.length);
        check(parameter.along);
        assert(
          Number.isFinite(parameter.below?.limit(sizes) ?? 0),
          `${kernel}: ${parameter.name}`,
        );
      } else if (parameter.kind === "tables") {
        check(parameter.count);
        check(parameter.width);
      }
    }
    spec.relation?.(sizes);
    if (spec.cuts !== "whole") {
      assert(Number.isFinite(spec.nanoseconds(sizes)), kernel);
    }
  }
});

Deno.test("a spec speaks of parameters that its kernel has", () => {
  for (const kernel of KERNEL_NAMES) {
    const { parameters, practice = {} } = KERNEL_SPECS[kernel];
    const names = parameters.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, kernel);
    const known = (name: string) =>
      assert(names.includes(name), `${kernel} has no parameter ${name}`);
    for (const parameter of parameters) {
      if (parameter.kind !== "rows") continue;
      for (const input of parameter.over ?? []) known(input);
      if (parameter.each !== undefined) known(parameter.each);
    }
    for (const name of Object.keys(practice)) known(name);
  }
});

Deno.test("whoever asks a call for a size that its kernel does not have is told", () => {
  const sizes = new CallSizes("relu_f32").of(
    Float64Array.of(3, 4, 0, 0),
    new Uint32Array(),
  );
  assert.equal(sizes.n, 4);
  assert.throws(() => sizes.heads, /relu_f32 has no size heads/);
});
