/** Operators in plain TypeScript, on worker threads and in the engine's own, over rows of every type. */
import assert from "node:assert/strict";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import {
  SLOT_HEADER_BYTES,
  SLOT_REASON_BYTES,
  SlotPlan,
} from "../../src/graph/slot_plan.ts";
import { CellError } from "../../src/engine/core/errors.ts";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import { needsPlain } from "../../src/engine/tensors/plain_calls.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import {
  defineCell,
  f32,
  type Operators,
  row,
} from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import type { RunPlain, Value } from "../../src/graph/operator.ts";
import { runPlain } from "../../src/plain/registry.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { plainOf, scalarOf } from "../../src/tensor/plain_tensor.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { endings, runRequests } from "../run_requests.ts";
import { onceModel } from "./random_cells.ts";

interface Input {
  readonly table: readonly number[];
  readonly index: bigint;
  readonly keep: boolean;
}

/**
 * Sums of table[index] (i64, checked by ONNX's Gather) that a bool keeps or not, and the table as bytes: rows of f32,
 * i64, bool and u8, through kernels and plain operators in turns.
 */
function mixed(run: RunPlain = runPlain): Model<Input> {
  const cell = defineCell({
    name: "mixed",
    inputs: {
      table: row("f32", [3, 2]),
      index: row("i64", [1]),
      keep: row("bool", [1]),
    },
    body(op, { table, index, keep }) {
      const plain = (
        name: string,
        inputs: Parameters<Operators["Plain"]>[0]["inputs"],
        dtype: "f32" | "u8" | "i64",
        dims: readonly number[],
        attributes = new Map<string, { kind: string; value: unknown }>(),
      ): Value =>
        op.Plain({
          ...{ name, opset: 18, inputs, attributes, run },
          node: `the ${name.toLowerCase()}`,
          outputs: [{ dtype, dims }],
        })[0];
      const [row2] = [
        plain(
          "Gather",
          [table, index],
          "f32",
          [1, 2],
          new Map([
            ["axis", { kind: "int", value: 0 }],
          ]),
        ),
      ];
      const doubled = op.Gemm(
        row2,
        tensor([2, 2], Float32Array.of(2, 0, 0, 2)),
      );
      const zeros = plainOf("float32", [1, 2], [0, 0]);
      return {
        y: plain(
          "Where",
          [{ value: keep, dims: [1, 1] }, doubled, zeros],
          "f32",
          [1, 2],
        ),
        bytes: plain(
          "Cast",
          [op.Relu(table)],
          "u8",
          [3, 2],
          new Map([
            ["to", { kind: "int", value: 2 }],
          ]),
        ),
        next: plain("Add", [index, plainOf("int64", [1], [1])], "i64", [1]),
      };
    },
  });
  return {
    name: "mixed",
    cells: [cell],
    shape: "chain",
    outputs: { y: "f32", bytes: "u8", next: "i64" },
    check() {},
    unfold({ table, index, keep }, graph) {
      const node = graph.node(cell, {
        table: graph.row(graph.rows(table), 0, 6),
        index: graph.row(graph.data(BigInt64Array.of(index)), 0, 1),
        keep: graph.row(graph.data(Uint8Array.of(keep ? 1 : 0)), 0, 1),
      });
      for (const name of ["y", "bytes", "next"]) {
        graph.result(name, graph.output(node, name));
      }
    },
  };
}

const INPUTS: readonly Input[] = Array.from({ length: 12 }, (_, i) => ({
  table: [i, -i, 2 * i, 0.5, 7, i + 0.25],
  index: BigInt(i % 3),
  keep: i % 4 !== 0,
}));

/** By hand. */
const expected = ({ table, index, keep }: Input) => ({
  y: tensor(
    [1, 2],
    Float32Array.from(
      [0, 1],
      (k) => keep ? 2 * table[2 * Number(index) + k] : 0,
    ),
  ),
  bytes: tensor(
    [3, 2],
    Uint8Array.from(table, (x) => Math.trunc(Math.max(0, x))),
  ),
  next: tensor([1], BigInt64Array.of(index + 1n)),
});

Deno.test("plain operators take and make rows of every type, alone and in batches", () => {
  const model = mixed();
  for (const policy of [serial(), merged({ batchSizeMax: 5 })]) {
    assert.deepEqual(
      runRequests(model, INPUTS, { policy }),
      INPUTS.map(expected),
    );
  }
});

for (
  const [what, options] of Object.entries({
    "on worker threads": { workers: 2 },
    "on a team of threads": { workers: 1, threadsPerWorker: 2 },
    "in the engine's own thread": { workers: 0 },
  })
) {
  Deno.test(`plain operators run ${what}; a request that one refuses fails alone`, async () => {
    const model = mixed();
    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      slotBytes: 2 ** 22,
      ...options,
    });
    const inputs = INPUTS.map((input, i) =>
      i === 5 ? { ...input, index: 3n } : input
    );
    const outcomes = await Promise.allSettled(
      inputs.map((input) => engine.run(model, input)),
    );
    outcomes.forEach((outcome, i) => {
      if (i === 5) {
        assert(outcome.status === "rejected");
        assert(outcome.reason instanceof CellError);
        assert.match(
          outcome.reason.message,
          /^Cell "[^"]*" failed on node 0 of request \d+: operator Gather \(node "the gather"\) refused its inputs: .*3/,
        );
      } else {
        assert(outcome.status === "fulfilled");
        assert.deepEqual({ ...outcome.value.outputs }, expected(inputs[i]));
      }
    });
  });
}

Deno.test("what an operator says of a request is cut where there is no more room, between letters", () => {
  const said = `no ${"\u20ac".repeat(200)}`;
  const model = mixed(() => {
    throw new RangeError(said);
  });
  const [ending] = endings(model, [INPUTS[0]]);
  assert(ending instanceof CellError);
  const [, heard] = /refused its inputs: (.*)$/.exec(ending.message)!;
  assert(said.startsWith(heard) && heard.length === 3 + 83, heard);
});

Deno.test("where a refusal is written nothing else of the request lies", () => {
  const model = mixed();
  const graph = new CellGraph(model);
  model.unfold(INPUTS[0], graph);
  const { bytes } = new SlotPlan(graph);
  const from = SLOT_HEADER_BYTES + SLOT_REASON_BYTES;
  const offsets = [
    ...graph.inputs.map(({ offset }) => offset),
    ...graph.nodes.flatMap(({ offsets }) => offsets),
  ];
  for (const offset of offsets) assert(offset >= from && offset < bytes);
  assert.equal(Math.min(...offsets), from);
});

Deno.test("an output that is not what was said fails its request", () => {
  const wrong = (
    dims: readonly number[],
    dtype: "f32" | "i32",
  ): Model<number[][]> =>
    onceModel(defineCell({
      name: "wrong",
      inputs: { x: f32(4) },
      body: (op, { x }) => ({
        y: op.Plain({
          name: "Neg",
          opset: 13,
          inputs: [x],
          outputs: [{ dtype, dims }],
          run: runPlain,
        })[0],
      }),
    }));
  const [right] = endings(wrong([4], "f32"), [[[1, 2, 3, 4]]]);
  assert(!(right instanceof Error));
  assert.deepEqual([...right["y"].data], [-1, -2, -3, -4]);
  for (const model of [wrong([2, 2], "f32"), wrong([4], "i32")]) {
    const [ending] = endings(model, [[[1, 2, 3, 4]]]);
    assert(ending instanceof CellError);
  }
});

Deno.test("Plain refuses graphs, quantised rows and sizes that are not those of the value", () => {
  const define = (more: Partial<Parameters<Operators["Plain"]>[0]>) =>
    defineCell({
      name: "plain",
      inputs: { x: f32(4), q: row("q8", [4]) },
      body: (op, { x }) => ({
        y: op.Plain({
          name: "Neg",
          opset: 13,
          inputs: [x],
          outputs: [{ dtype: "f32", dims: [4] }],
          run: runPlain,
          ...more,
        })[0],
      }),
    });
  assert.equal(define({}).operators.length, 1);
  assert.throws(
    () =>
      define({ attributes: new Map([["body", { kind: "graph", value: 0 }]]) }),
    /Plain Neg has a graph, "body"/,
  );
  assert.throws(
    () => define({ outputs: [{ dtype: "f32", dims: [0] }] }),
    /Plain Neg makes "f32" of \[0\]/,
  );
  assert.throws(
    () =>
      defineCell({
        name: "plain",
        inputs: { x: f32(4) },
        body: (op, { x }) => ({
          y: op.Plain({
            name: "Neg",
            opset: 13,
            inputs: [{ value: x, dims: [5] }],
            outputs: [{ dtype: "f32", dims: [4] }],
            run: runPlain,
          })[0],
        }),
      }),
    /Plain Neg of f32\[4\] as \[5\]/,
  );
});

Deno.test("programs say whether they need plain operators, and one registry runs them all", () => {
  const plain = mixed().cells[0];
  const other = defineCell({
    name: "other",
    inputs: { x: f32(4) },
    body: (op, { x }) => ({ y: op.Neg(x) }),
  });
  const programs = [other, plain].map((cell) => lowerCell(cell, () => 0));
  assert(needsPlain(programs));
  assert(!needsPlain(programs.slice(0, 1)));
  const two: Model<Input> = {
    ...mixed(),
    cells: [plain, mixed((...call) => runPlain(...call)).cells[0]],
  };
  assert.throws(
    () => runRequests(two, INPUTS),
    /one registry, got several functions/,
  );
});

Deno.test("tokens of ragged rows are tensors of their own", () => {
  const cell = defineCell({
    name: "tokens",
    tokensMax: 4,
    inputs: { x: f32(3) },
    body: (op, { x }) => ({
      y: op.Plain({
        name: "CumSum",
        opset: 14,
        inputs: [x, scalarOf("int64", 0)],
        outputs: [{ dtype: "f32", dims: [3] }],
        run: runPlain,
      })[0],
    }),
  });
  const model: Model<number> = {
    name: "tokens",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold(length, graph) {
      const rows = graph.rows(Array.from({ length: 3 * length }, (_, i) => i));
      const node = graph.node(cell, { x: graph.row(rows, 0, 3) }, { length });
      graph.result("y", graph.output(node, "y"));
    },
  };
  const results = runRequests(model, [1, 3, 2], {
    policy: merged({ batchSizeMax: 3 }),
  });
  assert.deepEqual([...results[1]["y"].data], [0, 1, 3, 3, 7, 12, 6, 13, 21]);
  assert.deepEqual([...results[2]["y"].data], [0, 1, 3, 3, 7, 12]);
});
