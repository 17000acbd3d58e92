/** States in another order of their elements: the same frames, without a copy of single elements. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  type Operators,
  row,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { regroupState } from "../../src/graph/regroup_state.ts";
import { cellStream } from "../../src/models/cell_stream.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";

const UNITS = 4;
const LAYERS = 2;

const prng = new Prng(8);
const weights = (...dims: number[]) =>
  tensor(
    dims,
    Float32Array.from(
      { length: dims.reduce((a, b) => a * b) },
      () => prng.float() - 0.5,
    ),
  );
const layers = Array.from({ length: LAYERS }, () => ({
  w: weights(4 * UNITS, UNITS),
  r: weights(4 * UNITS, UNITS),
}));

/** h or c of a layer out of [layers][units][2]. */
function partOf(op: Operators, state: Value, layer: number, part: number) {
  const flat = op.Reshape(state, [LAYERS * UNITS * 2]);
  const size = UNITS * 2;
  const both = op.Reshape(
    op.Slice(flat, layer * size, (layer + 1) * size),
    [UNITS, 2],
  );
  return op.Reshape(op.Slice(both, part, part + 1), [UNITS]);
}

/** Two LSTM layers whose state is [layers][units][h or c]. */
const stacked = defineCell({
  name: "stacked",
  inputs: { x: f32(UNITS), state: row("f32", [1, LAYERS, UNITS, 2]) },
  body: (op, { x, state }) => {
    const made: Value[][] = [];
    for (const [layer, { w, r }] of layers.entries()) {
      const [h, c] = [0, 1].map((part) => partOf(op, state, layer, part));
      made.push(Object.values(op.LSTM(x, h, c, { w, r })));
      x = made[layer][0];
    }
    const planes = [0, 1].map((part) =>
      op.Reshape(
        op.Concat(...made.map((parts) => parts[part])),
        [1, LAYERS, UNITS, 1],
      )
    );
    return { y: op.Tanh(x), state: op.Concat(...planes) };
  },
});

/** What comes out of some frames, one after the other. */
function frames(cell: Cell): { y: number[]; state: number[] } {
  const model = cellStream("frames", cell, { state: "state" });
  const prng = new Prng(3);
  const y: number[] = [];
  let state: number[] | undefined;
  for (let frame = 0; frame < 3; frame++) {
    const x = Array.from({ length: UNITS }, () => prng.float() - 0.5);
    const [result] = runRequests(model, [{ x, ...(state && { state }) }]);
    y.push(...result.y.data as Float32Array);
    state = [...result.state.data as Float32Array];
  }
  return { y, state: state! };
}

const kernels = (cell: Cell) =>
  lowerCell(cell, () => 0).calls.flatMap((call) =>
    call.call === "kernel" ? [call.kernel] : []
  );

Deno.test("a state of interleaved parts: frames have the same bits, and its parts are not copied", () => {
  const regrouped = regroupState(stacked, 1, 1);
  const [before, after] = [frames(stacked), frames(regrouped)];
  assert.deepEqual(after.y, before.y);
  // [layers][units][2] has become [layers][2][units].
  const moved = Array.from({ length: before.state.length }, (_, i) => {
    const [layer, part] = [
      Math.floor(i / UNITS / 2),
      Math.floor(i / UNITS) % 2,
    ];
    return before.state[(layer * UNITS + i % UNITS) * 2 + part];
  });
  assert.deepEqual(after.state, moved);
  assert.equal(
    kernels(stacked).filter((kernel) => kernel === "copy_blocks").length,
    LAYERS * 2 + 2,
  );
  assert.deepEqual(kernels(regrouped), [
    "lstm_step_f32",
    "lstm_step_f32",
    "tanh_f32",
  ]);
});

Deno.test("a state that lies together, or in no such order, stays as it is", () => {
  const pairs = row("f32", [UNITS, 2]);
  const stays = (
    body: (op: Operators, x: Value, state: Value) => Record<string, Value>,
  ) => {
    const cell = defineCell({
      name: "stays",
      inputs: { x: f32(UNITS), state: pairs },
      body: (op, { x, state }) => body(op, x, state),
    });
    const output = cell.outputs.findIndex(({ name }) => name === "state");
    assert.equal(regroupState(cell, 1, output), cell);
  };
  const column = (op: Operators, x: Value) => op.Reshape(x, [UNITS, 1]);
  const part = (op: Operators, state: Value, at: number) =>
    op.Slice(state, at, at + 1);
  const next = (op: Operators, x: Value, state: Value) =>
    op.Concat(
      column(op, op.Tanh(x)),
      op.Tanh(part(op, state, 1)),
    );
  // One value.
  stays((op, _, state) => ({ state: op.Tanh(state) }));
  // The same value twice, and one in part.
  stays((op, x) => {
    const made = column(op, op.Tanh(x));
    return { state: op.Concat(made, made) };
  });
  // It is computed with as a whole, which would take another order of something else.
  stays((op, x, state) => ({
    y: op.Tanh(state),
    state: next(op, x, state),
  }));
  // It leaves the cell as it came.
  stays((op, x, state) => ({ seen: state, state: next(op, x, state) }));
  stays((op, x, state) => ({
    seen: op.Reshape(state, [2 * UNITS]),
    state: next(op, x, state),
  }));
});
