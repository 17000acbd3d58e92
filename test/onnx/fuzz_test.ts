/**
 * Changed models are loaded or refused with an error that says where, whatever was changed. What is loaded and small
 * is run, and every value has the shape that was inferred; so is the model of cells, of sizes that are fixed or free, or
 * the decoder, that it becomes.
 *
 * Runs for 60 s with the same changes every time, or for SHOAL_FUZZ_SECONDS with new ones. What it finds becomes a fixed
 * case of found_test.ts.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import process from "node:process";
import fc from "fast-check";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { nodeCases } from "./node_cases.ts";
import { byteChanges, mutated, mutations, withBytes } from "./mutate.ts";
import { loaded } from "./loaded.ts";
import { cutAnyWay } from "./cut_any_way.ts";
import { SEED_FILES } from "./seed_files.ts";
import { SEED_MODELS } from "./seed_models.ts";
import { decode, encode, type WireMessage } from "./wire.ts";
import { modelMessage } from "./write_model.ts";

const given = process.env["SHOAL_FUZZ_SECONDS"];
const SECONDS = Number(given || 60);
/** A commit is not to blame for what others left; whoever searches wants something new. */
const SEED = given ? undefined : 1;

const NODE_CASES = new URL(
  "../../../shared/data/onnx-node-tests/",
  import.meta.url,
);

/** Models to change, by name. */
function seeds(): Map<string, WireMessage> {
  const cases = (nodeCases() ?? []).map((
    { suite, name },
  ): [string, WireMessage] => [
    name,
    decode(readFileSync(new URL(`${suite}/${name}/model.onnx`, NODE_CASES))),
  ]);
  const own: [string, WireMessage][] = [
    ...Object.entries(SEED_MODELS).map((
      [name, model],
    ): [string, WireMessage] => [name, modelMessage(model)]),
    ...Object.entries(SEED_FILES).map((
      [name, { file }],
    ): [string, WireMessage] => [name, decode(file)]),
  ];
  return new Map([...own, ...cases.filter(([, fields]) => isSmall(fields))]);
}

function isSmall(fields: WireMessage): boolean {
  return encode(fields).length < 10_000;
}

Deno.test("models to change are loaded as they are", () => {
  for (const [name, model] of Object.entries(SEED_MODELS)) {
    assert.equal(loaded(encode(modelMessage(model))), "run", name);
  }
  for (const [name, { file, ways }] of Object.entries(SEED_FILES)) {
    assert.notEqual(loaded(file), "refused", name);
    assert.deepEqual(cutAnyWay(readModel(file), true), ways, name);
  }
});

Deno.test("changed models are loaded or refused", () => {
  const all = seeds();
  const counts = { run: 0, loaded: 0, refused: 0 };
  fc.assert(
    fc.property(
      // The project's own have more in them than all operator cases together.
      fc.oneof(
        fc.constantFrom(...Object.keys({ ...SEED_MODELS, ...SEED_FILES })),
        fc.constantFrom(...all.keys()),
      ),
      mutations,
      byteChanges,
      (name, changes, [bytes, cut]) => {
        const fields = all.get(name)!;
        const file = withBytes(encode(mutated(fields, changes)), bytes, cut);
        counts[loaded(file)]++;
      },
    ),
    {
      ...(SEED !== undefined && { seed: SEED }),
      numRuns: 1e9,
      interruptAfterTimeLimit: SECONDS * 1000,
    },
  );
  console.log(counts);
  assert(counts.run > 0 && counts.refused > 0);
});
