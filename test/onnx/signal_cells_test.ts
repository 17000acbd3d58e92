/** Fourier transforms and paddings of ONNX files on kernels, beside the plain operators; what kernels do not have stays with these. */
import assert from "node:assert/strict";
import { type PlainTensor, scalarOf } from "../../src/tensor/plain_tensor.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { runRequests } from "../run_requests.ts";
import { drawn, given, load, requestsTo, whole } from "./step_cases.ts";
import { node } from "./write_model.ts";

interface Signals {
  x: readonly number[];
  op?: "DFT" | "STFT" | "Pad";
  /** Inputs from the second one on; undefined is left out. */
  more?: readonly (PlainTensor | undefined)[];
  attributes?: Record<string, number | string>;
  /** Stays in plain TypeScript. */
  plain?: true;
}

const size = (n: number) => scalarOf("int64", n);
const forth = { onesided: 1 };
const back = { onesided: 1, inverse: 1 };

const CASES: Readonly<Record<string, Signals>> = {
  "a signal": { x: [1, 64, 1], attributes: forth },
  "signals along the first of three axes": {
    x: [32, 3, 2, 1],
    more: [undefined, size(0)],
    attributes: forth,
  },
  "signals along the middle axis": {
    x: [2, 128, 3, 1],
    more: [undefined, size(-3)],
    attributes: forth,
  },
  "a signal that is cut off": {
    x: [2, 50, 1],
    more: [size(32)],
    attributes: forth,
  },
  "a signal that is filled up": {
    x: [2, 50, 1],
    more: [size(256)],
    attributes: forth,
  },
  "frequencies back to a signal": { x: [3, 33, 2], attributes: back },
  "frequencies along another axis": {
    x: [2, 17, 4, 2],
    more: [undefined, size(1)],
    attributes: back,
  },
  "fewer frequencies than the signal has": {
    x: [2, 20, 2],
    more: [size(64)],
    attributes: back,
  },
  "both sides of the frequencies": { x: [1, 64, 1], plain: true },
  "frequencies of a complex signal": {
    x: [1, 64, 2],
    attributes: forth,
    plain: true,
  },
  "a length that is no power of two": {
    x: [1, 60, 1],
    attributes: forth,
    plain: true,
  },
  "short windows that overlap": {
    op: "STFT",
    x: [2, 200, 1],
    more: [size(32), undefined, size(64)],
  },
  "windows of which the steps are no part": {
    op: "STFT",
    x: [1, 333],
    more: [size(50), drawn(128)],
  },
  "windows with gaps": {
    op: "STFT",
    x: [1, 333, 1],
    more: [size(70), drawn(32), size(32)],
  },
  "a window function that is shorter than the windows": {
    op: "STFT",
    x: [1, 200, 1],
    more: [size(32), drawn(50), size(64)],
    plain: true,
  },
  "a signal, mirrored at both ends": {
    op: "Pad",
    x: [1, 2, 9],
    more: [whole(0, 0, 3, 0, 0, 5)],
    attributes: { mode: "reflect" },
  },
  "a signal, mirrored more often than once": {
    op: "Pad",
    x: [1, 3],
    more: [whole(0, 7, 0, 4)],
    attributes: { mode: "reflect" },
  },
  "two axes, by their first and last elements": {
    op: "Pad",
    x: [2, 3, 4],
    more: [whole(2, 1, 0, 3), undefined, whole(-1, 1)],
    attributes: { mode: "edge" },
  },
  "a signal, wrapped around": {
    op: "Pad",
    x: [2, 5],
    more: [whole(0, 2, 0, 6)],
    attributes: { mode: "wrap" },
  },
  "a signal by more pieces than are put together": {
    op: "Pad",
    x: [1, 200],
    more: [whole(0, 150, 0, 0)],
    attributes: { mode: "reflect" },
    plain: true,
  },
  "windows of complex numbers": {
    op: "STFT",
    x: [1, 200, 2],
    more: [size(32), undefined, size(64)],
    attributes: { onesided: 0 },
    plain: true,
  },
};

for (
  const [what, { x, op = "DFT", more = [], ...rest }] of Object.entries(CASES)
) {
  Deno.test(`${op} of ${what} is ${rest.plain ? "left as it is" : "on kernels"}`, () => {
    const names = more.map((tensor, i) => tensor ? `c${i}` : "");
    const weights = Object.fromEntries(
      more.flatMap((tensor, i) => tensor ? [[`c${i}`, tensor]] : []),
    );
    const made = {
      inputs: { x },
      weights,
      nodes: [node(op, ["x", ...names], ["y"], rest.attributes ?? {})],
      outputs: ["y"],
      cells: [],
    };
    const file = load(made);
    const model = onnxModel(file);
    assert.equal(model.notes.length, rest.plain ? 1 : 0, model.notes.join());
    const requests = requestsTo(made, 3);
    const alone = requests.map((request) =>
      runRequests(model, [given(request)])[0]
    );
    const policy = merged({ batchSizeMax: 3 });
    const together = runRequests(model, requests.map(given), { policy });
    assert.deepEqual(together, alone);
    alone.forEach(({ y }, i) => {
      const { dims, data } = runPlainGraph(file.graph, requests[i]).get("y")!;
      assert.deepEqual(y.shape, dims);
      (data as Float32Array).forEach((value, at) =>
        assert(
          Math.abs(Number(y.data[at]) - value) < 2e-5,
          `[${at}] is ${y.data[at]}, expected ${value}`,
        )
      );
    });
  });
}
