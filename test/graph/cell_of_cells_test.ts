/** Cells as parts of cells, and windows over a signal. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { defineCell, f32, i32, row } from "../../src/graph/cell_builder.ts";
import { frameShift, overlapAdd } from "../../src/models/frames.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { onceModel } from "../engine/random_cells.ts";
import { runRequests } from "../run_requests.ts";

const weight = tensor([2, 3], Float32Array.of(1, -2, 3, 0.5, 4, -1));
const part = defineCell({
  name: "part",
  inputs: { x: row("f32", [4, 3]), unused: f32(2) },
  body: (op, { x, unused }) => ({
    y: op.Tanh(op.Gemm(x, weight)),
    same: x,
    unused,
  }),
});

Deno.test("a cell as a part of another computes what it computes alone, twice as well", () => {
  const twice = defineCell({
    name: "twice",
    inputs: { a: f32(12), b: row("f32", [2, 6]) },
    body: (op, { a, b }) => {
      const unused = op.Slice(a, 0, 2);
      const first = op.Cell(part, { x: a, unused });
      const second = op.Cell(part, { x: b, unused });
      return {
        sum: op.Add(first.y, second.y),
        same: second.same,
        unused: first.unused,
      };
    },
  });
  const [same, sum] = ["same", "sum"].map((name) =>
    twice.outputs.find((output) => output.name === name)!
  );
  assert.deepEqual([same.shape, sum.shape], [[4, 3], [4, 2]]);
  const random = new Prng(5);
  const draw = () => Array.from({ length: 12 }, () => random.float() - 0.5);
  const [a, b] = [draw(), draw()];
  const run = (cell: typeof part, ...rows: number[][]) =>
    runRequests(onceModel(cell), [rows])[0];
  const whole = run(twice, a, b);
  const alone = [a, b].map((x) => run(part, x, [0, 0]));
  assert.deepEqual(
    whole.sum.data,
    (alone[0].y.data as Float32Array).map((y, i) =>
      Math.fround(y + Number(alone[1].y.data[i]))
    ),
  );
  assert.deepEqual(whole.same.data, Float32Array.from(b));
  assert.deepEqual(whole.unused.data, Float32Array.from(a.slice(0, 2)));
});

Deno.test("a part is given all that it takes, of its type, and no more", () => {
  const refuses = (
    inputs: (x: never) => Record<string, never>,
    message: RegExp,
    cell = part,
  ) =>
    assert.throws(
      () =>
        defineCell({
          name: "whole",
          inputs: { x: f32(12), id: i32(12), short: f32(2) },
          body: (op, values) => op.Cell(cell, inputs(values as never)),
        }),
      message,
    );
  // deno-lint-ignore no-explicit-any -- values of the cell under way, in forms that do not fit
  const given = (pick: (values: any) => any) => pick;
  refuses(
    given(({ x }) => ({ x })),
    /"whole": cell "part" as a part takes x, unused, got undefined for "unused"/,
  );
  refuses(
    given(({ id, short }) => ({ x: id, unused: short })),
    /"x" of cell "part" as a part is f32\[4 x 3\], got i32\[12\]/,
  );
  refuses(
    given(({ x, short }) => ({ x, unused: short, z: x })),
    /cell "part" as a part has no attribute "z"/,
  );
  const stopping = defineCell({
    name: "stopping",
    phase: "decoder",
    inputs: { x: f32(12) },
    body: (op, { x }) => ({ token: op.ArgMax(x) }),
    stop: { output: "token", token: null },
  });
  refuses(given(({ x }) => ({ x })), /a stop rule/, stopping as never);
});

for (const [window, hop] of [[8, 2], [6, 3], [8, 5], [5, 4]]) {
  Deno.test(`windows of ${window} that move by ${hop} add up to the signal, as often as they overlap`, () => {
    const kept = window - hop;
    const cell = defineCell({
      name: "stream",
      inputs: { samples: f32(hop), before: f32(kept), rest: f32(kept) },
      body: (op, given) => {
        const { frame, before } = frameShift(op, given.before, given.samples);
        return { frame, before, ...overlapAdd(op, given.rest, frame) };
      },
    });
    const frames = 9;
    const signal = Array.from({ length: frames * hop }, (_, i) => i + 1);
    const padded = [...new Array(kept).fill(0), ...signal];
    const covered = padded.map(() => 0);
    let [before, rest] = [padded.slice(0, kept), padded.slice(0, kept)];
    const out: number[] = [];
    for (let t = 0; t < frames; t++) {
      const samples = signal.slice(t * hop, (t + 1) * hop);
      const [result] = runRequests(onceModel(cell), [[samples, before, rest]]);
      const frame = padded.slice(t * hop, t * hop + window);
      assert.deepEqual([...result.frame.data], frame);
      frame.forEach((_, i) => covered[t * hop + i]++);
      out.push(...result.samples.data as Float32Array);
      [before, rest] = [result.before, result.rest].map((
        { data },
      ) => [...data as Float32Array]);
    }
    assert.deepEqual(out, out.map((_, i) => padded[i] * covered[i]));
  });
}
