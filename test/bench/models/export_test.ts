/**
 * Exported graphs give what the engine gives: every model of the registry with drawn options, a batch of requests of
 * one shape each, run operator by operator in plain TypeScript.
 */
import assert from "node:assert/strict";
import {
  greatestDifference,
  numbersOf,
} from "../../../bench/models/compare.ts";
import { prepareNetwork } from "../../../bench/models/request_graphs.ts";
import { unrolled } from "../../../bench/models/unrolled.ts";
import { Prng } from "../../../src/base/prng.ts";
import { defineCell, f32, image } from "../../../src/graph/cell_builder.ts";
import type { Model } from "../../../src/graph/model.ts";
import { MODELS } from "../../../src/models/registry.ts";
import { tensor } from "../../../src/tensor/tensor.ts";
import { seededWeights } from "../../../src/tensor/weights.ts";
import { runRequests } from "../../run_requests.ts";
import { plainRuntime } from "./plain_runtime.ts";

const SEED = 7;
const DRAWS = 2;
const BATCH = 2;
const STEPS = 4;
const TOKENS = 3;
/** Sums are taken in other orders, through up to 200 layers. */
const TOLERANCE = 1e-3;

const prng = new Prng(SEED);
const draw = () => prng.float() * 2 - 1;

/** Requests of the same shape. */
function inputsOf(model: Model, input: string): unknown[] {
  const { image: size, frameSize } = model;
  const floats = (length: number) => Float32Array.from({ length }, draw);
  const tokens = () => Array.from({ length: TOKENS }, () => prng.int(11));
  const leaf = () => prng.int(11);
  return Array.from({ length: BATCH }, () => {
    switch (input) {
      case "tokens":
        return { tokens: tokens() };
      case "seq2seq":
        return { tokens: tokens(), maxSteps: STEPS };
      case "tree":
        return { tree: [leaf(), [leaf(), leaf()]] };
      case "image":
        return {
          image: floats(size!.height * size!.width * size!.channels),
        };
      case "frames":
        return { frames: floats(12 * frameSize!) };
      default:
        return { frames: floats(12 * frameSize!), maxSteps: STEPS };
    }
  });
}

for (const [name, { input, build, tries }] of Object.entries(MODELS)) {
  Deno.test(`${name}: what its ONNX graph gives is what the engine gives`, async () => {
    for (let draw = 0; draw < DRAWS; draw++) {
      const choices = tries[prng.int(tries.length)];
      const options = Object.fromEntries(
        Object.entries(choices).map((
          [option, values],
        ) => [option, values[prng.int(values.length)]]),
      );
      // Ends where requests say, so that all of a batch are of one length.
      const endless = "eos" in options ? { eos: null } : {};
      // ONNX has no operator that draws tokens.
      const greedy = "sample" in options
        ? { sample: false, penalties: false }
        : {};
      const what = `${name} ${JSON.stringify(options)}, seed ${SEED}`;
      const model = build({
        ...{ ...options, ...endless, ...greedy },
        weights: seededWeights(draw),
      });
      const inputs = inputsOf(model, input);
      const prepared = await prepareNetwork(plainRuntime, {
        ...{ model, inputs, steps: STEPS, attention: "operators" },
      });
      // Twice: nothing of the first run is left in the second.
      for (let run = 0; run < 2; run++) await prepared.run();
      const expected = runRequests(model, inputs);
      expected.forEach((result, i) => {
        for (const [output, { data }] of Object.entries(result)) {
          greatestDifference(`${what}: ${output}`, {
            got: data,
            expected: numbersOf(prepared.results()[output], i),
            tolerance: TOLERANCE,
          });
        }
      });
      await prepared.release();
    }
  });
}

/** One cell over an image and a row, of forms that the registry's models do not have. */
function oddModel(): Model {
  const cell = defineCell({
    name: "odd",
    inputs: { map: image(7, 6, 2), x: f32(4) },
    body(op, { map, x }) {
      const grown = op.ConvTranspose(
        op.CenterCropPad(map, 4, 3),
        tensor([2, 3, 3, 3], Float32Array.from({ length: 54 }, draw)),
        { strides: 2, pads: [1, 0, 0, 1], outputPadding: [1, 0] },
      );
      const window = { kernelShape: 3, strides: 2 } as const;
      const constant = op.Constant([0.5, -2, 3]);
      return {
        most: op.MaxPool(grown, { ...window, ceilMode: true }),
        floor: op.MaxPool(grown, window),
        mean: op.AveragePool(grown, {
          ...{ ...window, pads: 1, countIncludePad: true },
        }),
        row: op.Concat(
          op.Clip(x, { max: 0.25 }),
          op.Softmax(op.Slice(x, 1, 4)),
          op.Sub(op.Exp(op.Slice(x, 0, 3)), constant),
          constant,
        ),
      };
    },
  });
  return {
    name: "odd",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold({ map, x }, graph) {
      const node = graph.node(cell, {
        map: graph.row(graph.rows(map), 0, map.length),
        x: graph.row(graph.rows(x), 0, x.length),
      });
      for (const { name } of cell.outputs) {
        graph.result(name, graph.output(node, name));
      }
    },
  };
}

Deno.test("forms that no model of the registry has", async () => {
  const model = oddModel();
  const inputs = Array.from({ length: BATCH }, () => ({
    map: Float32Array.from({ length: 84 }, draw),
    x: Float32Array.from({ length: 4 }, draw),
  }));
  const prepared = await prepareNetwork(plainRuntime, {
    ...{ model, inputs, steps: 1, attention: "operators" },
  });
  await prepared.run();
  runRequests(model, inputs).forEach((result, i) => {
    for (const [output, { data }] of Object.entries(result)) {
      greatestDifference(`${output}, seed ${SEED}`, {
        got: data,
        expected: numbersOf(prepared.results()[output], i),
        tolerance: TOLERANCE,
      });
    }
  });
});

Deno.test("an operator without a form in ONNX is refused by name", async () => {
  const cell = defineCell({
    name: "shared",
    tokensMax: 4,
    inputs: { x: f32(4) },
    body: (op, { x }) => ({
      y: op.Attention(x, { k: op.Slice(x, 0, 2), v: op.Slice(x, 2, 4) }, {
        heads: 2,
        kvHeads: 1,
      }),
    }),
  });
  const model: Model = {
    name: "shared",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold(_input, graph) {
      const rows = graph.rows(new Float32Array(4));
      const node = graph.node(cell, { x: graph.row(rows, 0, 4) }, {
        length: 1,
      });
      graph.result("y", graph.output(node, "y"));
    },
  };
  await assert.rejects(
    prepareNetwork(plainRuntime, {
      ...{ model, inputs: [{}], steps: 1, attention: "operators" },
    }),
    /Attention of shared heads is not exported/,
  );
});

Deno.test("a request unrolls as far as it goes", () => {
  const model = MODELS.seq2seq.build({
    ...{ hidden: 4, sourceVocabulary: 11, eos: null },
    weights: seededWeights(1),
  });
  const { before, steps } = unrolled(model, { tokens: [1, 2], maxSteps: 5 }, 5);
  assert.equal(before.length, 2);
  assert.deepEqual(steps.map(({ length }) => length), [1, 1, 1, 1, 1]);
  assert.throws(
    () => unrolled(model, { tokens: [1, 2], maxSteps: 5 }, 6),
    /takes up to 5 steps, not 6/,
  );
});
