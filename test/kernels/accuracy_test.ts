/**
 * Errors against float64 relative to the sum of magnitudes, which is what a straight sum
 * promises: |got - exact| <= (K + 2) 2^-24 sum |a| |w|, whatever the numbers' range.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { imageShape } from "../../src/tensor/image_shape.ts";
import { drawSize } from "./kernel_case.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { packConv, packDepthwise } from "../../src/kernels/pack/pack_conv.ts";
import { conv } from "./reference/image.ts";
import { gemm } from "./reference/gemm.ts";
import { propertyRuns } from "../property_runs.ts";
import { builds } from "./builds.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** Numbers of both signs over 40 binary orders of magnitude. */
function wide(prng: Prng, length: number): Float32Array {
  return Float32Array.from(
    { length },
    () => (prng.float() * 2 - 1) * 2 ** (prng.int(40) - 20),
  );
}

function check(
  what: string,
  k: number,
  { got, exact, magnitudes }: Record<
    "got" | "exact" | "magnitudes",
    ArrayLike<number>
  >,
): void {
  for (let i = 0; i < got.length; ++i) {
    const error = Math.abs(got[i] - exact[i]);
    const allowed = (k + 2) * 2 ** -24 * magnitudes[i];
    assert.ok(error <= allowed, `${what}: element ${i} is off by ${error}`);
  }
}

for (const { name, kernels, memory } of builds) {
  if (name.includes("shared")) continue;

  Deno.test(`gemm_f32 errs by no more than a straight sum does (${name})`, () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const prng = new Prng(seed);
        const [m, n, k] = [drawSize(prng), drawSize(prng), drawSize(prng)];
        const [a, weight, bias] = [m * k, n * k, n]
          .map((length) => wide(prng, length)) as [
            Float32Array,
            Float32Array,
            Float32Array,
          ];
        const host = new KernelHost(kernels, memory);
        const c = host.rows(m, n, "f32");
        host.call("gemm_f32", {
          n,
          k1: k,
          aRows1: host.rows(m, k, a),
          w: host.block(packGemm({ n, k, weight, layout: "nk", bias })),
          cRows: c,
        });
        const abs = (x: Float32Array) => x.map(Math.abs);
        check(`m=${m} n=${n} k=${k}`, k, {
          got: host.read(c),
          exact: gemm({ m, n, k, a, weight, bias }, "none"),
          magnitudes: gemm(
            { m, n, k, a: abs(a), weight: abs(weight), bias: abs(bias) },
            "none",
          ),
        });
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  for (const kernel of ["conv_f32", "depthwise_f32"] as const) {
    Deno.test(`${kernel} errs by no more than a straight sum does (${name})`, () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          const prng = new Prng(seed);
          const depthwise = kernel === "depthwise_f32";
          const channels = 1 + prng.int(20);
          const shape = imageShape({
            ...{ height: 4 + prng.int(6), width: 4 + prng.int(6), channels },
            outChannels: depthwise ? channels : 1 + prng.int(20),
            groups: depthwise ? channels : 1,
            kernel: [1 + prng.int(3), 1 + prng.int(3)],
            stride: 1 + prng.int(2),
            pads: [prng.int(2), prng.int(2), prng.int(2), prng.int(2)],
          });
          const taps = shape.kernel[0] * shape.kernel[1];
          const k = depthwise ? taps : taps * channels;
          const image = wide(prng, shape.height * shape.width * channels);
          const weight = wide(prng, shape.outChannels * k);
          const bias = wide(prng, shape.outChannels);
          const host = new KernelHost(kernels, memory);
          const width = shape.outHeight * shape.outWidth * shape.outChannels;
          const out = host.rows(1, width, "f32");
          const pack = depthwise ? packDepthwise : packConv;
          const common = {
            shape,
            inRows: host.rows(1, image.length, image),
            w: host.block(pack(shape, { weight, bias })),
            outRows: out,
          };
          if (depthwise) host.call(kernel, common);
          else {
            host.call(kernel, { ...common, scratch: host.convScratch(shape) });
          }
          const abs = (x: Float32Array) => x.map(Math.abs);
          check(JSON.stringify(shape), k, {
            got: host.read(out),
            exact: conv(shape, image, weight, bias),
            magnitudes: conv(shape, abs(image), abs(weight), abs(bias)),
          });
        }),
        { numRuns: propertyRuns(30) },
      );
    });
  }
}
