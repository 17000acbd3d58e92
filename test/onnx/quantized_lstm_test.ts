/** DynamicQuantizeLSTM of `com.microsoft` as steps of the int8 kernels, beside its definition in f64. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING, drawn, given, SEED } from "./step_cases.ts";
import { writeModel } from "./write_model.ts";

const STEPS = 4;
const WIDE = 5;
const HIDDEN = 3;
const ROWS = 4 * HIDDEN;

const draw = (count: number, from: number, to: number): number[] =>
  Array.from(
    drawn(count).data as Float32Array,
    (x) => Math.round(from + (x + 1) / 2 * (to - from)),
  );
const positive = (...dims: number[]): PlainTensor => {
  const { data, ...rest } = drawn(...dims);
  return {
    ...rest,
    data: (data as Float32Array).map((x) => 0.004 + 0.002 * x),
  } as PlainTensor;
};

interface Kind {
  type: "int8" | "uint8";
  directions: number;
  /** Scales and zero points for every column. */
  isByColumn: boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "signed, by column, both ways": {
    type: "int8",
    directions: 2,
    isByColumn: true,
  },
  "unsigned, as a whole": { type: "uint8", directions: 1, isByColumn: false },
};

function weightsOf({ type, directions, isByColumn }: Kind) {
  const [low, high] = type === "int8" ? [-127, 127] : [0, 255];
  const range = isByColumn ? [directions, ROWS] : [directions];
  const zeros = (): PlainTensor => {
    const count = range.reduce((a, b) => a * b);
    // Signed weights have 0, as ONNX Runtime wants it.
    const middle = type === "int8" ? 0 : 120;
    return plainOf(type, range, new Array(count).fill(middle));
  };
  const matrix = (rows: number) =>
    plainOf(
      type,
      [directions, rows, ROWS],
      draw(directions * rows * ROWS, low, high),
    );
  return {
    w: matrix(WIDE),
    r: matrix(HIDDEN),
    b: drawn(directions, 2 * ROWS),
    ws: positive(...range),
    wz: zeros(),
    rs: positive(...range),
    rz: zeros(),
  };
}

type Weights = ReturnType<typeof weightsOf>;

/** ONNX's DynamicQuantizeLinear: what the bytes are worth. */
function quantized(row: Float32Array): number[] {
  const least = row.reduce((a, b) => Math.min(a, b), 0);
  const most = row.reduce((a, b) => Math.max(a, b), 0);
  const scale = Math.fround(Math.fround(most - least) / 255);
  if (scale === 0) return [...row];
  const even = (x: number) => {
    const low = Math.floor(x);
    const rest = x - low;
    return rest > 0.5 || rest === 0.5 && low % 2 !== 0 ? low + 1 : low;
  };
  const bound = (x: number) => Math.min(255, Math.max(0, x));
  const zero = bound(even(Math.fround(-least / scale)));
  return Array.from(
    row,
    (x) => (bound(even(Math.fround(x / scale)) + zero) - zero) * scale,
  );
}

/** What the definition gives, every position's x and h with ranges of their own. */
function expected(
  weights: Weights,
  { directions }: Kind,
  x: Float32Array,
): number[][] {
  const sigmoid = (value: number) => 1 / (1 + Math.exp(-value));
  const y = Array.from({ length: STEPS * directions }, () => [] as number[]);
  for (let d = 0; d < directions; d++) {
    const of = (name: keyof Weights, place: number) =>
      Number(
        weights[name].data[d * weights[name].data.length / directions + place],
      );
    const sum = (
      name: "w" | "r",
      vector: readonly number[],
      column: number,
    ) => {
      const at = weights[`${name}s`].dims.length === 1 ? 0 : column;
      const total = vector.reduce(
        (sum, value, k) =>
          sum + value * (of(name, k * ROWS + column) - of(`${name}z`, at)),
        0,
      );
      return total * of(`${name}s`, at);
    };
    let h = new Float32Array(HIDDEN);
    const c = new Float32Array(HIDDEN);
    for (let step = 0; step < STEPS; step++) {
      const t = d === 1 ? STEPS - 1 - step : step;
      const [xq, hq] = [x.subarray(t * WIDE, (t + 1) * WIDE), h].map(quantized);
      const gate = (number: number, i: number) => {
        const column = number * HIDDEN + i;
        return sum("w", xq, column) + sum("r", hq, column) + of("b", column) +
          of("b", ROWS + column);
      };
      h = h.map((_, i) => {
        c[i] = sigmoid(gate(2, i)) * c[i] +
          sigmoid(gate(0, i)) * Math.tanh(gate(3, i));
        return sigmoid(gate(1, i)) * Math.tanh(c[i]);
      });
      y[t * directions + d] = [...h];
    }
  }
  return y;
}

function load(kind: Kind, weights: Partial<Weights>, dims = [STEPS, 1, WIDE]) {
  return readModel(writeModel({
    graph: {
      inputs: [{ name: "x", dims }],
      outputs: [{ name: "y" }, { name: "h" }, { name: "c" }],
      initializers: weights,
      nodes: [{
        op: "DynamicQuantizeLSTM",
        domain: "com.microsoft",
        inputs: [
          ...["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
        ],
        outputs: ["y", "h", "c"],
        attributes: {
          hidden_size: HIDDEN,
          direction: kind.directions === 2 ? "bidirectional" : "forward",
        },
      }],
    },
    opsets: { "": 20, "com.microsoft": 1 },
  }));
}

for (const [name, kind] of Object.entries(KINDS)) {
  Deno.test(`DynamicQuantizeLSTM in steps: ${name}`, () => {
    const weights = weightsOf(kind);
    const file = load(kind, weights);
    const model = onnxModel(file, { cells: "layer" });
    const steps = model.cells.filter(({ recurrent }) => recurrent);
    assert.equal(steps.length, kind.directions);
    for (const { operators } of steps) {
      assert.deepEqual(operators.map(({ op }) => op), ["DynamicQuantizeLSTM"]);
    }
    const requests = Array.from({ length: 5 }, () => drawn(STEPS, 1, WIDE));
    const inputs = requests.map((x) => given(new Map([["x", x]])));
    const alone = inputs.map((input) => runRequests(model, [input])[0]);
    alone.forEach(({ y, h }, i) => {
      const wanted = expected(weights, kind, requests[i].data as Float32Array);
      wanted.flat().forEach((value, at) =>
        assert(
          Math.abs(Number(y.data[at]) - value) <= 1e-5,
          `seed ${SEED}, request ${i}: y[${at}] is ${
            y.data[at]
          }, expected ${value}`,
        )
      );
      assert.deepEqual(y.shape, [STEPS, kind.directions, 1, HIDDEN]);
      const last = (STEPS - 1) * kind.directions * HIDDEN;
      assert.deepEqual(
        [...h.data.slice(0, HIDDEN)],
        [...y.data.slice(last, last + HIDDEN)],
      );
    });
    for (const policy of ["cellular", "lazy", "graph"]) {
      const mixed = runRequests(model, inputs, {
        policy: POLICIES[policy].build(BATCHING[policy]),
        gapNs: 700,
      });
      assert.deepStrictEqual(mixed, alone, policy);
    }
    const whole = onnxModel(file, { cells: "model" });
    assert.deepStrictEqual(runRequests(whole, inputs), alone);
  });
}

Deno.test("what kernels do not compute of a DynamicQuantizeLSTM is refused by name", () => {
  const kind = KINDS["unsigned, as a whole"];
  const weights = weightsOf(kind);
  for (
    const [changed, why, dims] of [
      [{ r: weights.w }, /input 1 of DynamicQuantizeLSTM is/],
      [{ ws: drawn(2) }, /input 8 of DynamicQuantizeLSTM is/],
      [{ ws: plainOf("float32", [1], [0]) }, /kernels alone compute it/],
      [{}, /kernels alone compute it/, [STEPS, 2, WIDE]],
    ] as const
  ) {
    assert.throws(
      () =>
        onnxModel(
          load(kind, { ...weights, ...changed }, dims ? [...dims] : undefined),
        ),
      (error) =>
        error instanceof OnnxError && why.test(error.message) &&
        /\(DynamicQuantizeLSTM\)/.test(error.message),
    );
  }
});
