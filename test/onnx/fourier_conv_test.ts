/** Convolutions that are Fourier transforms are fast ones, and give what they say; others stay convolutions. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { Operators } from "../../src/graph/cell_builder.ts";
import { fourierConv } from "../../src/onnx/lower/fourier_conv.ts";
import { Operand } from "../../src/onnx/lower/operand.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import {
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { fourierWeights } from "./fourier_weights.ts";
import { type Case, given, load, requestsTo } from "./step_cases.ts";
import { node } from "./write_model.ts";

interface Signal {
  weight: PlainTensor;
  /** [channels][samples] */
  x?: readonly [number, number];
  step?: number;
  pads?: readonly [number, number];
  group?: number;
  dilation?: number;
  bias?: PlainTensor;
}

/** A file of the convolution, and a ReLU behind it, which works on what lies as an image. */
function made(
  { weight, x = [1, 300], step = 1, pads = [0, 0], ...rest }: Signal,
) {
  return {
    inputs: { x: [1, ...x] },
    weights: { weight, ...(rest.bias && { bias: rest.bias }) },
    nodes: [
      node("Conv", ["x", "weight", ...(rest.bias ? ["bias"] : [])], ["y"], {
        strides: [step],
        pads: [...pads],
        dilations: [rest.dilation ?? 1],
        group: rest.group ?? 1,
      }),
      node("Relu", ["y"], ["z"]),
    ],
    outputs: ["y", "z"],
    cells: [],
  };
}

/** Operators that a file's cells have, and what requests get beside the plain operators, alone and together. */
function check(signal: Signal): ReadonlySet<string> {
  return checkWritten(made(signal));
}

function checkWritten(written: Case): ReadonlySet<string> {
  const file = load(written);
  const model = onnxModel(file);
  assert.deepEqual(model.notes, []);
  const requests = requestsTo(written, 3);
  const alone = requests.map((request) =>
    runRequests(model, [given(request)])[0]
  );
  const policy = merged({ batchSizeMax: 3 });
  assert.deepEqual(
    runRequests(model, requests.map(given), { policy }),
    alone,
  );
  alone.forEach((found, i) => {
    for (
      const [name, { dims, data }] of runPlainGraph(file.graph, requests[i])
    ) {
      assert.deepEqual(found[name].shape, dims);
      const wanted = data as Float32Array;
      const most = wanted.reduce((a, b) => Math.max(a, Math.abs(b)), 1);
      wanted.forEach((value, at) =>
        assert(
          Math.abs(Number(found[name].data[at]) - value) <= 1e-5 * most,
          `${name}[${at}] is ${found[name].data[at]}, expected ${value}`,
        )
      );
    }
  });
  return new Set(
    model.cells.flatMap(({ operators }) => operators.map(({ op }) => op)),
  );
}

const isTransform = (found: ReadonlySet<string>): boolean => {
  assert.notEqual(found.has("RFFT"), found.has("Conv"));
  return found.has("RFFT");
};

const drawnWindow = (n: number, seed: number): Float32Array => {
  const prng = new Prng(seed);
  return Float32Array.from({ length: n }, () => 2 * prng.float() - 1);
};

Deno.test("a convolution with windowed sines is a fast Fourier transform, whatever its window, step and padding", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(32, 64, 128, 256),
      fc.integer({ min: 1, max: 300 }),
      fc.nat(3),
      fc.tuple(fc.nat(40), fc.nat(40)),
      fc.nat(),
      (n, step, further, pads, seed) => {
        const weight = fourierWeights(drawnWindow(n, seed));
        const samples = n + further * step + seed % 7;
        assert(isTransform(check({ weight, x: [1, samples], step, pads })));
      },
    ),
    {
      numRuns: propertyRuns(25),
      examples: [
        // Silero's: windows of 256 samples, the half of which is of the next.
        [256, 128, 3, [0, 0], 0],
        // A step that is no part of a window, and one that leaves samples out.
        [64, 50, 2, [3, 0], 1],
        [32, 70, 2, [0, 5], 2],
      ],
    },
  );
});

Deno.test("a transform without a window function multiplies by none", () => {
  const weight = fourierWeights(new Float32Array(64).fill(1));
  const found = check({ weight, step: 64 });
  assert(isTransform(found));
  assert(!found.has("Mul"));
});

Deno.test("weights may be off by rounding, and by no more", () => {
  const factors = drawnWindow(64, 1);
  factors[0] = -1; // The largest, and not above zero.
  const off = (by: number) => {
    const weight = fourierWeights(factors);
    (weight.data as Float32Array)[40 * 64 + 7] += by;
    return isTransform(check({ weight, step: 32 }));
  };
  assert(off(5e-7));
  assert(!off(2e-6));
});

Deno.test("images, and other numbers of frequencies, stay a convolution", () => {
  const weight = fourierWeights(drawnWindow(64, 1));
  const data = weight.data as Float32Array;
  const real = plainTensor("float32", [33, 1, 64], data.slice(0, 33 * 64));
  assert(!isTransform(check({ weight: real, step: 32 })));
  const lines = plainTensor("float32", [66, 1, 1, 64], data);
  const written = {
    inputs: { x: [1, 1, 3, 200] },
    weights: { weight: lines },
    nodes: [node("Conv", ["x", "weight"], ["y"], { strides: [1, 32] })],
    outputs: ["y"],
    cells: [],
  };
  assert(!isTransform(checkWritten(written)));
});

Deno.test("a signal that lies as an image is transformed as well, and what is behind it finds one", () => {
  const first = plainTensor("float32", [1, 1, 3], Float32Array.of(1, 2, 3));
  const last = plainTensor("float32", [4, 34, 1], drawnWindow(4 * 34, 2));
  const found = checkWritten({
    inputs: { x: [1, 1, 200] },
    weights: { first, weight: fourierWeights(drawnWindow(32, 1)), last },
    nodes: [
      node("Conv", ["x", "first"], ["a"]),
      node("Conv", ["a", "weight"], ["b"], {
        strides: [16],
        auto_pad: "SAME_UPPER",
      }),
      node("Conv", ["b", "last"], ["y"]),
    ],
    outputs: ["y"],
    cells: [],
  });
  assert(found.has("RFFT"));
});

Deno.test("more padding than may be made stays with the convolution, which makes none", () => {
  const { dims, data } = fourierWeights(drawnWindow(32, 1));
  const op = new Proxy({} as Operators, {
    get: (_, name) => assert.fail(`${String(name)} is asked for`),
  });
  const x = new Operand(op, {
    type: "float32",
    dims: [1, 1, 64],
    constant: undefined,
  });
  const wide = (pad: number) =>
    fourierConv(op, x, tensor(dims, data as Float32Array), {
      strides: [1, pad],
      dilations: [1, 1],
      pads: [0, pad, 0, pad],
    });
  assert.equal(wide(2e9), undefined);
  // What may be made is begun with.
  assert.throws(() => wide(64), /is asked for/);
});

Deno.test("weights that were trained, and frequencies in another order, stay a convolution", () => {
  const factors = drawnWindow(64, 1);
  for (const at of [0, 64, 33 * 64 + 1, 66 * 64 - 1, 40 * 64 + 7]) {
    const weight = fourierWeights(factors);
    (weight.data as Float32Array)[at] += 1e-4;
    assert(!isTransform(check({ weight, step: 32 })), `${at}`);
  }
  const turned = fourierWeights(factors);
  (turned.data as Float32Array).subarray(33 * 64).forEach((value, i, all) =>
    all[i] = -value
  );
  assert(!isTransform(check({ weight: turned, step: 32 })));
});

Deno.test("spread taps, groups, a bias and other lengths stay a convolution", () => {
  const weight = fourierWeights(drawnWindow(64, 1));
  assert(!isTransform(check({ weight, step: 32, dilation: 2 })));
  const bias = plainTensor("float32", [66], new Float32Array(66).fill(0.5));
  assert(!isTransform(check({ weight, step: 32, bias })));
  const grouped = { weight, x: [2, 200], step: 32, group: 2 } as const;
  assert(!isTransform(check(grouped)));
  const odd = fourierWeights(drawnWindow(60, 1));
  assert(!isTransform(check({ weight: odd, step: 30 })));
});
