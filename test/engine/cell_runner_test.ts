import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CellProgram,
  ROWS_PER_CALL,
} from "../../src/engine/lowering/cell_program.ts";
import { CellRunner } from "../../src/engine/tensors/cell_runner.ts";
import { CellError } from "../../src/engine/core/errors.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { failureOf } from "../../src/engine/tensors/slot_header.ts";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { fragile, fragileChain, fragileRow } from "./fragile_model.ts";
import { onceModel } from "./random_cells.ts";

/** Inputs of one fragile step. */
const input = (fails: boolean, i: number): number[][] => [
  fragileRow(fails, i),
  [i / 100, -1, 0.5],
];

/** Errors without the request's number, which differs between runs. */
function comparable(ended: ReturnType<typeof endings>): unknown[] {
  return ended.map((end) => end instanceof CellError ? "failed" : end);
}

Deno.test("CellRunner executes tasks larger than it computes at once, bit for bit", () => {
  const model = onceModel(fragile);
  const count = 2 * ROWS_PER_CALL + 7;
  const inputs = Array.from({ length: count }, (_, i) => input(false, i));
  assert.deepStrictEqual(
    runRequests(model, inputs, { policy: merged({ batchSizeMax: count }) }),
    runRequests(model, inputs),
  );
});

Deno.test("CellRunner fails the rows that a kernel cannot compute, and no other", () => {
  const model = onceModel(fragile);
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
      fc.constantFrom(0, ROWS_PER_CALL - 5),
      (fails, before) => {
        const inputs = [...Array(before).fill(false), ...fails].map(input);
        const ended = endings(model, inputs, {
          policy: merged({ batchSizeMax: inputs.length }),
        });
        ended.forEach((end, i) =>
          assert.equal(end instanceof CellError, fails[i - before] ?? false)
        );
        assert.deepStrictEqual(
          comparable(ended),
          comparable(endings(model, inputs)),
        );
      },
    ),
    {
      numRuns: propertyRuns(40),
      examples: [[[true], 0], [[true, true], ROWS_PER_CALL - 5]],
    },
  );
});

Deno.test("CellRunner names cell, node and kernel of a row that failed", () => {
  const [end] = endings(onceModel(fragile), [input(true, 0)]);
  assert(end instanceof CellError);
  assert.equal(
    end.message,
    'Cell "fragile" failed on node 0 of request 0: gather_rows met an id outside its table',
  );
});

Deno.test("CellRunner pads with rows that touch nobody, also when a row of the padded batch fails", () => {
  const anyStep = fc.tuple(fc.nat(7), fc.nat(9)).map(([kind, i]) =>
    fragileRow(kind === 0, i)
  );
  const anyChain = fc.array(anyStep, { minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property(
      fc.array(anyChain, { minLength: 1, maxLength: 9 }),
      (chains) => {
        const alone = comparable(endings(fragileChain, chains));
        for (const policy of [graph(), merged(), cellular()]) {
          assert.deepStrictEqual(
            comparable(endings(fragileChain, chains, { policy })),
            alone,
            policy.name,
          );
        }
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

/** Counts down from its first id to 0, where it stops; every step also remembers the ids it has seen. */
const countdown: Model<{ from: number; most: number }> = (() => {
  const next = tensor([9, 9], new Float32Array(81));
  const one = tensor([9, 1], new Float32Array(9));
  for (let id = 0; id < 9; id++) {
    next.data[id * 9 + Math.max(0, id - 1)] = 1;
    one.data[id] = id;
  }
  const cell = defineCell({
    name: "countdown",
    phase: "decoder",
    recurrent: true,
    inputs: { id: i32(), sum: f32(1) },
    body: (op, { id, sum }) => ({
      id: op.ArgMax(op.Gather(next, id)),
      sum: op.Add(sum, op.Gather(one, id)),
    }),
    stop: { output: "id", token: 0 },
  });
  return {
    name: "countdown",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold({ from, most }, cells) {
      const node = cells.node(cell, {
        id: cells.id(cells.ids([from]), 0),
        sum: cells.zeros(1),
      });
      cells.collect("ids", cells.output(node, "id"));
      cells.collect("sums", cells.output(node, "sum"));
      cells.grows(most, 2);
    },
    grow(node, cells) {
      const after = cells.node(cell, {
        id: cells.output(node, "id"),
        sum: cells.output(node, "sum"),
      });
      cells.collect("ids", cells.output(after, "id"));
      cells.collect("sums", cells.output(after, "sum"));
    },
  };
})();

Deno.test("CellRunner voids the rows behind a request's end, padded or submitted ahead", () => {
  const anyRequest = fc.record({
    from: fc.integer({ min: 1, max: 8 }),
    most: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(
      fc.array(anyRequest, { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 0, max: 3000 }),
      (requests, gapNs) => {
        const expected = requests.map(({ from, most }) => {
          const steps = Math.min(from, most);
          const ids = Int32Array.from(
            { length: steps },
            (_, t) => from - 1 - t,
          );
          let sum = 0;
          const sums = Float32Array.from(ids, (id) => sum += id + 1);
          return { ids: tensor([steps], ids), sums: tensor([steps, 1], sums) };
        });
        for (
          const policy of [
            graph({ batchSizeMax: 4 }),
            merged(),
            cellular({ batchSizeMax: 3 }),
            cellular({ maxTasksToSubmit: 7 }),
          ]
        ) {
          assert.deepStrictEqual(
            runRequests(countdown, requests, { policy, gapNs }),
            expected,
            policy.name,
          );
        }
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("CellRunner finds the row on which a kernel trapped by running each alone", async () => {
  const rows = 5;
  const bad = 3;
  const memory = new WebAssembly.Memory({ initial: 4 });
  const kernels = instantiateKernels(await readKernels("shoal"), { memory });
  const base = kernels.shoal_static_end();
  const words = new Int32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);
  const at = (block: number, row = 0) => base + 1024 * block + 64 * row;
  const [slots, xs, ys, tables, sink] = [0, 1, 2, 3, 4];
  for (let i = 0; i < rows; i++) {
    floats[at(xs, i) / 4] = i + 1;
    const columns = [at(slots, i), i, at(xs, i), at(ys, i)];
    columns.forEach((word, t) => words[at(tables) / 4 + t * rows + i] = word);
  }
  const program: CellProgram = {
    name: "traps",
    inputBytes: [4],
    outputBytes: [4],
    cachePositions: [],
    localCaches: [],
    ragged: false,
    rowsPerCall: ROWS_PER_CALL,
    calls: [{
      call: "kernel",
      kernel: "relu_f32",
      args: ["rows", 1, { port: 0 }, { port: 1 }],
    }],
    fixedTables: [],
    tableBytes: 0,
    scratchBytes: 0,
  };
  const own = {
    scratch: at(5),
    tables: at(6),
    tokens: at(7),
    zeros: at(7),
    sink: at(sink),
    cacheSink: at(sink),
  };
  const trapping = {
    ...kernels,
    relu_f32(m: number, n: number, a: number, out: number) {
      const table = words.subarray(a / 4, a / 4 + m);
      if (table.includes(at(xs, bad))) throw new WebAssembly.RuntimeError();
      kernels.relu_f32(m, n, a, out);
    },
  };
  new CellRunner(trapping, memory, [program], own).run({
    program: 0,
    rows,
    tables: at(tables),
    padsDone: false,
    paddedLength: 0,
  });
  for (let i = 0; i < rows; i++) {
    const failed = i === bad;
    assert.equal(floats[at(ys, i) / 4], failed ? 0 : i + 1);
    assert.deepEqual(
      failureOf(words, at(slots, i)),
      failed ? { node: i, call: -1 } : undefined,
    );
  }
});
