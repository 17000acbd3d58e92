/** What batches of ragged rows and over caches cost. */
import assert from "node:assert/strict";
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import { NpuCost } from "../../src/cost/npu_cost.ts";
import { typicalProfile } from "../../src/cost/typical_profile.ts";
import type { Extent } from "../../src/graph/cache.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { defineCell, f32, row } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { bert } from "../../src/models/bert.ts";
import { gpt } from "../../src/models/gpt.ts";
import { transformer } from "../../src/models/transformer.ts";
import { Collector } from "../../src/metrics/collector.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { preset } from "../../src/npu/presets.ts";
import { bucketed } from "../../src/policy/baselines/bucketed.ts";
import { expectedExtents } from "../../src/policy/common/exec_time.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy } from "../../src/policy/lazybatching/lazy.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Profile } from "../../src/policy/profile.ts";
import type { Request } from "../../src/policy/request.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { runSimulated } from "../engine/harness.ts";

const weights = shapesOnly();
const SIZES = { layers: 2, hidden: 64, heads: 4, vocabulary: 100, weights };
const encoder = bert(SIZES);
const translator = transformer(SIZES);
const npu = () => new NpuCost(createNpu(preset("lazybatching")));

const cellOf = (model: Model, name: string): Cell =>
  model.cells.find((cell) => cell.name === name)!;
const tokens = (length: number): Extent => ({ length, caches: [] });
const macs = (cell: Cell, rows: number, extents: readonly Extent[]) =>
  cellLayers(cell, rows, extents).reduce((sum, l) => sum + macsOf(l), 0);

Deno.test("ragged rows cost their tokens together, and attention by row", () => {
  const attention = cellOf(encoder, "attention_1");
  const of = (n: number) => 4 * n * 64 * 64 + 2 * n * n * 64;
  const lengths = [3, 17, 17, 40];
  assert.equal(
    macs(attention, 4, lengths.map(tokens)),
    lengths.reduce((sum, n) => sum + of(n), 0),
  );
  const forward = cellOf(encoder, "forward_1");
  const cost = npu();
  assert.equal(
    cost.latencyNs(forward, 2, [tokens(3), tokens(29)]),
    cost.latencyNs(forward, 4, tokens(8)),
    "feed-forward knows the sum only",
  );
  assert(
    cost.latencyNs(attention, 2, [tokens(3), tokens(61)]) >
      cost.latencyNs(attention, 2, tokens(32)),
    "attention grows with the square",
  );
});

Deno.test("one extent is the same as that extent for every row", () => {
  for (const cost of [npu(), new GpuCost(TITAN_RTX)]) {
    for (const cell of translator.cells) {
      const extent: Extent = {
        length: cell.tokensMax === undefined ? 1 : 13,
        caches: cell.caches.map(() => ({ seen: 21 })),
      };
      assert.equal(
        cost.latencyNs(cell, 5, extent),
        cost.latencyNs(cell, 5, Array<Extent>(5).fill(extent)),
        cell.name,
      );
    }
  }
});

Deno.test("a decoder's step costs more the further it looks back", () => {
  const cell = cellOf(translator, "decoder_1_attention");
  const cost = npu();
  const step = (seen: number) =>
    cost.latencyNs(cell, 8, { length: 1, caches: [{ seen }] });
  assert(step(1) < step(200) && step(200) < step(560));
});

Deno.test("heads that share keys and values have them moved once", () => {
  const HEAD = 64;
  const step = (heads: number, kvHeads: number) => {
    const width = kvHeads * HEAD;
    const spec = { keyWidth: width, valueWidth: width, positionsMax: 2 ** 13 };
    return defineCell({
      name: "step",
      inputs: { q: f32(heads * HEAD) },
      caches: { kv: spec },
      body: (op, { q }, { kv }) => ({
        y: op.Attention(q, kv, { heads, kvHeads }),
      }),
    });
  };
  const seeing: Extent = { length: 1, caches: [{ seen: 4000 }] };
  const gemms = (cell: Cell) =>
    cellLayers(cell, 2, seeing).flatMap(({ gemms }) => gemms);
  assert.deepEqual(
    gemms(step(8, 2)).map(({ gemm, copies }) => [gemm, copies]),
    [
      [{ m: 4, n: 4000, k: HEAD }, 2 * 2],
      [{ m: 4, n: HEAD, k: 4000 }, 2 * 2],
    ],
  );
  assert.equal(
    macs(step(8, 2), 2, [seeing, seeing]),
    macs(step(8, 8), 2, [seeing, seeing]),
  );
  for (const cost of [npu(), new GpuCost(TITAN_RTX)]) {
    const ns = (kvHeads: number) =>
      cost.latencyNs(step(32, kvHeads), 1, seeing);
    assert(ns(1) < ns(8) && ns(8) < ns(32));
  }
  const between = (rows: number, heads: number) =>
    row("f32", [rows, heads * HEAD]);
  const rows = defineCell({
    name: "rows",
    inputs: { q: between(5, 4), k: between(7, 1), v: between(7, 1) },
    body: (op, { q, k, v }) => ({
      y: op.RowAttention(q, k, v, { heads: 4, kvHeads: 1 }),
    }),
  });
  const [layer] = cellLayers(rows, 3);
  assert.deepEqual(
    layer.gemms.map(({ gemm, copies }) => [gemm, copies]),
    [[{ m: 20, n: 7, k: HEAD }, 3], [{ m: 20, n: HEAD, k: 7 }, 3]],
  );
});

Deno.test("costs are kept by what every cache holds, however many there are", () => {
  const spec = { keyWidth: 64, valueWidth: 64, positionsMax: 2 ** 20 };
  const names = Array.from({ length: 40 }, (_, i) => `cache${i}`);
  const cell = defineCell({
    name: "step",
    inputs: { x: f32(64) },
    caches: Object.fromEntries(names.map((name) => [name, spec])),
    body: (op, { x }, caches) => ({
      y: names.reduce(
        (y, name) => op.Attention(y, caches[name], { heads: 4 }),
        x,
      ),
    }),
  });
  const extent = (last: number, length = 1): Extent => ({
    length,
    caches: names.map((_, i) => ({ seen: i < 39 ? 100 : last })),
  });
  for (const cost of [npu(), new GpuCost(TITAN_RTX)]) {
    const step = (extent: Extent) => cost.latencyNs(cell, 1, extent);
    assert(step(extent(10)) < step(extent(2000)));
    assert(step(extent(2000)) < step(extent(2000 + 2 ** 16)));
    assert(step(extent(10, 2)) < step(extent(10 + 2 ** 16)));
  }
});

Deno.test("costs that depend on lengths are not had without them", () => {
  const cell = cellOf(encoder, "attention_1");
  assert.throws(() => npu().latencyNs(cell, 2), {
    name: "RangeError",
    message:
      /"attention_1" depends on how long its rows are: no extents were given for 2 rows/,
  });
  assert.throws(() => npu().latencyNs(cell, 2, [tokens(3)]), {
    name: "RangeError",
    message: /1 extents were given for 2 rows/,
  });
  const profile = typicalProfile(npu(), { tokens: 20 });
  assert.equal(profile(cell, 2), npu().latencyNs(cell, 2, tokens(20)));
  assert.equal(
    profile(cell, 2, tokens(7)),
    npu().latencyNs(cell, 2, tokens(7)),
  );
});

/** Time of the encoder's cells for requests that arrive at once. */
function busyNs(
  policy: Policy,
  lengths: readonly number[],
  model = encoder,
): number {
  let sum = 0;
  runSimulated({
    models: [model],
    policy,
    cost: npu(),
    arrivals: lengths.map((length) => ({
      model,
      arrivalNs: 0,
      input: { tokens: new Int32Array(length) },
    })),
    observer: { task: (_, { startNs, endNs }) => sum += endNs - startNs },
  });
  return sum;
}

Deno.test("padding policies pay for the length that they pad to, others for what there is", () => {
  const lengths = [4, 9, 61];
  const equal = (length: number) => busyNs(merged(), lengths.map(() => length));
  assert.equal(busyNs(graph(), lengths), equal(61));
  assert.equal(busyNs(bucketed({ bucketWidth: 32 }), [33, 40, 61]), equal(64));
  assert(busyNs(merged(), lengths) < equal(61));
});

Deno.test("the last bucket ends with the longest row that a model takes", () => {
  const short = bert({ ...SIZES, tokensMax: 70 });
  const equal = (length: number) => busyNs(graph(), [length, length], short);
  const padded = (lengths: readonly number[]) =>
    busyNs(bucketed({ bucketWidth: 32 }), lengths, short);
  assert.equal(padded([65, 69]), equal(70));
  assert.equal(padded([40, 60]), equal(64));
});

Deno.test("padding of ragged rows is counted in tokens", () => {
  const share = (policy: Policy) => {
    const collector = new Collector();
    runSimulated({
      models: [encoder],
      policy,
      cost: npu(),
      arrivals: [4, 9, 61].map((length) => ({
        model: encoder,
        arrivalNs: 0,
        input: { tokens: new Int32Array(length) },
      })),
      observer: collector,
    });
    const { tokens, paddingTokens } = collector.cells.get("attention_1")!;
    assert.equal(tokens, 74);
    return { paddingTokens, share: summarize(collector).paddingShare };
  };
  assert.deepEqual(share(merged()), { paddingTokens: 0, share: 0 });
  // Five ragged cells of 61 tokens a request, and a pooler of three rows.
  assert.deepEqual(share(graph()), {
    paddingTokens: 3 * 61 - 74,
    share: 5 * (3 * 61 - 74) / (5 * 3 * 61 + 3),
  });
});

Deno.test("LazyBatching estimates a request by the length that it brings", () => {
  const asked = new Map<string, Extent | undefined>();
  const policy = lazy({
    decTimesteps: 9,
    profile(cell, _rows, extent) {
      asked.set(cell.name, extent);
      return 1;
    },
  });
  runSimulated({
    models: [translator],
    policy,
    cost: { latencyNs: () => 1 },
    arrivals: [{
      model: translator,
      arrivalNs: 0,
      input: { tokens: new Int32Array(5), maxSteps: 3 },
    }],
  });
  assert.deepEqual(asked.get("encoder_1_forward"), { length: 5, caches: [] });
  assert.deepEqual(asked.get("decoder_1_keys"), {
    length: 5,
    caches: [{ seen: 5 }],
  });
  assert.deepEqual(asked.get("decoder_2_attention"), {
    length: 1,
    caches: [{ seen: 9 }],
  });
  assert.deepEqual(asked.get("decoder_2_source"), {
    length: 1,
    caches: [{ seen: 5 }],
  });
  assert.equal(asked.get("decoder_2_forward"), undefined);
});

Deno.test("steps behind a prompt are expected to look back at it, up to what a cache can hold", () => {
  const decoder = gpt({ ...SIZES, positionsMax: 64 });
  const asked = new Map<string, Extent | undefined>();
  const profile: Profile = (cell, _rows, extent) => {
    asked.set(cell.name, extent);
    return 1;
  };
  const expected = (prompt: number) => {
    runSimulated({
      models: [decoder],
      policy: lazy({ decTimesteps: 9, profile }),
      cost: { latencyNs: () => 1 },
      arrivals: [{
        model: decoder,
        arrivalNs: 0,
        input: { tokens: new Int32Array(prompt), maxSteps: 3 },
      }],
    });
    return asked.get("layer_2");
  };
  assert.deepEqual(expected(1), { length: 1, caches: [{ seen: 9 }] });
  assert.deepEqual(expected(50), { length: 1, caches: [{ seen: 58 }] });
  assert.deepEqual(expected(60), { length: 1, caches: [{ seen: 64 }] });
});

Deno.test("models without ragged rows or caches have no extents", () => {
  const request = { model: { cells: [] } } as unknown as Request;
  assert.equal(expectedExtents(request, 3), undefined);
});
