import assert from "node:assert/strict";
import { NpuCost } from "../../src/cost/npu_cost.ts";
import { profileCells } from "../../src/cost/profile_cells.ts";
import { typicalExtent } from "../../src/cost/typical_profile.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import { MODELS } from "../../src/models/registry.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { preset } from "../../src/npu/presets.ts";
import {
  loadProfile,
  profileTable,
  saveProfile,
} from "../../src/npu/profile.ts";
import { profileOf } from "../../src/policy/profile.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";

const npu = createNpu(preset("lazybatching"));

for (const [model, { build }] of Object.entries(MODELS)) {
  Deno.test(`the NPU profiles ${model} for batches 1 to 64, as policies and simulations take it`, () => {
    const { cells } = build({ weights: shapesOnly() });
    const cost = new NpuCost(npu);
    const options = { machine: npu.config.name, model, tokens: 20 };
    const profile = profileCells(cost, cells, options);
    assert.equal(profile.batchSizes.length, 64);
    const loaded = loadProfile(saveProfile(profile));
    assert.deepEqual(loaded, profile);
    const forPolicies = profileOf("lazy", profileTable(loaded));
    const forSimulations = new TableCost(profileTable(loaded));
    for (const cell of cells) {
      for (const rows of [1, 2, 13, 64]) {
        const ns = cost.latencyNs(
          cell,
          rows,
          typicalExtent(cell, { tokens: 20 }),
        );
        assert.ok(Number.isSafeInteger(ns) && ns >= 0, `${cell.name}: ${ns}`);
        assert.equal(forPolicies(cell, rows), ns);
        assert.equal(forSimulations.latencyNs(cell, rows), ns);
      }
    }
  });
}

Deno.test("profileCells() refuses cells it cannot tell apart and sizes that are none", () => {
  const { cells } = MODELS.lstm.build({ weights: shapesOnly() });
  const options = { machine: "m", model: "lstm" };
  const cost = { latencyNs: () => 1 };
  assert.throws(
    () => profileCells(cost, [...cells, cells[0]], options),
    /lstm has two cells "/,
  );
  assert.throws(
    () => profileCells(cost, cells, { ...options, batchSizes: [0] }),
    /batch size must be an integer of at least 1, got 0/,
  );
});
